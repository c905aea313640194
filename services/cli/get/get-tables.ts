/** The tables of `vigil get`, one for each topic. Pure: the answers of a console and the time are arguments. */
import type {
  BreakerReport,
  FrozenEviction,
  HoldReport,
  NodeReport,
  PendingEviction,
  PolicyReport,
  WaitingEviction,
  ZoneReport,
} from "../../../protocols/ledger-reader.ts";
import { LIMITS_LEASE } from "../../../protocols/names.ts";
import { nodeDocument, podDocument, policyDocument, zoneDocument } from "../../console/documents.ts";
import { apiTime } from "../../domain/api-time.ts";
import { asSet, countdownText, rateText, spanText } from "../../domain/format.ts";
import { freezeText } from "../../domain/freeze-report.ts";
import { taintName } from "../../domain/toleration.ts";
import { namesZoneOf, zoneTitleOf } from "../../domain/zone-key.ts";

/** How rows of one topic are shown and compared. */
export interface Table<R> {
  /** What `-o name` prints before the key, such as `node`. */
  readonly kind: string;
  readonly nameOf: (row: R) => string;
  /** Whether a user's text names a row that has another full name. */
  readonly isNamed?: (row: R, text: string) => boolean;
  /** Absent for rows without a namespace. */
  readonly namespaceOf?: (row: R) => string;
  /** The kind of the API server whose labels select rows; absent for none. */
  readonly labelled?: "Node" | "Pod" | "NodePolicy";
  /** What `-o json` and `-o yaml` print of a row. */
  readonly document: (row: R) => object;
  /** Further columns of `-o wide`. */
  readonly wide?: { readonly heading: readonly string[]; readonly cells: (row: R) => readonly string[] };
  readonly heading: readonly string[];
  readonly cells: (row: R, nowMs: number) => readonly string[];
  /** The heading of the column with a row's state. */
  readonly state: string;
  /** Identifies a row, whatever its content. */
  readonly key: (row: R) => string;
  /** Fields, at any depth, whose changes alone are not reported. */
  readonly ignoredChanges: readonly string[];
}

/** How pods are named and selected. */
export const POD_NAMES = {
  nameOf: ({ namespace, name }: { readonly namespace: string; readonly name: string }) => `${namespace}/${name}`,
  isNamed: ({ name }: { readonly name: string }, text: string) => name === text,
  namespaceOf: ({ namespace }: { readonly namespace: string }) => namespace,
  labelled: "Pod",
} as const;

/** The zones and their eviction rates. */
export const ZONES: Table<ZoneReport> = {
  kind: "zone",
  nameOf: ({ title }) => title,
  isNamed: ({ zone }, text) => namesZoneOf(text, zone),
  document: zoneDocument,
  wide: {
    heading: ["SINCE", "TOKENS", "NODES PER SECOND"],
    cells: ({ since, tokens, taintsPerSecond, halted, frozenBy }) => [
      apiTime(since),
      String(Number(tokens.toFixed(2))),
      String(halted || frozenBy !== undefined ? 0 : asSet(taintsPerSecond)),
    ],
  },
  heading: ["ZONE", "STATE", "FOR", "NODES", "NOT READY", "EVICTION RATE", "QUEUE"],
  cells: ({ title, state, since, size, notReady, taintsPerSecond, halted, frozenBy, ...queue }, nowMs) => [
    title,
    halted ? `${state} (halted)` : state,
    spanText(nowMs - since),
    String(size),
    String(notReady),
    frozenBy === undefined ? rateText(halted ? 0 : taintsPerSecond) : "frozen",
    queueText(queue),
  ],
  state: "STATE",
  key: ({ zone }) => zone,
  ignoredChanges: ["tokens"],
};

/** How many nodes wait, and what blocks some of them. */
function queueText({ queueLength, heldBack = [] }: Pick<ZoneReport, "queueLength" | "heldBack">): string {
  const holds = heldBack.map(({ policy, field, nodes }) => {
    if (field === null) return `${nodes} frozen`;
    return `${nodes} held back by ${field}${policy ? ` of ${policy}` : ""}`;
  });
  return holds.length === 0 ? String(queueLength) : `${queueLength} (${holds.join(", ")})`;
}

/** How all nodes are called where a policy would be named. */
const ALL_NODES = "(all nodes)";

