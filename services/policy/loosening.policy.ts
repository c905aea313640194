/** Decides whether a change of a source of freezes only adds freezes, or may loosen something. Pure. */
import type { PolicyResource } from "../../protocols/ports.ts";
import { freezesAsWritten } from "../domain/freeze.ts";
import { listOf, recordOf } from "../structures/json.ts";

/** Whether a policy differs from before in freezes alone, and has kept each of them. */
export function onlyFreezes(before: PolicyResource, after: PolicyResource): boolean {
  const { mode: modeBefore, pauseRequests: requestsBefore, ...fieldsBefore } = recordOf(before.spec);
  const { mode, pauseRequests, ...fields } = recordOf(after.spec);
  const isSameElsewhere = textOf(fieldsBefore) === textOf(fields);
  // The API server fills the default into objects that were written before the definition had one.
  const keepsMode = (mode ?? "Enforce") === (modeBefore ?? "Enforce") || freezesAsWritten(mode);
  return isSameElsewhere && keepsMode && keepsAll(listOf(requestsBefore), listOf(pauseRequests));
}

/** Whether every item is among others, as JSON. */
export function keepsAll(before: readonly unknown[], after: readonly unknown[]): boolean {
  const kept = new Set(after.map(textOf));
  return before.every((item) => kept.has(textOf(item)));
}

function textOf(value: unknown): string {
  return JSON.stringify(value);
}
