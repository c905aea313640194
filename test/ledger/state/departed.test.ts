/** Nodes and zones that are gone, where the message of it came late or never. */
import { describe, expect, test } from "vitest";
import { digestWith, EMPTY_DIGEST, nodeVersion } from "../../../protocols/digest.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import { shardOf } from "../../../protocols/subjects.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { metricValue } from "../../support/metric-value.ts";
import { observedNode } from "../../support/observed-objects.ts";
import { judgedNode, judgedZone, type LedgerWorld, ledgerWorld, pulse, SHARDS } from "../ledger-world.ts";

const SWEEP_MS = 60_000;
const PULSE_MS = 1000;
const ZONE = { zone: "a" };

/** Two pulses of an observer without nodes, because the first late pulse may have waited. */
function seeNone(world: LedgerWorld): void {
  pulsedTwice(world, (shard) => pulse(shard));
}

/** Two pulses of an observer with this node alone. */
function seeOne(world: LedgerWorld, node: string): void {
  const nodes = digestWith(EMPTY_DIGEST, node, nodeVersion({ uid: `uid-${node}`, resourceVersion: "1" }));
  pulsedTwice(world, (shard) => pulse(shard, shard === shardOf(node) ? { nodes } : {}));
}

function pulsedTwice({ receive, clock }: LedgerWorld, pulseOf: (shard: number) => BodyOf<"observed.pulse">): void {
  for (const shard of SHARDS) receive("observed.pulse", pulseOf(shard), "ask");
  clock.advance(PULSE_MS);
  for (const shard of SHARDS) receive("observed.pulse", pulseOf(shard), "ask");
}

describe("a node judged after its deletion", () => {
  const LATE = judgedNode("n-1", { readiness: "unknown", ready: "Unknown", heartbeatAt: 0 });

  function departed(): LedgerWorld {
    const world = ledgerWorld();
    world.receive("observed.node", observedNode("n-1"), null);
    world.receive("judged.node", judgedNode("n-1"), null);
    world.receive("observed.gone", { node: "n-1", uid: "uid-n-1" }, null);
    world.receive("judged.node", LATE, null);
    return world;
  }

  test("no longer exists once every node is known", () => {
    const world = departed();
    seeNone(world);
    expect(world.ledger.reader.explainNode("n-1")?.sentences).toEqual(["Node n-1 no longer exists."]);
  });

  test("is explained as judged while its shard is blind", () => {
    expect(departed().ledger.reader.explainNode("n-1")?.sentences[0]).toMatch(/^Node n-1 has been unknown since /);
  });

  test("has no judgement when it is observed again", () => {
    const world = departed();
    world.clock.advance(SWEEP_MS - PULSE_MS - 1);
    seeNone(world);
    world.clock.advance(1);
    world.receive("observed.node", observedNode("n-1"), null);
    expect(world.ledger.reader.overview().nodes).toEqual({ starting: 0, ready: 0, notReady: 0, unknown: 0 });
  });

  test("needs no resync for its drain, in direct mode", () => {
    const world = ledgerWorld({ profile: { evictionMode: "direct" } });
    const { io, transport, receive, clock } = world;
    const bus = typedBus({
      ...io,
      transport,
      cluster: "test",
      service: "node",
      member: "m-1",
      mailboxMessagesMax: 100,
    });
    const asked: string[] = [];
    receive("observed.node", observedNode("n-1"), null);
    receive("observed.gone", { node: "n-1", uid: "uid-n-1" }, null);
    receive("judged.node", { ...LATE, eviction: "toBeEvicted" }, null);
    clock.advance(SWEEP_MS - PULSE_MS - 1);
    seeNone(world);
    clock.advance(1);
    bus.subscribe("asked.resync", "all", ({ body }) => asked.push(body.reason));
    for (let pulses = 0; pulses < 70; pulses++) seeNone(world);
    expect(asked).toEqual([]);
  });
});

test("a heartbeat after the deletion of its node does not age forever", async () => {
  const world = ledgerWorld();
  const { receive, clock } = world;
  receive("observed.node", observedNode("n-1"), null);
  receive("observed.gone", { node: "n-1", uid: "uid-n-1" }, null);
  const beaten = clock.wallMs();
  const heartbeat = { node: "n-1", kind: "lease", renewedAt: beaten, seenAt: beaten } as const;
  receive("observed.lease", { shard: shardOf("n-1"), heartbeats: [heartbeat] }, null);
  clock.advance(SWEEP_MS - PULSE_MS - 1);
  seeNone(world);
  clock.advance(SWEEP_MS);
  expect(await metricValue(world.metrics, "vigil_heartbeat_age_seconds", { quantile: "1" })).toBe(0);
});

