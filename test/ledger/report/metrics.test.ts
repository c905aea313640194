/** The ledger's metrics, as scraped. */
import { describe, expect, test } from "vitest";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { Fleet } from "../../../protocols/ports.ts";
import { shardOf } from "../../../protocols/subjects.ts";
import { metricValue } from "../../support/metric-value.ts";
import { observedNode } from "../../support/observed-objects.ts";
import {
  askedCondition,
  askedEviction,
  askedTaint,
  doneNode,
  donePod,
  judgedNode,
  judgedPod,
  judgedZone,
  type LedgerWorld,
  ledgerWorld,
  pulse,
  SHARDS,
} from "../ledger-world.ts";

const ZONE = { zone: "a" };
const value = ({ metrics }: LedgerWorld, name: string, labels: Record<string, string> = {}) =>
  metricValue(metrics, name, labels);
const refreshed = (world: LedgerWorld): LedgerWorld => {
  world.clock.advance(2000);
  return world;
};

describe("zones (R13.1)", () => {
  test("are gauges under upstream's names, labelled by their key", async () => {
    const world = ledgerWorld();
    world.receive("judged.zone", judgedZone({ size: 8, notReady: 2 }), null);
    expect(await value(world, "node_collector_zone_size", ZONE)).toBe(8);
    expect(await value(world, "node_collector_unhealthy_nodes_in_zone", ZONE)).toBe(2);
    expect(await value(world, "node_collector_zone_health", ZONE)).toBe(75);
  });

  test("that vanished stay, with size 0 and health 100", async () => {
    const world = ledgerWorld();
    world.receive("judged.zone", judgedZone(), null);
    world.receive("judged.zone", judgedZone({ size: 0, notReady: 0 }), null);
    expect(await value(world, "node_collector_zone_size", ZONE)).toBe(0);
    expect(await value(world, "node_collector_zone_health", ZONE)).toBe(100);
  });

  test("R13.2: start their eviction counter at 0", async () => {
    const world = ledgerWorld();
    world.receive("judged.zone", judgedZone(), null);
    expect(await world.metrics.text()).toContain('node_collector_evictions_total{zone="a"} 0');
  });

  test.each([
    ["readable", "eu/a"],
    ["upstream", "eu:\u0000:a"],
  ] as const)("are labelled as --metrics-zone-label=%s selects", async (zoneLabel, zone) => {
    const world = ledgerWorld({ zoneLabel });
    world.receive("judged.zone", judgedZone({ zone: "eu:\u0000:a", size: 7 }), null);
    expect(await value(world, "node_collector_zone_size", { zone })).toBe(7);
    expect(await value(world, "vigil_zone_tokens", { zone })).toBe(1);
    expect((await world.metrics.text()).includes("\u0000")).toBe(zoneLabel === "upstream");
  });

  test("show state, eviction rate, tokens, queue and halt", async () => {
    const world = ledgerWorld();
    const zone = {
      state: "PartialDisruption",
      taintsPerSecond: 0.01,
      tokens: 0.5,
      queueLength: 7,
      halted: true,
    } as const;
    world.receive("judged.zone", judgedZone(zone), null);
    expect(await value(world, "vigil_zone_state", { ...ZONE, state: "PartialDisruption" })).toBe(1);
    expect(await value(world, "vigil_zone_state", { ...ZONE, state: "Normal" })).toBe(0);
    expect(await value(world, "vigil_zone_taints_per_second", ZONE)).toBe(0.01);
    expect(await value(world, "vigil_zone_tokens", ZONE)).toBe(0.5);
    expect(await value(world, "vigil_zone_queue_length", ZONE)).toBe(7);
    expect(await value(world, "vigil_zone_halted", ZONE)).toBe(1);
  });
});

describe("evictions of nodes (R4.40)", () => {
  const tainted = async (why: BodyOf<"asked.taint">["why"], outcome: BodyOf<"done.write">["outcome"]) => {
    const world = ledgerWorld();
    world.receive("observed.node", observedNode("n-1"), null);
    world.receive("judged.node", judgedNode("n-1"), null);
    const ask = world.receive("asked.taint", askedTaint("n-1", { why }), null);
    world.receive("done.write", doneNode("asked.taint", "n-1", { outcome }), ask);
    return value(world, "node_collector_evictions_total", ZONE);
  };

  test("count granted taints, but no swaps or failed writes", async () => {
    expect(await tainted("granted", "ok")).toBe(1);
    expect(await tainted("swap", "ok")).toBe(0);
    expect(await tainted("granted", "refused")).toBe(0);
  });

  test("count a drained node in direct mode, once", async () => {
    const world = ledgerWorld({ profile: { evictionMode: "direct" } });
    world.receive("judged.node", judgedNode("n-1", { eviction: "toBeEvicted" }), null);
    world.receive("judged.node", judgedNode("n-1", { eviction: "evicted" }), null);
    world.receive("judged.node", judgedNode("n-1", { eviction: "evicted" }), null);
    expect(await value(world, "node_collector_evictions_total", ZONE)).toBe(1);
  });
});

