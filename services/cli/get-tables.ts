/** The tables of `vigil get`, a topic each. Pure: the answers of a console and the time come in as arguments. */
import type { NodeReport, PendingEviction, ZoneReport } from "../../protocols/ledger-reader.ts";
import { rateText, spanText } from "../domain/format.ts";
import { taintName } from "../domain/toleration.ts";
import { zoneTitleOf } from "../domain/zone-key.ts";

/** How one kind of thing is shown in rows. */
export interface Table<R> {
  readonly heading: readonly string[];
  readonly cells: (row: R, nowMs: number) => readonly string[];
  /** The column of the heading that tells how it is with a row. */
  readonly state: string;
  /** What tells a row from all others, and is the same however it changes. */
  readonly key: (row: R) => string;
  /** Fields that move while nothing happens: they alone make no change. */
  readonly ignoredChanges: readonly (keyof R & string)[];
}

/** The zones and their pace. */
export const ZONES: Table<ZoneReport> = {
  heading: ["ZONE", "STATE", "FOR", "NODES", "NOT READY", "EVICTS", "WAITING"],
  cells: ({ title, state, since, size, notReady, taintsPerSecond, queueLength, halted }, nowMs) => [
    title,
    halted ? `${state} (halted)` : state,
    spanText(nowMs - since),
    String(size),
    String(notReady),
    rateText(halted ? 0 : taintsPerSecond),
    String(queueLength),
  ],
  state: "STATE",
  key: ({ zone }) => zone,
  ignoredChanges: ["tokens"],
};

/** The nodes as judged. */
export const NODES: Table<NodeReport> = {
  heading: ["NODE", "READINESS", "FOR", "HEARTBEAT", "EVICTION", "ZONE"],
  cells: (node, nowMs) => [
    node.name,
    node.readiness,
    spanText(nowMs - node.since),
    // Of a node that lives only the heartbeat before its last judgement is published: many have followed it.
    node.heartbeatAt === null || node.readiness !== "unknown" ? "" : `${spanText(nowMs - node.heartbeatAt)} ago`,
    evictionText(node, nowMs),
    zoneTitleOf(node.zone),
  ],
  state: "READINESS",
  key: ({ name }) => name,
  ignoredChanges: ["heartbeatAt"],
};

/** How far a node's eviction has come, and what is to come: its drain, or its place in the queue. */
function evictionText({ eviction, evictionFromAt, queuePlace }: NodeReport, nowMs: number): string {
  if (queuePlace !== undefined) return `${eviction} (number ${queuePlace})`;
  if (evictionFromAt === undefined) return eviction;
  return `${eviction} (drained in ${spanText(evictionFromAt - nowMs)})`;
}

/** The pods that wait for their deletion. */
export const TIMERS: Table<PendingEviction> = {
  heading: ["NAMESPACE", "POD", "NODE", "DUE", "TAINT"],
  cells: (pod, nowMs) => [
    pod.namespace,
    pod.name,
    pod.node,
    dueText(pod, nowMs),
    pod.taint === null ? "" : taintName(pod.taint),
  ],
  state: "DUE",
  key: ({ uid }) => uid,
  ignoredChanges: [],
};

/** When a pod is deleted; at the earliest where its node has still to take its turn. */
function dueText({ deadlineAt, isEarliest }: PendingEviction, nowMs: number): string {
  if (deadlineAt === null || deadlineAt <= nowMs) return isEarliest ? "with its node's turn" : "now";
  const span = `in ${spanText(deadlineAt - nowMs)}`;
  return isEarliest ? `${span} at the earliest` : span;
}
