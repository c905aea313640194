/**
 * The ledger's metrics, upstream's and Vigil's own, set from messages and the cluster state. Only the owner of a shard
 * adds to counters; every ledger sets the gauges.
 */
import { readinessSchema, zoneStateSchema } from "../../../protocols/judged.ts";
import type { AnyMessage, BodyOf, Message } from "../../../protocols/messages.ts";
import type { PolicySet } from "../../../protocols/policy-set.ts";
import type { Metrics } from "../../../protocols/ports.ts";
import { ratedPoliciesOf } from "../../domain/eviction-rates.ts";
import {
  CEILING_FLAG,
  LEASE_BLOCK,
  LIMIT_FIELDS,
  limitedNames,
  POLICY_CEILING,
} from "../../domain/limited-policies.ts";
import { frozenAt } from "../../domain/paused-time/frozen-time.ts";
import { metricsZoneOf, type ZoneLabel } from "../../domain/zone-key.ts";
import { BoundedMap } from "../../structures/bounded-map.ts";
import type { ClusterState, NodeJudgement } from "../state/cluster-state.ts";
import { isFirstDeletion } from "../state/pod-records.ts";
import type { StateSubscriber } from "../state/state-subscriber.ts";

/** Upstream's bounds in seconds: one node's health update. */
const NODE_HEALTH_SECONDS = [0.001, 0.004, 0.016, 0.064, 0.256, 1.024, 4.096, 16.384];
/** Upstream's bounds in seconds: one pass over all nodes. */
const ALL_NODES_HEALTH_SECONDS = [0.01, 0.04, 0.16, 0.64, 2.56, 10.24, 40.96, 163.84];
/** Upstream's bounds in seconds: from a pod's deadline to its deletion. */
const POD_DELETION_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240];
/** Bounds in seconds: from a request to its outcome. */
const WRITE_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** Quantiles of the heartbeat age. */
const AGE_FRACTIONS = [0.5, 0.9, 0.99, 1];
/** Vanished zones that are still shown as empty; upstream shows them forever (R13.1). */
const VANISHED_ZONES_MAX = 100;
const ZONE = ["zone"];
const ZONE_GAUGES = [
  "zoneHealth",
  "zoneSize",
  "unhealthy",
  "zoneHalted",
  "zoneRate",
  "zoneTokens",
  "zoneQueue",
] as const;
/** The policy label of freezes of all nodes. */
const EVERY_NODE = "";

/** A gauge by policy and perhaps one more label. It drops series that no longer have a value. */
class PolicyGauge {
  readonly #gauge: ReturnType<Metrics["gauge"]>;
  readonly #shown = new Map<string, readonly string[]>();

  constructor(gauge: ReturnType<Metrics["gauge"]>) {
    this.#gauge = gauge;
  }

  set(value: number, ...labels: readonly string[]): void {
    this.#shown.set(labels.join("\n"), labels);
    this.#gauge.set(value, ...labels);
  }

  /** Drops the values that are not kept. */
  keep(isKept: (policy: string, what: string) => boolean): void {
    for (const [key, labels] of this.#shown) {
      const [policy = "", what = ""] = labels;
      if (isKept(policy, what)) continue;
      this.#gauge.remove(...labels);
      this.#shown.delete(key);
    }
  }

  /** Shows these counts alone, by policy and the other label. */
  showOnly(counts: ReadonlyMap<string, ReadonlyMap<string, number>>): void {
    for (const [policy, byValue] of counts) for (const [what, count] of byValue) this.set(count, policy, what);
    this.keep((policy, what) => counts.get(policy)?.has(what) === true);
  }
}

type Labels = readonly string[];

const declaring = (metrics: Metrics) => ({
  gauge: (name: string, help: string, labels: Labels = []) => metrics.gauge({ name, help, labels }),
  byPolicy: (name: string, help: string, ...labels: Labels) =>
    new PolicyGauge(metrics.gauge({ name, help, labels: ["policy", ...labels] })),
  counter: (name: string, help: string, labels: Labels = []) => metrics.counter({ name, help, labels }),
  histogram: (name: string, help: string, buckets: readonly number[], labels: Labels = []) =>
    metrics.histogram({ name, help, buckets, labels }),
});