describe("deletions of pods", () => {
  const deleted = (world: LedgerWorld, lateMs: number, mode: "taint" | "direct" = "taint") => {
    const ask = world.receive("asked.eviction", askedEviction({ deadlineAt: world.clock.wallMs(), mode }), null);
    world.clock.advance(lateMs);
    world.receive("done.write", donePod("asked.eviction"), ask);
  };

  test("L29: are timed in seconds from the deadline", async () => {
    const world = ledgerWorld();
    deleted(world, 1500);
    expect(await value(world, "taint_eviction_controller_pod_deletions_total")).toBe(1);
    const histogram = "taint_eviction_controller_pod_deletion_duration_seconds";
    expect(await value(world, `${histogram}_sum`)).toBe(1.5);
    expect(await value(world, `${histogram}_bucket`, { le: "1" })).toBe(0);
    expect(await value(world, `${histogram}_bucket`, { le: "2.5" })).toBe(1);
  });

  test("are counted once per pod", async () => {
    const world = ledgerWorld();
    deleted(world, 0);
    deleted(world, 0);
    expect(await value(world, "taint_eviction_controller_pod_deletions_total")).toBe(1);
  });

  test("of direct mode are not counted", async () => {
    const world = ledgerWorld({ profile: { evictionMode: "direct" } });
    deleted(world, 0, "direct");
    expect(await value(world, "taint_eviction_controller_pod_deletions_total")).toBe(0);
  });
});

describe("writes", () => {
  test("are counted by request and outcome, and timed when they end", async () => {
    const world = ledgerWorld();
    const ask = world.receive("asked.condition", askedCondition("n-1"), null);
    const throttled = { outcome: "throttled", retrying: true, latencyMs: 100 } as const;
    world.receive("done.write", doneNode("asked.condition", "n-1", throttled), ask);
    world.receive("done.write", doneNode("asked.condition", "n-1", { outcome: "refused", latencyMs: 300 }), ask);
    expect(await value(world, "vigil_writes_total", { ask: "asked.condition", outcome: "throttled" })).toBe(1);
    expect(await value(world, "vigil_writes_total", { outcome: "refused" })).toBe(1);
    expect(await value(world, "vigil_write_duration_seconds_sum")).toBeCloseTo(0.3);
    expect(await value(world, "node_collector_update_node_health_duration_seconds_count")).toBe(1);
  });
});

describe("the present state", () => {
  test("counts nodes by readiness through changes", async () => {
    const world = ledgerWorld();
    for (const name of ["n-1", "n-2", "n-3"]) {
      world.receive("observed.node", observedNode(name), null);
      world.receive("judged.node", judgedNode(name), null);
    }
    world.receive("judged.node", judgedNode("n-1", { readiness: "unknown" }), null);
    world.receive("observed.gone", { node: "n-2", uid: "uid-n-2" }, null);
    world.receive("observed.node", observedNode("n-3", { uid: "new" }), null);
    refreshed(world);
    expect(await value(world, "vigil_nodes", { readiness: "ready" })).toBe(0);
    expect(await value(world, "vigil_nodes", { readiness: "unknown" })).toBe(1);
    world.receive("judged.node", judgedNode("n-3", { uid: "new" }), null);
    refreshed(world);
    expect(await value(world, "vigil_nodes", { readiness: "ready" })).toBe(1);
  });

  test("does not count a node that is judged but not observed", async () => {
    const world = ledgerWorld();
    world.receive("judged.node", judgedNode("ghost"), null);
    refreshed(world);
    expect(await value(world, "vigil_nodes")).toBe(0);
  });

  test("counts pods until their deletion is done or cancelled", async () => {
    const world = ledgerWorld();
    const pending = () => value(refreshed(world), "vigil_pending_evictions");
    for (const name of ["a", "b", "c"]) world.receive("judged.pod", judgedPod({ name, uid: name }), null);
    expect(await pending()).toBe(3);
    world.receive("done.write", donePod("asked.eviction", { uid: "a" }), null);
    world.receive("judged.pod", judgedPod({ uid: "b", eviction: "none" }), null);
    world.receive("done.write", donePod("asked.eviction", { uid: "c", outcome: "denied" }), null);
    expect(await pending()).toBe(1);
    world.receive("done.write", donePod("asked.eviction", { uid: "c", outcome: "gone" }), null);
    expect(await pending()).toBe(0);
  });

  test("counts heartbeats and shows their ages without clock skew", async () => {
    const world = ledgerWorld();
    const skewMs = 3_600_000;
    const names = Array.from({ length: 10 }, (_, index) => `n-${index}`);
    world.clock.advance(100_000);
    world.clock.stepWall(skewMs);
    for (const [index, node] of names.entries()) {
      const seenAt = world.clock.wallMs() - index * 1000;
      const heartbeats = [{ node, kind: "lease" as const, renewedAt: null, seenAt }];
      // The second time it is republished, as after a resync.
      for (const _time of [1, 2]) world.receive("observed.lease", { shard: shardOf(node), heartbeats }, null);
    }
    world.clock.stepWall(-skewMs);
    refreshed(world);
    expect(await value(world, "vigil_heartbeats_total")).toBe(10);
    expect(await value(world, "vigil_heartbeat_age_seconds", { quantile: "0.5" })).toBe(6);
    expect(await value(world, "vigil_heartbeat_age_seconds", { quantile: "1" })).toBe(11);
  });
});

