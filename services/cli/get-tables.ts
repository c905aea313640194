/** The tables of `vigil get`, a topic each. Pure: the answers of a console and the time come in as arguments. */
import type { NodeReport, PendingEviction, ZoneReport } from "../../protocols/status.ts";
import { paceText, spanText } from "../ledger/words.ts";
import { taintName } from "../runtime/toleration.ts";
import { zoneTitleOf } from "../runtime/zone-key.ts";

/** How one kind of thing is shown in rows. */
export interface Table<R> {
  readonly heading: readonly string[];
  readonly cells: (row: R, nowMs: number) => readonly string[];
  /** The column of the heading that tells how it is with a row. */
  readonly state: string;
  /** What tells a row from all others, and is the same however it changes. */
  readonly key: (row: R) => string;
  /** Fields that move while nothing happens: they alone make no change. */
  readonly restless: readonly (keyof R & string)[];
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
    paceText(halted ? 0 : taintsPerSecond),
    String(queueLength),
  ],
  state: "STATE",
  key: ({ zone }) => zone,
  restless: ["tokens"],
};

/** The nodes as judged. */
export const NODES: Table<NodeReport> = {
  heading: ["NODE", "READINESS", "FOR", "LAST SIGN", "EVICTION", "ZONE"],
  cells: ({ name, readiness, since, heartbeatAt, eviction, zone }, nowMs) => [
    name,
    readiness,
    spanText(nowMs - since),
    // Of a node that lives only the sign before its last judgement is told: many have followed it.
    heartbeatAt === null || readiness !== "unknown" ? "" : `${spanText(nowMs - heartbeatAt)} ago`,
    eviction,
    zoneTitleOf(zone),
  ],
  state: "READINESS",
  key: ({ name }) => name,
  restless: ["heartbeatAt"],
};

/** The pods that wait for their deletion. */
export const TIMERS: Table<PendingEviction> = {
  heading: ["NAMESPACE", "POD", "NODE", "DUE", "TAINT"],
  cells: ({ namespace, name, node, deadlineAt, taint }, nowMs) => [
    namespace,
    name,
    node,
    deadlineAt === null || deadlineAt <= nowMs ? "now" : `in ${spanText(deadlineAt - nowMs)}`,
    taint === null ? "" : taintName(taint),
  ],
  state: "DUE",
  key: ({ uid }) => uid,
  restless: [],
};