/** Upstream's metrics (R13.1). */
function upstream(metrics: Metrics) {
  const { gauge, counter, histogram } = declaring(metrics);
  const health = "Percent of the zone's counted nodes that are ready; 100 for a vanished zone.";
  const evictions = "Nodes of the zone tainted NoExecute once admitted, or drained in direct mode.";
  const nodeHealth = "From the request to force a silent node's conditions to its outcome.";
  const allNodesHealth = "Always empty: there is no pass over all nodes, each has a deadline of its own.";
  const deletionSeconds = "From a pod's deadline to its deletion at the API, in seconds.";
  return {
    zoneHealth: gauge("node_collector_zone_health", health, ZONE),
    zoneSize: gauge("node_collector_zone_size", "Counted nodes of the zone.", ZONE),
    unhealthy: gauge("node_collector_unhealthy_nodes_in_zone", "Counted nodes of the zone that are not ready.", ZONE),
    evictions: counter("node_collector_evictions_total", evictions, ZONE),
    nodeHealth: histogram("node_collector_update_node_health_duration_seconds", nodeHealth, NODE_HEALTH_SECONDS),
    allNodesHealth: histogram(
      "node_collector_update_all_nodes_health_duration_seconds",
      allNodesHealth,
      ALL_NODES_HEALTH_SECONDS,
    ),
    podDeletions: counter("taint_eviction_controller_pod_deletions_total", "Pods deleted because of NoExecute taints."),
    podDeletionSeconds: histogram(
      "taint_eviction_controller_pod_deletion_duration_seconds",
      deletionSeconds,
      POD_DELETION_SECONDS,
    ),
  };
}

/** What blocks nodes, and its label. */
const HOLDS: readonly (readonly [field: string, label: string])[] = [
  ...LIMIT_FIELDS.map((field) => [field, field] as const),
  [CEILING_FLAG, "ceiling"],
  [LEASE_BLOCK, "lease"],
];

function outageMetrics(metrics: Metrics) {
  const { gauge } = declaring(metrics);
  const isOutage = "1 while no node can be heard: countdowns for the silence of nodes stand still; 0 otherwise.";
  const seconds =
    "For how long no node can be heard; 0 while nodes can be, and where nothing shows since when they cannot.";
  return { outage: gauge("vigil_outage", isOutage), outageSeconds: gauge("vigil_outage_seconds", seconds) };
}