describe("watch health", () => {
  const sight = (world: LedgerWorld, watch: string) => value(world, "vigil_watch_synced_seconds", { watch });

  test("shows every shard as blind before the first pulse", async () => {
    const world = refreshed(ledgerWorld());
    expect(await value(world, "vigil_blind_shards")).toBe(64);
    expect(await value(world, "vigil_pulse_age_seconds")).toBe(-1);
    expect(await sight(world, "leases")).toBe(0);
  });

  test("shows synced while every shard has a fresh pulse of synced watches", async () => {
    const world = ledgerWorld();
    const watch = { synced: true, since: world.clock.wallMs() + 30_000 };
    // The first pulse that a ledger receives so late may have waited in its socket; the second shows that it did not.
    for (const pauseMs of [59_000, 1000]) {
      world.clock.advance(pauseMs);
      for (const shard of SHARDS) {
        world.receive("observed.pulse", pulse(shard, { watches: { nodes: watch, leases: watch, pods: watch } }), null);
      }
    }
    refreshed(world);
    expect(await value(world, "vigil_blind_shards")).toBe(0);
    expect(await value(world, "vigil_pulse_age_seconds")).toBe(2);
    expect(await sight(world, "leases")).toBe(32);
  });

  test("shows blind when a watch is not synced or pulses stop", async () => {
    const world = ledgerWorld();
    const open = { synced: true, since: 0 };
    for (const shard of SHARDS) {
      const watches = { nodes: open, pods: open, leases: { synced: false, since: null } };
      world.receive("observed.pulse", pulse(shard, { watches }), null);
    }
    refreshed(world);
    expect(await value(world, "vigil_blind_shards")).toBe(64);
    expect(await sight(world, "leases")).toBe(0);
    for (const shard of SHARDS) world.receive("observed.pulse", pulse(shard), null);
    refreshed(world);
    expect(await value(world, "vigil_blind_shards")).toBe(0);
    world.clock.advance(4000);
    expect(await value(world, "vigil_blind_shards")).toBe(64);
  });
});

describe("in a fleet", () => {
  const half: Fleet = {
    member: "m-0",
    owns: (_service, shard) => shard % 2 === 0,
    follow(_service, follower) {
      for (const shard of SHARDS) if (shard % 2 === 0) follower.gained(shard);
      return () => {};
    },
  };

  test("counters count the ledger's own shards, gauges show all", async () => {
    const world = ledgerWorld({ fleet: half });
    const names = Array.from({ length: 40 }, (_, index) => `n-${index}`);
    for (const node of names) {
      world.receive("observed.node", observedNode(node), null);
      world.receive("judged.node", judgedNode(node), null);
      world.receive("done.write", doneNode("asked.label", node), null);
      const heartbeats = [{ node, kind: "lease" as const, renewedAt: null, seenAt: 0 }];
      world.receive("observed.lease", { shard: shardOf(node), heartbeats }, null);
    }
    refreshed(world);
    const owned = names.filter((node) => shardOf(node) % 2 === 0).length;
    expect(owned).toBeGreaterThan(0);
    expect(owned).toBeLessThan(40);
    expect(await value(world, "vigil_writes_total")).toBe(owned);
    expect(await value(world, "vigil_heartbeats_total")).toBe(owned);
    expect(await value(world, "vigil_nodes", { readiness: "ready" })).toBe(40);
  });
});
