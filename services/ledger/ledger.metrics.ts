/**
 * The ledger's metrics, upstream's and Vigil's own, set from messages and the cluster state. Only the owner of a shard
 * adds to counters; every ledger sets the gauges.
 */
import { readinessSchema, zoneStateSchema } from "../../protocols/judged.ts";
import type { WatchHealthReport } from "../../protocols/ledger-reader.ts";
import type { AnyMessage, BodyOf, Message } from "../../protocols/messages.ts";
import type { PolicySet } from "../../protocols/policy-set.ts";
import type { Metrics } from "../../protocols/ports.ts";
import { ratedPoliciesOf } from "../domain/eviction-rates.ts";
import { hasLimits, LEASE_HOLD, LIMIT_FIELDS, WHOLE_CLUSTER } from "../domain/limited-policies.ts";
import { frozenAt } from "../domain/paused-time/frozen-time.ts";
import { metricsZoneOf, type ZoneLabel } from "../domain/zone-key.ts";
import { BoundedMap } from "../structures/bounded-map.ts";
import type { ClusterState, PolicyCount } from "./cluster-state.ts";
import type { HeartbeatAges } from "./heartbeat-ages.ts";

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
/** The policy label of freezes of all nodes. */
const EVERY_NODE = "";

type Labels = readonly string[];