/** Metrics that upstream lacks. */
function own(metrics: Metrics) {
  const { gauge, byPolicy, counter, histogram } = declaring(metrics);
  const state = "1 for the disruption state the zone is in, 0 for the others.";
  const tokens = "Tokens in the zone's bucket: nodes it may taint at once; below 0 it owes one.";
  const blocked =
    "Nodes due for eviction that this field of the policy, the operator's ceiling or the Lease of limits blocks; an empty policy is the whole cluster, * all policies together.";
  const breaker = "1 while the circuit breaker of the policy is open; an empty policy is the whole cluster.";
  const newlyDown =
    "Nodes of the policy that went down within the duration of its circuit breaker and still are; absent where that does not hold readiness.";
  const blocking =
    "How long the node has counted in the budgets of the policy that has done so longest, while they hold others back.";
  const frozen = "1 while the nodes of the policy are frozen; an empty policy is all nodes.";
  const waiting = "Pods past their deadline that wait for the eviction rate of the policy.";
  const longest = "How long ago the pod was due that waits longest for the eviction rate of the policy; 0 for none.";
  const ailing =
    "Nodes with a condition that requires a taint by `unhealthyConditions` of the policy; absent for none.";
  const outOfService =
    "Nodes by how far they are from the out-of-service taint of the policy: `on` carries it; absent for none.";
  const age = "Age of the last heartbeat that this fraction of the nodes does not exceed, at most 600.";
  const synced = "How long the watch has been synced without a break, by the pulses; 0 while it is not synced.";
  return {
    ...outageMetrics(metrics),
    zoneState: gauge("vigil_zone_state", state, ["zone", "state"]),
    zoneHalted: gauge("vigil_zone_halted", "1 while the zone is halted because all zones are disrupted.", ZONE),
    zoneRate: gauge("vigil_zone_taints_per_second", "Nodes per second that the zone may taint NoExecute now.", ZONE),
    zoneTokens: gauge("vigil_zone_tokens", tokens, ZONE),
    zoneQueue: gauge("vigil_zone_queue_length", "Nodes that wait to be admitted for eviction.", ZONE),
    heldNodes: byPolicy("vigil_policy_held_nodes", blocked, "field"),
    breakerOpen: byPolicy("vigil_policy_breaker_open", breaker),
    newlyDown: byPolicy("vigil_policy_newly_down_nodes", newlyDown),
    budgetBlocking: byPolicy("vigil_policy_budget_blocking_seconds", blocking, "node"),
    frozen: byPolicy("vigil_policy_frozen", frozen),
    waiting: byPolicy("vigil_policy_waiting_evictions", waiting),
    conditionNodes: byPolicy("vigil_policy_condition_nodes", ailing, "condition"),
    outOfServiceNodes: byPolicy("vigil_policy_out_of_service_nodes", outOfService, "state"),
    longestWait: byPolicy("vigil_policy_longest_wait_seconds", longest),
    nodes: gauge("vigil_nodes", "Nodes by readiness as judged.", ["readiness"]),
    pending: gauge("vigil_pending_evictions", "Pods that wait for their deletion."),
    heartbeats: counter("vigil_heartbeats_total", "Observed heartbeats, at most one per node and second."),
    heartbeatAge: gauge("vigil_heartbeat_age_seconds", age, ["quantile"]),
    watchSynced: gauge("vigil_watch_synced_seconds", synced, ["watch"]),
    pulseAge: gauge("vigil_pulse_age_seconds", "Age of the oldest shard's last pulse; -1 while a shard has had none."),
    blindShards: gauge("vigil_blind_shards", "Shards that are blind, so that nothing harmful is decided there."),
    writes: counter("vigil_writes_total", "Outcomes of writes to the API, by request.", ["ask", "outcome"]),
    writeSeconds: histogram("vigil_write_duration_seconds", "From a request to its final outcome.", WRITE_SECONDS, [
      "ask",
    ]),
    historyEntries: gauge("vigil_ledger_history_entries", "Entries in the ledger's history."),
  };
}

/** All metrics of one ledger. */
export class LedgerMetrics {
  readonly #shown: ReturnType<typeof upstream> & ReturnType<typeof own>;
  /** What the gauges of each present zone show, as text: a message would be kept with its whole queue. */
  readonly #zones = new Map<string, string>();
  readonly #vanished = new BoundedMap<string, string>(VANISHED_ZONES_MAX, (zone) => this.#remove(zone));
  readonly #zoneLabel: ZoneLabel;

  constructor(metrics: Metrics, zoneLabel: ZoneLabel) {
    this.#zoneLabel = zoneLabel;
    this.#shown = { ...upstream(metrics), ...own(metrics) };
  }

  /** Sets the gauges that a message is about. Every ledger does, so that none is stale when a shard moves. */
  show(message: AnyMessage, before: ClusterState): void {
    if (message.type === "judged.zone") this.#zone(message.body, !before.zones.has(message.body.zone));
    if (message.type === "judged.limits") this.#limits(message);
    if (message.type === "judged.evictions") this.#evictions(message);
  }

  #zone(body: BodyOf<"judged.zone">, isNew: boolean): void {
    const zone = this.#labelOf(body.zone);
    this.#vanished.delete(body.zone);
    // Each zone is announced with each pulse, and most are at rest.
    const values = zoneValues(body);
    const shown = JSON.stringify([body.state, values]);
    if (!isNew && this.#zones.get(body.zone) === shown) return;
    this.#zones.set(body.zone, shown);
    if (isNew) this.#shown.evictions.add(0, zone);
    for (const state of zoneStateSchema.options) this.#shown.zoneState.set(state === body.state ? 1 : 0, zone, state);
    for (const name of ZONE_GAUGES) this.#shown[name].set(values[name], zone);
  }

