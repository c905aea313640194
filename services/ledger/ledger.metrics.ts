/**
 * The ledger's metrics (section 13 and ours): declared here, set from messages and facts. Counters are added by one
 * ledger of the fleet only.
 */
import { readinessSchema, zoneStateSchema } from "../../protocols/judged.ts";
import type { WatchHealthReport } from "../../protocols/ledger-reader.ts";
import type { AnyMessage, BodyOf, Message } from "../../protocols/messages.ts";
import type { Metrics } from "../../protocols/ports.ts";
import { BoundedMap } from "../platform/structures/bounded-map.ts";
import type { ClusterState } from "./cluster-state.ts";
import type { HeartbeatAges } from "./heartbeat-ages.ts";

/** Bounds in seconds of an upstream histogram (13.1): one node's health update. */
const NODE_HEALTH_SECONDS = [0.001, 0.004, 0.016, 0.064, 0.256, 1.024, 4.096, 16.384];
/** Bounds in seconds of an upstream histogram (13.1): one pass over all nodes. */
const ALL_NODES_HEALTH_SECONDS = [0.01, 0.04, 0.16, 0.64, 2.56, 10.24, 40.96, 163.84];
/** Bounds in seconds of an upstream histogram (13.2): from a pod's deadline to its deletion. */
const POD_DELETION_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240];
/** Bounds in seconds of how long a write takes from its ask. */
const WRITE_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** Which fractions of the nodes the heartbeat age is told for. */
const AGE_FRACTIONS = [0.5, 0.9, 0.99, 1];
/** Zones that vanished and are still told as empty; upstream tells each for ever (R13.1). */
const VANISHED_ZONES_MAX = 100;

/** Under these names upstream's dashboards find us; zones are labelled by their key, NUL included (R13.1). */
function upstream(metrics: Metrics) {
  const labels = ["zone"];
  return {
    zoneHealth: metrics.gauge({
      name: "node_collector_zone_health",
      help: "Percent of the zone's counted nodes that are ready; 100 for a vanished zone.",
      labels,
    }),
    zoneSize: metrics.gauge({ name: "node_collector_zone_size", help: "Counted nodes of the zone.", labels }),
    unhealthy: metrics.gauge({
      name: "node_collector_unhealthy_nodes_in_zone",
      help: "Counted nodes of the zone that are not ready.",
      labels,
    }),
    evictions: metrics.counter({
      name: "node_collector_evictions_total",
      help: "Nodes of the zone tainted NoExecute in their turn, or drained in direct mode.",
      labels,
    }),
    nodeHealth: metrics.histogram({
      name: "node_collector_update_node_health_duration_seconds",
      help: "From the ask to force a silent node's conditions to its outcome.",
      buckets: NODE_HEALTH_SECONDS,
    }),
    allNodesHealth: metrics.histogram({
      name: "node_collector_update_all_nodes_health_duration_seconds",
      help: "Always empty: there is no pass over all nodes, each has a deadline of its own.",
      buckets: ALL_NODES_HEALTH_SECONDS,
    }),
    podDeletions: metrics.counter({
      name: "taint_eviction_controller_pod_deletions_total",
      help: "Pods deleted because of NoExecute taints.",
    }),
    podDeletionSeconds: metrics.histogram({
      name: "taint_eviction_controller_pod_deletion_duration_seconds",
      help: "From a pod's deadline to its deletion at the API, in seconds.",
      buckets: POD_DELETION_SECONDS,
    }),
  };
}

/** What upstream lacks. */
function own(metrics: Metrics) {
  const zone = ["zone"];
  const gauge = (name: string, help: string, labels: readonly string[] = []) => metrics.gauge({ name, help, labels });
  return {
    zoneState: gauge("vigil_zone_state", "1 for the disruption state the zone is in, 0 for the others.", [
      "zone",
      "state",
    ]),
    zoneHalted: gauge("vigil_zone_halted", "1 while the zone is halted because all zones are disrupted.", zone),
    zoneRate: gauge("vigil_zone_taints_per_second", "Nodes per second the zone may taint NoExecute at present.", zone),
    zoneTokens: gauge(
      "vigil_zone_tokens",
      "Tokens in the zone's bucket: nodes it may taint at once; below 0 it owes one.",
      zone,
    ),
    zoneQueue: gauge("vigil_zone_queue_length", "Nodes that wait for their turn to be tainted.", zone),
    nodes: gauge("vigil_nodes", "Nodes by readiness as judged.", ["readiness"]),
    pending: gauge("vigil_pending_evictions", "Pods that wait for their deletion."),
    heartbeats: metrics.counter({
      name: "vigil_heartbeats_total",
      help: "Heartbeats that were observed, one per node and second.",
    }),
    heartbeatAge: gauge(
      "vigil_heartbeat_age_seconds",
      "Age of the last heartbeat that this fraction of the nodes does not exceed, at most 600.",
      ["quantile"],
    ),
    watchSynced: gauge(
      "vigil_watch_synced_seconds",
      "How long the watch has been seen without a break, as told by pulses; 0 while it is not synced.",
      ["watch"],
    ),
    pulseAge: gauge("vigil_pulse_age_seconds", "Age of the oldest shard's last pulse; -1 while a shard has had none."),
    blindShards: gauge("vigil_blind_shards", "Shards in which nothing harmful is decided, for want of sight."),
    writes: metrics.counter({
      name: "vigil_writes_total",
      help: "Outcomes of writes to the API, by ask.",
      labels: ["ask", "outcome"],
    }),
    writeSeconds: metrics.histogram({
      name: "vigil_write_duration_seconds",
      help: "From an ask to its final outcome.",
      labels: ["ask"],
      buckets: WRITE_SECONDS,
    }),
    historyEntries: gauge("vigil_ledger_history_entries", "Entries in the ledger's history."),
  };
}

