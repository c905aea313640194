/**
 * What the annotations of a node keep about conditions that become taints: since when Vigil has observed each of them,
 * and which taints it has added for them. A duration therefore continues over restarts, and Vigil removes only its own
 * taints. Example: MemoryLeak was first observed at 12:00 and its rule waits 10 min. The process restarts at 12:07,
 * reads 12:00 from the annotation, and requests the taint at 12:10.
 */
import type { ConditionHold, ConditionSighting, ConditionStatus } from "../../protocols/objects.ts";
import { parsed, recordOf } from "../structures/json.ts";
import { apiMicroTime, apiTime, epochMsOf } from "./api-time.ts";

const STATUSES: readonly string[] = ["True", "False", "Unknown"] satisfies ConditionStatus[];
/** Most entries of one annotation that are read. */
const ENTRIES_MAX = 64;
/** Longest type of a condition that is read, in characters. */
const TYPE_CHARACTERS_MAX = 317;

/** The value of Annotation.conditions. */
export function observationsText(observations: readonly ConditionSighting[]): string {
  const entries = observations.map(({ type, status, since, transitionAt }) => {
    const transition = transitionAt === null ? {} : { transition: apiTime(transitionAt) };
    return [type, { status, since: apiMicroTime(since), ...transition }] as const;
  });
  return JSON.stringify(Object.fromEntries(entries));
}

/** Reads that value; null when it is malformed. */
export function readObservations(text: string): ConditionSighting[] | null {
  const entries = Object.entries(recordOf(parsed(text)));
  if (entries.length === 0 || entries.length > ENTRIES_MAX) return null;
  const observations: ConditionSighting[] = [];
  for (const [type, entry] of entries) {
    const { status, since, transition = null } = recordOf(entry);
    const sinceAt = typeof since === "string" ? epochMsOf(since) : null;
    const transitionAt = typeof transition === "string" ? epochMsOf(transition) : null;
    const isSound = isType(type) && isStatus(status) && (transition === null || transitionAt !== null);
    if (!isSound || sinceAt === null) return null;
    observations.push({ type, status, since: sinceAt, transitionAt });
  }
  return observations;
}

/** The value of Annotation.conditionTaints for types of conditions by `key:effect`; null for none. */
export function conditionTaintsText(types: Readonly<Record<string, string>>): string | null {
  return Object.keys(types).length === 0 ? null : JSON.stringify(types);
}

/** Reads that value; null when it is malformed. */
export function readConditionTaints(text: string): Record<string, string> | null {
  const entries = Object.entries(recordOf(parsed(text)));
  if (entries.length === 0 || entries.length > ENTRIES_MAX) return null;
  const types: (readonly [string, string])[] = [];
  for (const [name, type] of entries) {
    if (name.length > 2 * TYPE_CHARACTERS_MAX || typeof type !== "string" || !isType(type)) return null;
    types.push([name, type]);
  }
  return Object.fromEntries(types);
}

/** The value of Annotation.holds; null for none. */
export function maintenanceWindowsText(windows: readonly ConditionHold[]): string | null {
  if (windows.length === 0) return null;
  const entries = windows.map(({ type, fromAt, toAt }) => {
    return { type, from: apiMicroTime(fromAt), ...(toAt === null ? {} : { to: apiMicroTime(toAt) }) };
  });
  return JSON.stringify(entries);
}

/** Reads that value; null when it is malformed. */
export function readMaintenanceWindows(text: string): ConditionHold[] | null {
  const list: unknown = parsed(text);
  if (!Array.isArray(list) || list.length === 0 || list.length > ENTRIES_MAX) return null;
  const windows: ConditionHold[] = [];
  for (const each of list as readonly unknown[]) {
    const { type, from, to = null } = recordOf(each);
    const fromAt = typeof from === "string" ? epochMsOf(from) : null;
    const toAt = typeof to === "string" ? epochMsOf(to) : null;
    const isSound = typeof type === "string" && isType(type) && (to === null || toAt !== null);
    if (!isSound || fromAt === null) return null;
    windows.push({ type, fromAt, toAt });
  }
  return windows;
}

function isType(type: string): boolean {
  return type !== "" && type !== "__proto__" && type.length <= TYPE_CHARACTERS_MAX;
}

function isStatus(status: unknown): status is ConditionStatus {
  return typeof status === "string" && STATUSES.includes(status);
}