  /**
   * Sets the gauges of a policy with limits. A node counts under its own policy, whichever limit blocks it; one that
   * waits for a condition counts under all policies together, where they have a ceiling.
   */
  #limits({ at, body: { policy, holds, memory, down, longest } }: Message<"judged.limits">): void {
    this.#shown.budgetBlocking.keep((known, node) => known !== policy || node === longest?.node);
    if (longest !== undefined)
      this.#shown.budgetBlocking.set(Math.max(0, at - longest.since) / 1000, policy, longest.node);
    if (down === undefined) this.#shown.newlyDown.keep((known) => known !== policy);
    else this.#shown.newlyDown.set(down.nodes, policy);
    if (policy !== POLICY_CEILING) this.#shown.breakerOpen.set(memory.trippedAt === null ? 0 : 1, policy);
    for (const [field, label] of HOLDS) {
      const blocked = holds.filter((block) => block.field === field).reduce((sum, { nodes }) => sum + nodes, 0);
      this.#shown.heldNodes.set(blocked, policy, label);
    }
  }

  /** Sets the gauges of a policy that limits the rate of evictions. */
  #evictions({ at, body: { policy, waiting, oldestDeadlineAt } }: Message<"judged.evictions">): void {
    this.#shown.waiting.set(waiting, policy);
    this.#shown.longestWait.set(oldestDeadlineAt === null ? 0 : Math.max(0, at - oldestDeadlineAt) / 1000, policy);
  }

  /** Sets whether each policy freezes its nodes, and drops the gauges of policies that are gone or without limits. */
  policies(set: PolicySet, at: number): void {
    const { policies, everywhere } = set;
    const { breakerOpen, newlyDown, budgetBlocking, heldNodes, frozen, waiting, longestWait } = this.#shown;
    frozen.set(frozenAt(everywhere.frozen, at) === null ? 0 : 1, EVERY_NODE);
    for (const policy of policies) frozen.set(frozenAt(policy.frozen, at) === null ? 0 : 1, policy.name);
    const present = new Set([EVERY_NODE, ...policies.map(({ name }) => name)]);
    const limited = limitedNames(policies);
    const rated = ratedPoliciesOf(set);
    frozen.keep((policy) => present.has(policy));
    for (const gauge of [breakerOpen, newlyDown, budgetBlocking, heldNodes])
      gauge.keep((policy) => limited.has(policy));
    for (const gauge of [waiting, longestWait]) gauge.keep((policy) => rated.has(policy));
  }

  /** Shows a zone that has lost its nodes and its owner as empty (R13.1). Drops the earliest beyond a limit. */
  vanished(zone: BodyOf<"judged.zone">): void {
    this.#zone({ ...zone, state: "Initial", size: 0, notReady: 0, queueLength: 0, halted: false }, false);
    this.#zones.delete(zone.zone);
    this.#vanished.set(zone.zone, zone.zone);
  }

  /** Adds a message to the counters, given the state before it. */
  count(message: AnyMessage, before: ClusterState, mode: string): void {
    if (message.type === "done.write") this.#countWrite(message, before);
    if (message.type !== "judged.node" || mode !== "direct") return;
    const { node, eviction, zone } = message.body;
    const known = before.nodes.get(node)?.judged;
    if (!known || known.eviction === "evicted" || eviction !== "evicted") return;
    this.#shown.evictions.add(1, this.#labelOf(zone));
  }

  heartbeats(count: number): void {
    this.#shown.heartbeats.add(count);
  }

  /** Sets the gauges that change with time alone. Both instants are now, on the monotonic and on the wall clock. */
  refresh(
    state: Pick<StateSubscriber, "cluster" | "heartbeats" | "watchHealth">,
    historyEntries: number,
    nowMs: number,
    wallMs: number,
  ): void {
    const { cluster, heartbeats } = state;
    const watchHealth = state.watchHealth.report(nowMs);
    for (const readiness of readinessSchema.options) this.#shown.nodes.set(cluster.readiness[readiness], readiness);
    this.#shown.conditionNodes.showOnly(countsByPolicy(cluster, ailmentsOf));
    this.#shown.outOfServiceNodes.showOnly(countsByPolicy(cluster, outOfServiceStateOf));
    this.#shown.pending.set(cluster.pods.pendingCount);
    const seconds = heartbeats.ages.quantiles(AGE_FRACTIONS, nowMs);
    for (const [index, fraction] of AGE_FRACTIONS.entries())
      this.#shown.heartbeatAge.set(seconds[index] ?? 0, String(fraction));
    for (const [watch, syncedMs] of Object.entries(watchHealth.watches)) {
      this.#shown.watchSynced.set((syncedMs ?? 0) / 1000, watch);
    }
    this.#shown.pulseAge.set(watchHealth.oldestPulseMs === null ? -1 : watchHealth.oldestPulseMs / 1000);
    this.#shown.blindShards.set(watchHealth.blindShards);
    const { outage } = watchHealth;
    this.#shown.outage.set(outage === undefined ? 0 : 1);
    this.#shown.outageSeconds.set(Math.max(0, wallMs - (outage?.sinceAt ?? wallMs)) / 1000);
    this.#shown.historyEntries.set(historyEntries);
  }

  #labelOf(zoneKey: string): string {
    return metricsZoneOf(zoneKey, this.#zoneLabel);
  }

  #remove(zoneKey: string): void {
    const zone = this.#labelOf(zoneKey);
    const { evictions, zoneState } = this.#shown;
    for (const name of ZONE_GAUGES) this.#shown[name].remove(zone);
    evictions.remove(zone);
    for (const state of zoneStateSchema.options) zoneState.remove(zone, state);
  }

  #countWrite({ cause, at, body }: Message<"done.write">, before: ClusterState): void {
    const { ask, outcome, retrying, latencyMs } = body;
    this.#shown.writes.add(1, ask, outcome);
    // A write whose reply was lost ends when the watch shows its change.
    const isOver = !retrying && outcome !== "unknown";
    if (isOver) this.#shown.writeSeconds.observe(latencyMs / 1000, ask);
    if (ask === "asked.condition" && isOver) this.#shown.nodeHealth.observe(latencyMs / 1000);
    const request = before.request(cause)?.message;
    if (outcome !== "ok" || request === undefined) return;
    if (request.type === "asked.taint" && request.body.why === "granted" && body.change !== "") {
      this.#shown.evictions.add(1, this.#labelOf(before.nodes.get(body.node)?.judged?.zone ?? ""));
    }
    if (request.type !== "asked.eviction" || request.body.mode !== "taint") return;
    if (!isFirstDeletion(body, before.pods)) return;
    this.#shown.podDeletions.add(1);
    this.#shown.podDeletionSeconds.observe(Math.max(0, at - request.body.deadlineAt) / 1000);
  }
}