/** All metrics of one ledger. */
export class LedgerMetrics {
  readonly #upstream: ReturnType<typeof upstream>;
  readonly #own: ReturnType<typeof own>;
  readonly #vanished = new BoundedMap<string, string>(VANISHED_ZONES_MAX, (zone) => this.#remove(zone));

  constructor(metrics: Metrics) {
    this.#upstream = upstream(metrics);
    this.#own = own(metrics);
  }

  /** Follows a zone: gauges are the same in every ledger, so none goes stale when a shard moves. */
  zone(body: BodyOf<"judged.zone">, isNew: boolean): void {
    const { zone, size, notReady } = body;
    this.#vanished.delete(zone);
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

  /**
   * Shows a zone as empty that nobody minds any more: what was last told of it holds no longer (R13.1). Of very many
   * such zones the first are shown no more.
   */
  vanished(zone: BodyOf<"judged.zone">): void {
    this.zone({ ...zone, state: "Initial", size: 0, notReady: 0, queueLength: 0, halted: false }, false);
    this.#vanished.set(zone.zone, zone.zone);
  }

  /** Adds what a message counts for, given the facts before it. */
  count(message: AnyMessage, before: ClusterState, mode: string): void {
    if (message.type === "done.write") this.#countWrite(message, before);
    if (message.type !== "judged.node" || mode !== "direct") return;
    const { node, eviction, zone } = message.body;
    const known = before.nodes.get(node)?.judged;
    if (known && known.eviction !== "evicted" && eviction === "evicted") this.#upstream.evictions.add(1, zone);
  }

  heartbeats(count: number): void {
    this.#own.heartbeats.add(count);
  }

  /** Sets what changes with time alone. */
  refresh(
    state: ClusterState,
    ages: HeartbeatAges,
    watchHealth: WatchHealthReport,
    historyEntries: number,
    nowMs: number,
  ): void {
    for (const readiness of readinessSchema.options) this.#own.nodes.set(state.readiness[readiness], readiness);
    this.#own.pending.set(state.pods.pendingCount);
    const seconds = ages.quantiles(AGE_FRACTIONS, nowMs);
    for (const [index, fraction] of AGE_FRACTIONS.entries())
      this.#own.heartbeatAge.set(seconds[index] ?? 0, String(fraction));
    for (const [watch, sightMs] of Object.entries(watchHealth.watches)) {
      this.#own.watchSynced.set((sightMs ?? 0) / 1000, watch);
    }
    this.#own.pulseAge.set(watchHealth.oldestPulseMs === null ? -1 : watchHealth.oldestPulseMs / 1000);
    this.#own.blindShards.set(watchHealth.blindShards);
    this.#own.historyEntries.set(historyEntries);
  }

  #remove(zone: string): void {
    const { zoneHealth, zoneSize, unhealthy, evictions } = this.#upstream;
    const { zoneState, zoneHalted, zoneRate, zoneTokens, zoneQueue } = this.#own;
    const all = [zoneHealth, zoneSize, unhealthy, evictions, zoneHalted, zoneRate, zoneTokens, zoneQueue];
    for (const metric of all) metric.remove(zone);
    for (const state of zoneStateSchema.options) zoneState.remove(zone, state);
  }

  #countWrite({ cause, at, body }: Message<"done.write">, before: ClusterState): void {
    const { ask, outcome, retrying, latencyMs } = body;
    this.#own.writes.add(1, ask, outcome);
    // A write whose reply was lost is over when it shows what came of it.
    const isOver = !retrying && outcome !== "unknown";
    if (isOver) this.#own.writeSeconds.observe(latencyMs / 1000, ask);
    if (ask === "asked.condition" && isOver) this.#upstream.nodeHealth.observe(latencyMs / 1000);
    const asked = before.request(cause)?.message;
    if (outcome !== "ok" || asked === undefined) return;
    if (asked.type === "asked.taint" && asked.body.why === "granted" && body.change !== "") {
      this.#upstream.evictions.add(1, before.nodes.get(body.node)?.judged?.zone ?? "");
    }
    if (asked.type !== "asked.eviction" || asked.body.mode !== "taint" || before.pods.get(body.uid)?.order === "done")
      return;
    this.#upstream.podDeletions.add(1);
    this.#upstream.podDeletionSeconds.observe(Math.max(0, at - asked.body.deadlineAt) / 1000);
  }
}
