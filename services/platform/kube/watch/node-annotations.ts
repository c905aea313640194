/**
 * Reads Vigil's own annotations of a node. Kubelets can write them too, so only records about present taints count, and
 * an oversized annotation is not parsed.
 */
import { Annotation, TaintEffect } from "../../../../protocols/names.ts";
import type { ObservedNode, Taint } from "../../../../protocols/objects.ts";
import { epochMsOf } from "../../../domain/api-time.ts";
import { readConditionTaints, readHolds, readSightings } from "../../../domain/condition-records.ts";
import { readDownProof } from "../../../domain/down-proof.ts";
import { readReadyTransitions } from "../../../domain/ready-transitions.ts";
import { readTaintSwap } from "../../../domain/taint-swap.ts";
import { taintName } from "../../../domain/toleration.ts";
import { type JsonRecord, parsed, recordOf, textOf } from "../../structures/json.ts";

/** Longest annotation that is parsed, in characters. TAINTS_MAX taints with the longest names take 23,000. */
const ANNOTATION_CHARACTERS_MAX = 32 * 1024;

/** Longest annotation about conditions that is parsed, in characters. 16 types with names of 100 take 3,400. */
const CONDITIONS_CHARACTERS_MAX = 4 * 1024;

/** Reports a field that was ignored. */
type Problem = (field: string) => void;

/** The parts of an observed node that its annotations record. */
export type NodeRecords = Pick<
  ObservedNode,
  | "taintsSeenAt"
  | "taintsSeenStale"
  | "taintSwap"
  | "readyTransitionsAt"
  | "conditionSightings"
  | "conditionTaints"
  | "provedDown"
  | "outOfServiceAt"
  | "holds"
>;

/** What a node's annotations record: of its taints and conditions, when it became ready, and whether it is off. */
export function nodeRecords(annotations: JsonRecord, taints: readonly Taint[], problem: Problem): NodeRecords {
  return {
    ...taintsSeen(annotations, taints, problem),
    ...taintSwap(annotations, problem),
    ...readyTransitions(annotations, problem),
    ...conditionSightings(annotations, problem),
    ...conditionTaints(annotations, problem),
    ...provedDown(annotations, problem),
    ...outOfServiceAt(annotations, problem),
    ...holds(annotations, problem),
  };
}

/**
 * When the present NoExecute taints began to count, as recorded, and whether the record holds more than that (is
 * stale).
 */
function taintsSeen(
  annotations: JsonRecord,
  taints: readonly Taint[],
  problem: Problem,
): Pick<ObservedNode, "taintsSeenAt" | "taintsSeenStale"> {
  const text = textOf(annotations[Annotation.taintsSeen]);
  if (text === null) return {};
  const entries = recordOf(text.length > ANNOTATION_CHARACTERS_MAX ? undefined : parsed(text));
  const read = taints.flatMap((taint) => {
    if (taint.effect !== TaintEffect.noExecute) return [];
    const name = taintName(taint);
    const time = Object.hasOwn(entries, name) ? entries[name] : undefined;
    const at = typeof time === "string" ? epochMsOf(time) : null;
    return at === null ? [] : [[name, at] as const];
  });
  const names = Object.keys(entries);
  if (names.length === 0 || names.some((name) => !isInstant(entries[name]))) {
    problem(`metadata.annotations.${Annotation.taintsSeen}`);
  }
  const stale = read.length === 0 || read.length !== names.length;
  return { taintsSeenAt: Object.fromEntries(read), ...(stale ? { taintsSeenStale: true } : {}) };
}

function isInstant(time: unknown): boolean {
  return typeof time === "string" && epochMsOf(time) !== null;
}

/** The record of a taint that replaced another one. An unreadable record counts as none. */
function taintSwap(annotations: JsonRecord, problem: Problem): Pick<ObservedNode, "taintSwap"> {
  const text = textOf(annotations[Annotation.taintSwap]);
  if (text === null) return {};
  const recorded = text.length > ANNOTATION_CHARACTERS_MAX ? null : readTaintSwap(text);
  if (recorded === null) problem(`metadata.annotations.${Annotation.taintSwap}`);
  return recorded === null ? {} : { taintSwap: recorded };
}

/** The transitions that a policy with `flapping` counts. An unreadable record counts as none. */
function readyTransitions(annotations: JsonRecord, problem: Problem): Pick<ObservedNode, "readyTransitionsAt"> {
  const text = textOf(annotations[Annotation.readyTransitions]);
  if (text === null) return {};
  const recorded = text.length > ANNOTATION_CHARACTERS_MAX ? null : readReadyTransitions(text);
  if (recorded === null) problem(`metadata.annotations.${Annotation.readyTransitions}`);
  return { readyTransitionsAt: recorded ?? [] };
}

/** Since when conditions have been observed. An unreadable record counts as none. */
function conditionSightings(annotations: JsonRecord, problem: Problem): Pick<ObservedNode, "conditionSightings"> {
  const recorded = readRecord(annotations, { name: Annotation.conditions, read: readSightings, problem });
  return recorded === null ? {} : { conditionSightings: recorded === undefined ? [] : recorded };
}

/** The taints put on for conditions. An unreadable record counts as none. */
function conditionTaints(annotations: JsonRecord, problem: Problem): Pick<ObservedNode, "conditionTaints"> {
  const recorded = readRecord(annotations, { name: Annotation.conditionTaints, read: readConditionTaints, problem });
  return recorded === null ? {} : { conditionTaints: recorded === undefined ? {} : recorded };
}

/** When conditions have held evictions. An unreadable record counts as none. */
function holds(annotations: JsonRecord, problem: Problem): Pick<ObservedNode, "holds"> {
  const recorded = readRecord(annotations, { name: Annotation.holds, read: readHolds, problem });
  return recorded === null ? {} : { holds: recorded === undefined ? [] : recorded };
}

/** One annotation; null when it is absent, undefined when it cannot be read. */
function readRecord<T>(
  annotations: JsonRecord,
  {
    name,
    read,
    problem,
  }: { readonly name: string; readonly read: (text: string) => T | null; readonly problem: Problem },
): T | null | undefined {
  const text = textOf(annotations[name]);
  if (text === null) return null;
  const recorded = text.length > CONDITIONS_CHARACTERS_MAX ? null : read(text);
  if (recorded !== null) return recorded;
  problem(`metadata.annotations.${name}`);
  return undefined;
}

/** The proof that the machine is off. An unreadable record proves nothing. */
function provedDown(annotations: JsonRecord, problem: Problem): Pick<ObservedNode, "provedDown"> {
  const text = textOf(annotations[Annotation.provedDown]);
  if (text === null) return {};
  const proof = text.length > ANNOTATION_CHARACTERS_MAX ? null : readDownProof(text);
  if (proof === null) problem(`metadata.annotations.${Annotation.provedDown}`);
  return proof === null ? {} : { provedDown: proof };
}

/** The stamp of Vigil's own out-of-service taint. By an unreadable record no taint is Vigil's. */
function outOfServiceAt(annotations: JsonRecord, problem: Problem): Pick<ObservedNode, "outOfServiceAt"> {
  const text = textOf(annotations[Annotation.outOfService]);
  if (text === null) return {};
  const at = epochMsOf(text);
  if (at === null) problem(`metadata.annotations.${Annotation.outOfService}`);
  return at === null ? {} : { outOfServiceAt: at };
}