/** What the gauges of a zone show, but for its state. */
function zoneValues(body: BodyOf<"judged.zone">): Record<(typeof ZONE_GAUGES)[number], number> {
  const { size, notReady, halted, taintsPerSecond, tokens, queueLength } = body;
  return {
    zoneHealth: size === 0 ? 100 : (100 * (size - notReady)) / size,
    zoneSize: size,
    unhealthy: notReady,
    zoneHalted: halted ? 1 : 0,
    zoneRate: taintsPerSecond,
    zoneTokens: tokens,
    zoneQueue: queueLength,
  };
}

/** How many nodes of each policy have something in common, by what their judgements say. */
function countsByPolicy(
  { nodes }: Pick<ClusterState, "nodes">,
  whatOf: (judged: NodeJudgement) => readonly string[],
): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const counts = new Map<string, Map<string, number>>();
  for (const { judged } of nodes.values()) {
    if (judged?.policy === undefined) continue;
    for (const what of whatOf(judged)) {
      const byValue = counts.get(judged.policy) ?? new Map<string, number>();
      counts.set(judged.policy, byValue.set(what, (byValue.get(what) ?? 0) + 1));
    }
  }
  return counts;
}

const NOTHING: readonly string[] = [];

/** The types of the conditions that require a taint. */
function ailmentsOf({ conditions }: NodeJudgement): readonly string[] {
  if (conditions === undefined) return NOTHING;
  const ailing = conditions.filter(({ state }) => state === "due" || state === "tainted");
  return [...new Set(ailing.map(({ type }) => type))];
}

/** How far the node is from the out-of-service taint, if it is on its way. */
function outOfServiceStateOf({ outOfService }: NodeJudgement): readonly string[] {
  return outOfService === undefined ? NOTHING : [outOfService.state];
}