const declaring = (metrics: Metrics) => ({
  gauge: (name: string, help: string, labels: Labels = []) => metrics.gauge({ name, help, labels }),
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

/** What holds nodes back, and its label. */
const HOLDS: readonly (readonly [field: string, label: string])[] = [
  ...LIMIT_FIELDS.map((field) => [field, field] as const),
  [LEASE_HOLD, "lease"],
];

type Gauge = ReturnType<Metrics["gauge"]>;

/** Metrics of outages. */
function ofOutages(metrics: Metrics) {
  const { gauge } = declaring(metrics);
  const isOutage = "1 while no node can be heard: countdowns for the silence of nodes stand still; 0 otherwise.";
  const seconds =
    "For how long no node can be heard; 0 while nodes can be, and where nothing shows since when they cannot.";
  return { outage: gauge("vigil_outage", isOutage), outageSeconds: gauge("vigil_outage_seconds", seconds) };
}

/** Metrics that upstream lacks. */
function own(metrics: Metrics) {
  const { gauge, counter, histogram } = declaring(metrics);
  const state = "1 for the disruption state the zone is in, 0 for the others.";
  const tokens = "Tokens in the zone's bucket: nodes it may taint at once; below 0 it owes one.";
  const held =
    "Nodes due for eviction that this field of the policy, or the Lease of limits, holds back; an empty policy is the whole cluster.";
  const breaker = "1 while the circuit breaker of the policy is open; an empty policy is the whole cluster.";
  const newlyDown =
    "Nodes of the policy that went down within the duration of its circuit breaker and still are; absent where that does not hold readiness.";
  const frozen = "1 while the nodes of the policy are frozen; an empty policy is all nodes.";
  const waiting = "Pods past their deadline that wait for the eviction rate of the policy.";
  const longest = "How long ago the pod was due that waits longest for the eviction rate of the policy; 0 for none.";
  const ailing =
    "Nodes with a condition that calls for a taint by `unhealthyConditions` of the policy; absent for none.";
  const outOfService =
    "Nodes by how far they are from the out-of-service taint of the policy: `on` carries it; absent for none.";
  const age = "Age of the last heartbeat that this fraction of the nodes does not exceed, at most 600.";
  const synced = "How long the watch has been synced without a break, by the pulses; 0 while it is not synced.";
  return {
    ...ofOutages(metrics),
    zoneState: gauge("vigil_zone_state", state, ["zone", "state"]),
    zoneHalted: gauge("vigil_zone_halted", "1 while the zone is halted because all zones are disrupted.", ZONE),
    zoneRate: gauge("vigil_zone_taints_per_second", "Nodes per second that the zone may taint NoExecute now.", ZONE),
    zoneTokens: gauge("vigil_zone_tokens", tokens, ZONE),
    zoneQueue: gauge("vigil_zone_queue_length", "Nodes that wait to be admitted for eviction.", ZONE),
    heldNodes: gauge("vigil_policy_held_nodes", held, ["policy", "field"]),
    breakerOpen: gauge("vigil_policy_breaker_open", breaker, ["policy"]),
    newlyDown: gauge("vigil_policy_newly_down_nodes", newlyDown, ["policy"]),
    frozen: gauge("vigil_policy_frozen", frozen, ["policy"]),
    waiting: gauge("vigil_policy_waiting_evictions", waiting, ["policy"]),
    conditionNodes: gauge("vigil_policy_condition_nodes", ailing, ["policy", "condition"]),
    outOfServiceNodes: gauge("vigil_policy_out_of_service_nodes", outOfService, ["policy", "state"]),
    longestWait: gauge("vigil_policy_longest_wait_seconds", longest, ["policy"]),
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
  readonly #upstream: ReturnType<typeof upstream>;
  readonly #own: ReturnType<typeof own>;
  /** The policies with a gauge of freezes, and those with gauges of limits. */
  #policies: ReadonlySet<string> = new Set();
  /** What each gauge by policy and one more label shows. */
  readonly #counted = new Map<Gauge, Map<string, PolicyCount>>();
  readonly #limited = new Set<string>();
  /** The policies with gauges of their eviction rate. */
  readonly #rated = new Set<string>();
  /** What the gauges of each present zone show, as text: a message would be kept with its whole queue. */
  readonly #zones = new Map<string, string>();
  readonly #vanished = new BoundedMap<string, string>(VANISHED_ZONES_MAX, (zone) => this.#remove(zone));

  readonly #zoneLabel: ZoneLabel;

  constructor(metrics: Metrics, zoneLabel: ZoneLabel = "readable") {
    this.#zoneLabel = zoneLabel;
    this.#upstream = upstream(metrics);
    this.#own = own(metrics);
  }

  /** Sets a zone's gauges. Every ledger does, so that none is stale when a shard moves. */
  zone(body: BodyOf<"judged.zone">, isNew: boolean): void {
    const { size, notReady } = body;
    const zone = this.#labelOf(body.zone);
    this.#vanished.delete(body.zone);
    // Each zone is announced with each pulse, and most are at rest.
    const shown = shownText(body);
    if (!isNew && this.#zones.get(body.zone) === shown) return;
    this.#zones.set(body.zone, shown);
    if (isNew) this.#upstream.evictions.add(0, zone);
    this.#upstream.zoneSize.set(size, zone);
    this.#upstream.unhealthy.set(notReady, zone);
    this.#upstream.zoneHealth.set(size === 0 ? 100 : (100 * (size - notReady)) / size, zone);
    for (const state of zoneStateSchema.options) this.#own.zoneState.set(state === body.state ? 1 : 0, zone, state);
    this.#own.zoneHalted.set(body.halted ? 1 : 0, zone);
    this.#own.zoneRate.set(body.taintsPerSecond, zone);
    this.#own.zoneTokens.set(body.tokens, zone);
    this.#own.zoneQueue.set(body.queueLength, zone);
  }

  /** Sets the gauges of a policy with limits. A node counts under its own policy, whichever limit holds it back. */
  limits({ policy, holds, memory, down }: BodyOf<"judged.limits">): void {
    this.#limited.add(policy);
    if (down === undefined) this.#own.newlyDown.remove(policy);
    else this.#own.newlyDown.set(down.nodes, policy);
    this.#own.breakerOpen.set(memory.trippedAt === null ? 0 : 1, policy);
    for (const [field, label] of HOLDS) {
      const held = holds.filter((hold) => hold.field === field).reduce((sum, { nodes }) => sum + nodes, 0);
      this.#own.heldNodes.set(held, policy, label);
    }
  }

  /** Sets the gauges of a policy that limits the rate of evictions. */
  evictions({ at, body: { policy, waiting, oldestDeadlineAt } }: Message<"judged.evictions">): void {
    this.#rated.add(policy);
    this.#own.waiting.set(waiting, policy);
    this.#own.longestWait.set(oldestDeadlineAt === null ? 0 : Math.max(0, at - oldestDeadlineAt) / 1000, policy);
  }

  /** Sets whether each policy freezes its nodes, and drops the gauges of policies that are gone or without limits. */
  policies(set: PolicySet, at: number): void {
    const { policies, everywhere } = set;
    const frozen = new Map(policies.map(({ name, frozen: intervals }) => [name, intervals]));
    frozen.set(EVERY_NODE, everywhere.frozen);
    for (const [name, intervals] of frozen) this.#own.frozen.set(frozenAt(intervals, at) === null ? 0 : 1, name);
    for (const name of this.#policies) {
      if (!frozen.has(name)) this.#own.frozen.remove(name);
    }
    this.#policies = new Set(frozen.keys());
    this.#forgetRates(ratedPoliciesOf(set));
    const limited = new Set(policies.filter(hasLimits).map(({ name }) => name));
    for (const name of this.#limited) {
      if (name === WHOLE_CLUSTER || limited.has(name)) continue;
      this.#own.breakerOpen.remove(name);
      this.#own.newlyDown.remove(name);
      for (const [, label] of HOLDS) this.#own.heldNodes.remove(name, label);
      this.#limited.delete(name);
    }
  }

  #forgetRates(rated: ReadonlySet<string>): void {
    for (const name of this.#rated) {
      if (rated.has(name)) continue;
      this.#own.waiting.remove(name);
      this.#own.longestWait.remove(name);
      this.#rated.delete(name);
    }
  }

  /** Shows a zone that has lost its nodes and its owner as empty (R13.1). Drops the earliest beyond a limit. */
  vanished(zone: BodyOf<"judged.zone">): void {
    this.zone({ ...zone, state: "Initial", size: 0, notReady: 0, queueLength: 0, halted: false }, false);
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
    this.#upstream.evictions.add(1, this.#labelOf(zone));
  }

  heartbeats(count: number): void {
    this.#own.heartbeats.add(count);
  }

  /** Sets the gauges that change with time alone. */
  refresh(
    state: ClusterState,
    ages: HeartbeatAges,
    watchHealth: WatchHealthReport,
    {
      historyEntries,
      nowMs,
      wallMs,
    }: { readonly historyEntries: number; readonly nowMs: number; readonly wallMs: number },
  ): void {
    for (const readiness of readinessSchema.options) this.#own.nodes.set(state.readiness[readiness], readiness);
    this.#byPolicy(this.#own.conditionNodes, state.conditionCounts.entries());
    this.#byPolicy(this.#own.outOfServiceNodes, state.outOfServiceCounts.entries());
    this.#own.pending.set(state.pods.pendingCount);
    const seconds = ages.quantiles(AGE_FRACTIONS, nowMs);
    for (const [index, fraction] of AGE_FRACTIONS.entries())
      this.#own.heartbeatAge.set(seconds[index] ?? 0, String(fraction));
    for (const [watch, syncedMs] of Object.entries(watchHealth.watches)) {
      this.#own.watchSynced.set((syncedMs ?? 0) / 1000, watch);
    }
    this.#own.pulseAge.set(watchHealth.oldestPulseMs === null ? -1 : watchHealth.oldestPulseMs / 1000);
    this.#own.blindShards.set(watchHealth.blindShards);
    const { outage } = watchHealth;
    this.#own.outage.set(outage === undefined ? 0 : 1);
    this.#own.outageSeconds.set(Math.max(0, wallMs - (outage?.sinceAt ?? wallMs)) / 1000);
    this.#own.historyEntries.set(historyEntries);
  }

  /** Sets a gauge by policy and one more label, and drops the values that count no node any more. */
  #byPolicy(gauge: Gauge, counts: Iterable<PolicyCount>): void {
    const gone = this.#counted.get(gauge) ?? new Map<string, PolicyCount>();
    const counted = new Map<string, PolicyCount>();
    for (const count of counts) {
      const { policy, what, nodes } = count;
      gauge.set(nodes, policy, what);
      counted.set(`${policy}\n${what}`, count);
      gone.delete(`${policy}\n${what}`);
    }
    for (const { policy, what } of gone.values()) gauge.remove(policy, what);
    this.#counted.set(gauge, counted);
  }

  #labelOf(zoneKey: string): string {
    return metricsZoneOf(zoneKey, this.#zoneLabel);
  }

  #remove(zoneKey: string): void {
    const zone = this.#labelOf(zoneKey);
    const { zoneHealth, zoneSize, unhealthy, evictions } = this.#upstream;
    const { zoneState, zoneHalted, zoneRate, zoneTokens, zoneQueue } = this.#own;
    const all = [zoneHealth, zoneSize, unhealthy, evictions, zoneHalted, zoneRate, zoneTokens, zoneQueue];
    for (const metric of all) metric.remove(zone);
    for (const state of zoneStateSchema.options) zoneState.remove(zone, state);
  }

  #countWrite({ cause, at, body }: Message<"done.write">, before: ClusterState): void {
    const { ask, outcome, retrying, latencyMs } = body;
    this.#own.writes.add(1, ask, outcome);
    // A write whose reply was lost ends when the watch shows its change.
    const isOver = !retrying && outcome !== "unknown";
    if (isOver) this.#own.writeSeconds.observe(latencyMs / 1000, ask);
    if (ask === "asked.condition" && isOver) this.#upstream.nodeHealth.observe(latencyMs / 1000);
    const request = before.request(cause)?.message;
    if (outcome !== "ok" || request === undefined) return;
    if (request.type === "asked.taint" && request.body.why === "granted" && body.change !== "") {
      this.#upstream.evictions.add(1, this.#labelOf(before.nodes.get(body.node)?.judged?.zone ?? ""));
    }
    if (
      request.type !== "asked.eviction" ||
      request.body.mode !== "taint" ||
      before.pods.get(body.uid)?.order === "done"
    )
      return;
    this.#upstream.podDeletions.add(1);
    this.#upstream.podDeletionSeconds.observe(Math.max(0, at - request.body.deadlineAt) / 1000);
  }
}

/** What an announcement of a zone sets its gauges to. */
function shownText({
  state,
  size,
  notReady,
  halted,
  taintsPerSecond,
  tokens,
  queueLength,
}: BodyOf<"judged.zone">): string {
  return [state, size, notReady, halted, taintsPerSecond, tokens, queueLength].join();
}
