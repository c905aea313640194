/** The tables of `vigil get`, one for each topic. Pure: the answers of a console and the time are arguments. */
import type { NodeReport, PendingEviction, ZoneReport } from "../../protocols/ledger-reader.ts";
import { apiTime } from "../domain/api-time.ts";
import { rateText, spanText } from "../domain/format.ts";
import { taintName } from "../domain/toleration.ts";
import { zoneTitleOf } from "../domain/zone-key.ts";

/** How rows of one topic are shown and compared. */
export interface Table<R> {
  /** What `-o name` prints before the key, such as `node`. */
  readonly kind: string;
  readonly nameOf: (row: R) => string;
  /** Further columns of `-o wide`. */
  readonly wide?: { readonly heading: readonly string[]; readonly cells: (row: R) => readonly string[] };
  readonly heading: readonly string[];
  readonly cells: (row: R, nowMs: number) => readonly string[];
  /** The heading of the column with a row's state. */
  readonly state: string;
  /** Identifies a row, whatever its content. */
  readonly key: (row: R) => string;
  /** Fields whose changes alone are not reported. */
  readonly ignoredChanges: readonly (keyof R & string)[];
}

/** The zones and their eviction rates. */
export const ZONES: Table<ZoneReport> = {
  kind: "zone",
  nameOf: ({ title }) => title,
  wide: {
    heading: ["SINCE", "TOKENS", "NODES PER SECOND"],
    cells: ({ since, tokens, taintsPerSecond, halted }) => [
      apiTime(since),
      String(Number(tokens.toFixed(2))),
      // A float32, shown as operators set it.
      String(halted ? 0 : Number(taintsPerSecond.toPrecision(6))),
    ],
  },
  heading: ["ZONE", "STATE", "FOR", "NODES", "NOT READY", "EVICTION RATE", "QUEUE"],
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

/** The nodes and their judgements. */
export const NODES: Table<NodeReport> = {
  kind: "node",
  nameOf: ({ name }) => name,
  wide: {
    heading: ["READY", "SINCE", "HEARTBEAT AT"],
    cells: ({ ready, since, heartbeatAt, readiness }) => [
      ready ?? "",
      apiTime(since),
      heartbeatAt === null || readiness !== "unknown" ? "" : apiTime(heartbeatAt),
    ],
  },
  heading: ["NODE", "READINESS", "FOR", "HEARTBEAT", "EVICTION", "ZONE"],
  cells: (node, nowMs) => [
    node.name,
    node.readiness,
    spanText(nowMs - node.since),
    // Only a silent node's last heartbeat is known: a judgement is not published again for each one.
    node.heartbeatAt === null || node.readiness !== "unknown" ? "" : `${spanText(nowMs - node.heartbeatAt)} ago`,
    evictionText(node, nowMs),
    zoneTitleOf(node.zone),
  ],
  state: "READINESS",
  key: ({ name }) => name,
  ignoredChanges: ["heartbeatAt"],
};

/** A node's eviction state, with its place in the queue or the time until its drain. */
function evictionText({ eviction, evictionFromAt, queuePlace, isShadow }: NodeReport, nowMs: number): string {
  if (isShadow && eviction === "evicted") return "would be evicted";
  if (queuePlace !== undefined) return `${eviction} (number ${queuePlace})`;
  if (evictionFromAt === undefined) return eviction;
  return `${eviction} (drained in ${spanText(evictionFromAt - nowMs)})`;
}

/** The pods that wait for eviction. */
export const TIMERS: Table<PendingEviction> = {
  kind: "pod",
  nameOf: ({ namespace, name }) => `${namespace}/${name}`,
  wide: {
    heading: ["DUE AT", "TOLERATED"],
    cells: ({ deadlineAt, tolerationSeconds }) => [
      deadlineAt === null ? "" : apiTime(deadlineAt),
      tolerationSeconds === null ? "" : `${tolerationSeconds} s`,
    ],
  },
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

/** When a pod is deleted; `isEarliest` where the zone's rate limiter has yet to admit its node. */
function dueText({ deadlineAt, isEarliest, isShadow }: PendingEviction, nowMs: number): string {
  const would = isShadow ? "would be " : "";
  if (deadlineAt === null || deadlineAt <= nowMs) return `${would}${isEarliest ? "once its node is admitted" : "now"}`;
  const span = `${would}in ${spanText(deadlineAt - nowMs)}`;
  return isEarliest ? `${span} at the earliest` : span;
}
