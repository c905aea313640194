/**
 * When a node's Ready condition last changed to or from True, as an annotation of the node keeps it over restarts, for
 * policies with `flapping`.
 */
import { parsed } from "../structures/json.ts";
import { apiTime, epochMsOf } from "./api-time.ts";

/** Most transitions that are kept, the latest ones; a policy may require as many. */
export const TRANSITIONS_MAX = 64;

/** The value of Annotation.readyTransitions for instants in epoch milliseconds. */
export function readyTransitionsText(transitionsAt: readonly number[]): string {
  return JSON.stringify(transitionsAt.map(apiTime));
}

/** Reads that value: instants in order; null when it is malformed. */
export function readReadyTransitions(text: string): number[] | null {
  const list: unknown = parsed(text);
  if (!Array.isArray(list) || list.length > TRANSITIONS_MAX) return null;
  const instants: number[] = [];
  for (const each of list as readonly unknown[]) {
    const at = typeof each === "string" ? epochMsOf(each) : null;
    if (at === null) return null;
    instants.push(at);
  }
  return instants.sort((left, right) => left - right);
}