/** The node policies and what they do. */
export const POLICIES: Table<PolicyReport> = {
  kind: "nodepolicy",
  nameOf: ({ name }) => name || ALL_NODES,
  labelled: "NodePolicy",
  document: policyDocument,
  wide: {
    heading: ["FROZEN SINCE", "HELD BACK", "PODS WAITING", "REMEDIATIONS", "CONFLICTS"],
    cells: ({ name, freeze, holds, evictions, remediations, conflicts }) => [
      freeze === null ? "" : apiTime(freeze.sinceAt),
      holds.map((hold) => `${limitText(hold, name)} (${hold.nodes})`).join(", "),
      evictions === undefined ? "" : `${evictions.waiting} (${evictions.lastMinute} evicted in a minute)`,
      remediations === undefined ? "" : `${remediations.running} running, ${remediations.waiting} waiting`,
      conflicts === 0 ? "" : String(conflicts),
    ],
  },
  heading: ["POLICY", "MODE", "NODES", "UNHEALTHY", "BREAKER", "BUDGET LEFT", "FROZEN BY", "UNTIL"],
  cells: ({ name, mode, nodes, unhealthy, breaker, budget, freeze }) => [
    name || ALL_NODES,
    mode ?? "",
    String(nodes),
    String(unhealthy),
    breaker === null ? "" : breakerText(breaker),
    budget === null ? "" : `${budget.left} of ${budget.nodes}`,
    freeze === null ? "" : freezeText(freeze).text,
    freeze === null ? "" : untilText(freeze.untilAt),
  ],
  state: "MODE",
  key: ({ name }) => name,
  // Their instants follow two clocks and move by milliseconds.
  ignoredChanges: ["holds", "resetAt", "evictions"],
};

/** A field that blocks nodes of a policy; its own, or that of the cluster. */
function limitText({ policy, field }: HoldReport, name: string): string {
  return policy === name ? field : `${field} of ${policy || "the cluster"}`;
}

/** A breaker that blocks marking pods not ready shows how many nodes count towards it. */
function breakerText({ state, resetAt, down }: BreakerReport): string {
  const readiness = down === undefined ? "" : `, ${down} newly down`;
  return `${state}${state === "open" && resetAt !== null ? ` until ${apiTime(resetAt)}` : ""}${readiness}`;
}

/** A request or a mode that freezes nodes. */
export interface FreezeRow {
  /** The policy whose nodes it freezes; null for every node. */
  readonly policy: string | null;
  readonly by: string;
  readonly reason: string | null;
  /** Since when its nodes are frozen, and until when, by all their freezes together; null until a user thaws them. */
  readonly sinceAt: number;
  readonly untilAt: number | null;
}

/** What freezes nodes now. */
export const FREEZES: Table<FreezeRow> = {
  kind: "freeze",
  nameOf: ({ policy, by }) => `${policy ?? ALL_NODES}/${by}`,
  document: ({ sinceAt, untilAt, ...row }) => ({
    ...row,
    since: apiTime(sinceAt),
    until: untilAt === null ? null : apiTime(untilAt),
  }),
  heading: ["NODES OF", "FROZEN BY", "REASON", "SINCE", "UNTIL"],
  cells: ({ policy, by, reason, sinceAt, untilAt }) => [
    policy ?? ALL_NODES,
    by,
    reason ?? "",
    apiTime(sinceAt),
    untilText(untilAt),
  ],
  state: "FROZEN BY",
  key: ({ policy, by }) => `${policy}/${by}`,
  ignoredChanges: [],
};

/** The freezes of all nodes and of each policy. What freezes all nodes is not named again for each policy. */
export function freezeRows(policies: readonly PolicyReport[]): FreezeRow[] {
  return policies.flatMap(({ name, freeze }) => {
    const own = (freeze?.causes ?? []).filter(({ policy }) => (policy ?? "") === name);
    const [sinceAt, untilAt] = [freeze?.sinceAt ?? 0, freeze?.untilAt ?? null];
    return own.map(({ policy, by, reason }) => ({ policy, by, reason, sinceAt, untilAt }));
  });
}

function untilText(untilAt: number | null): string {
  return untilAt === null ? "thawed" : apiTime(untilAt);
}