describe("a vanished zone", () => {
  const DOWN: Partial<BodyOf<"judged.zone">> = { state: "FullDisruption", notReady: 10, queueLength: 3, halted: true };

  function abandoned(): LedgerWorld {
    const world = ledgerWorld();
    world.receive("observed.node", observedNode("n-1"), null);
    world.receive("judged.node", judgedNode("n-1"), null);
    world.receive("judged.zone", judgedZone(DOWN), null);
    return world;
  }

  /** Time passes, and then every shard is synced. */
  function sweep(world: LedgerWorld, see: (world: LedgerWorld) => void): LedgerWorld {
    world.clock.advance(SWEEP_MS - PULSE_MS - 1);
    see(world);
    world.clock.advance(1);
    return world;
  }

  test("is not shown, and no gauge shows it as disrupted", async () => {
    const world = abandoned();
    world.receive("observed.gone", { node: "n-1", uid: "uid-n-1" }, null);
    sweep(world, seeNone);
    expect(world.ledger.reader.overview().zones).toEqual([]);
    expect(world.ledger.reader.timeline().zones).toEqual([]);
    const value = (name: string, labels = {}) => metricValue(world.metrics, name, { ...ZONE, ...labels });
    expect(await value("vigil_zone_state", { state: "FullDisruption" })).toBe(0);
    expect(await value("vigil_zone_halted")).toBe(0);
    expect(await value("vigil_zone_queue_length")).toBe(0);
    expect(await value("node_collector_zone_size")).toBe(0);
    expect(await value("node_collector_zone_health")).toBe(100);
    expect(await value("node_collector_unhealthy_nodes_in_zone")).toBe(0);
  });

  test("is shown as last published while a shard is blind", () => {
    const world = abandoned();
    world.receive("observed.gone", { node: "n-1", uid: "uid-n-1" }, null);
    sweep(world, ({ receive }) => receive("observed.pulse", pulse(0), "ask"));
    expect(world.ledger.reader.overview().zones).toHaveLength(1);
  });

  test("is shown as long as it has a node", () => {
    const world = sweep(abandoned(), (world) => seeOne(world, "n-1"));
    expect(world.ledger.reader.overview().zones).toHaveLength(1);
  });

  const labelOf = (index: number): string => `zone-${index}.`;
  const keyOf = (index: number): string => `:\u0000:${labelOf(index)}`;

  /** A ledger that received this many zones one after the other, each with a node that was soon deleted. */
  function afterMany(zones: number): LedgerWorld {
    const world = ledgerWorld();
    for (let index = 0; index < zones; index++) {
      const [node, zone] = [`n-${index}`, keyOf(index)];
      world.receive("observed.node", observedNode(node), null);
      world.receive("judged.node", judgedNode(node, { zone }), null);
      world.receive("judged.zone", judgedZone({ zone }), null);
      world.receive("observed.gone", { node, uid: `uid-${node}` }, null);
    }
    return sweep(world, seeNone);
  }

  test("stays on the metrics page as empty, as upstream has it", async () => {
    const page = await afterMany(100).metrics.text();
    expect(page).toContain(`node_collector_zone_health{zone="${labelOf(0)}"} 100`);
    expect(page).toContain(`node_collector_evictions_total{zone="${labelOf(0)}"} 0`);
  });

  test("is dropped there after a hundred others", async () => {
    const page = await afterMany(1000).metrics.text();
    const isThere = [0, 899, 900, 999].map((index) => page.includes(labelOf(index)));
    expect(isThere).toEqual([false, false, true, true]);
  });

  test("is shown again when it comes back", async () => {
    const world = afterMany(1000);
    world.receive("judged.zone", judgedZone({ zone: keyOf(0), size: 4, notReady: 1 }), null);
    expect(await metricValue(world.metrics, "node_collector_zone_health", { zone: labelOf(0) })).toBe(75);
    expect(await world.metrics.text()).toContain(`node_collector_evictions_total{zone="${labelOf(0)}"} 0`);
  });

  test("is kept from then on, however many others vanish", async () => {
    const world = afterMany(100);
    world.receive("observed.node", observedNode("n-0"), null);
    world.receive("judged.node", judgedNode("n-0", { zone: keyOf(0) }), null);
    world.receive("judged.zone", judgedZone({ zone: keyOf(0), size: 4, notReady: 1 }), null);
    for (let index = 100; index < 300; index++) world.receive("judged.zone", judgedZone({ zone: keyOf(index) }), null);
    sweep(world, (around) => seeOne(around, "n-0"));
    expect(await metricValue(world.metrics, "node_collector_zone_health", { zone: labelOf(0) })).toBe(75);
    expect(await metricValue(world.metrics, "node_collector_zone_health", { zone: labelOf(100) })).toBe(0);
  });
});

test("an older state of a node by a second observer changes nothing", () => {
  const world = ledgerWorld();
  const older = { ...observedNode("n-1"), resourceVersion: "9", taints: [{ key: "old", effect: "NoExecute" }] };
  world.receive("observed.node", { ...observedNode("n-1"), resourceVersion: "10" }, null);
  world.receive("observed.pulse", pulse(shardOf("n-1")), "ask");
  const resumed = typedBus({
    transport: world.transport,
    clock: world.clock,
    cluster: "test",
    service: "observer",
    member: "resumed",
    log: silentLog,
    metrics: world.metrics,
    mailboxMessagesMax: 100,
  });
  resumed.publish("observed.node", older, null);
  world.clock.advance(0);
  const explained = () => world.ledger.reader.explainNode("n-1")?.sentences.join(" ");
  expect(explained()).not.toContain("old");
  world.receive("observed.node", older, null);
  expect(explained()).toContain("old");
});