/** The nodes and their judgements. */
export const NODES: Table<NodeReport> = {
  kind: "node",
  nameOf: ({ name }) => name,
  labelled: "Node",
  document: nodeDocument,
  wide: {
    heading: ["READY", "SINCE", "HEARTBEAT AT", "POLICY", "CONDITIONS", "OUT OF SERVICE"],
    cells: ({ ready, since, heartbeatAt, policy, conditions = [], outOfService }) => [
      ready ?? "",
      apiTime(since),
      heartbeatAt === null ? "" : apiTime(heartbeatAt),
      policy ?? "",
      conditions.join(", "),
      outOfService ?? "",
    ],
  },
  heading: ["NODE", "READINESS", "FOR", "HEARTBEAT", "EVICTION", "ZONE"],
  cells: (node, nowMs) => [
    node.name,
    node.readiness,
    spanText(nowMs - node.since),
    node.heartbeatAt === null ? "" : `${spanText(nowMs - node.heartbeatAt)} ago`,
    evictionText(node, nowMs),
    zoneTitleOf(node.zone),
  ],
  state: "READINESS",
  key: ({ name }) => name,
  ignoredChanges: ["heartbeatAt"],
};

/** A node's eviction state, with its place in the queue or the time until its drain. */
function evictionText(
  { eviction, evictionFromAt, queuePlace, heldBy, isFrozen, isShadow }: NodeReport,
  nowMs: number,
): string {
  if (isShadow && eviction === "evicted") return "would be evicted";
  if (isFrozen) return `${eviction} (frozen)`;
  if (heldBy !== undefined) return `${eviction} (held back by ${heldBy})`;
  if (queuePlace !== undefined) return `${eviction} (number ${queuePlace})`;
  if (evictionFromAt === undefined) return eviction;
  return `${eviction} (drained in ${spanText(evictionFromAt - nowMs)})`;
}

/** The seconds of a toleration, and its taint if that is not the one which decides. */
function toleratedText({ tolerationSeconds, toleratedTaint }: PendingEviction): string {
  if (tolerationSeconds === null) return "";
  const of = toleratedTaint === undefined ? "" : ` (${taintName(toleratedTaint)})`;
  return `${tolerationSeconds} s${of}`;
}

/** The pods that wait for eviction. */
export const TIMERS: Table<PendingEviction> = {
  kind: "pod",
  ...POD_NAMES,
  document: podDocument,
  wide: {
    heading: ["DUE AT", "FROZEN BY", "WAITS FOR", "TOLERATED"],
    cells: (pod) => [
      pod.deadlineAt === null ? "" : apiTime(pod.deadlineAt),
      pod.frozen?.by ?? "",
      pod.waits === undefined ? "" : `${pod.waits.field ?? "evictions"} of ${pod.waits.policy}`,
      toleratedText(pod),
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

/** Until when a pod is frozen, and what is left of its countdown then. */
function frozenText({ untilAt, remainingMs }: FrozenEviction): string {
  const until = untilAt === null ? "frozen" : `frozen until ${apiTime(untilAt)}`;
  if (remainingMs === null) return until;
  return remainingMs === 0 ? `${until}, due then` : `${until}, ${countdownText(remainingMs)} left`;
}

/** The place of a due pod in the queue of its policy, and when it is deleted. */
function waitingText({ field, place, waiting, expectedAt, behind, lease }: WaitingEviction, nowMs: number): string {
  if (field === null) return "waits";
  const where = place === null ? `waits behind ${behind ?? 0} of ${waiting}` : `waits, number ${place} of ${waiting}`;
  if (lease !== undefined) return `${where}, for the Lease ${LIMITS_LEASE.name}`;
  if (expectedAt === null) return where;
  const span = spanText(Math.max(0, expectedAt - nowMs));
  return `${where}, in ${place === null ? "more than " : ""}${span}`;
}

/** When a pod is deleted; `isEarliest` where the zone's rate limiter has yet to admit its node. */
function dueText(pod: PendingEviction, nowMs: number): string {
  const { deadlineAt, isEarliest, isShadow, isBeforeFreeze, isInOutage, frozen, waits } = pod;
  if (frozen !== undefined) return frozenText(frozen);
  if (waits !== undefined) return waitingText(waits, nowMs);
  if (isBeforeFreeze) return "after a planned freeze";
  if (isInOutage) return "once nodes can be heard";
  const would = isShadow ? "would be " : "";
  if (deadlineAt === null || deadlineAt <= nowMs) return `${would}${isEarliest ? "once its node is admitted" : "now"}`;
  const span = `${would}in ${spanText(deadlineAt - nowMs)}`;
  return isEarliest ? `${span} at the earliest` : span;
}
