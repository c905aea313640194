/** Scenarios of the annotation that dates NoExecute taints without `timeAdded`: lost, left over, or from two clocks. */
import { expect, test } from "vitest";
import type { Io, Service } from "../../protocols/ports.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { taintManagerService } from "../../services/taint-manager/taint-manager.service.ts";
import { EVICTING, EvictionWorld } from "../support/eviction-world.ts";
import { HandFleet } from "../support/hand-fleet.ts";

const S = 1000;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };
const TOLERATION_MS = 60 * S;
const TAINTS_SEEN = "vigil.v1/taints-seen";

/** Three nodes. The pod on the first tolerates maintenance for a minute. */
function cluster(): EvictionWorld {
  const world = new EvictionWorld({ pulsePeriodMs: 1000, pulseTimeoutMs: 4000 });
  world.addZone("a", 3);
  const minute = { key: "maintenance", operator: "Exists", effect: "NoExecute", tolerationSeconds: 60 };
  world.addTolerantPod("a-0", "pod", [minute]);
  return world;
}

const taintsSeenOn = (world: EvictionWorld) => {
  const annotations = world.read({ kind: "Node", namespace: "", name: "a-0" })?.metadata.annotations;
  return (annotations as Record<string, string> | undefined)?.[TAINTS_SEEN];
};

test("a taint set again before its old annotation is removed counts from then", () => {
  const world = cluster();
  world.run();
  world.advance(10 * S);
  world.taint("a-0", [MAINTENANCE]);
  world.advance(55 * S);
  world.api.faults.add({
    fault: { kind: "latency", requestMs: 50 },
    when: ({ body }) => body?.includes(TAINTS_SEEN) === true,
  });
  world.taint("a-0", []);
  world.taint("a-0", [MAINTENANCE]);
  const againMs = world.clock.monotonicMs();
  world.advance(200 * S);
  expect(world.deletedAt("pod")).toBeGreaterThanOrEqual(againMs + TOLERATION_MS);
  expect(world.deletedAt("pod")).toBeLessThan(againMs + TOLERATION_MS + 5 * S);
});

test("an annotation is removed although the first request for it was lost", () => {
  const world = cluster();
  const { "node-writer": nodeWriter, ...rest } = EVICTING;
  const writers = { "node-writer": nodeWriter as Service };
  world.start(rest, { member: "rest" });
  const writer = world.start(writers, { member: "writer" });
  world.advance(10 * S);
  world.taint("a-0", [MAINTENANCE]);
  world.advance(5 * S);
  expect(taintsSeenOn(world)).toContain("maintenance:NoExecute");
  writer.kill();
  world.taint("a-0", []);
  world.advance(3 * S);
  world.start(writers, { member: "writer-again" });
  world.advance(3600 * S);
  expect(taintsSeenOn(world)).toBeUndefined();
  const againMs = world.clock.monotonicMs();
  world.taint("a-0", [MAINTENANCE]);
  world.advance(200 * S);
  expect(world.deletedAt("pod")).toBeGreaterThanOrEqual(againMs + TOLERATION_MS);
});

/** The taint-manager with a wall clock this far ahead. */
const ahead =
  (aheadMs: number): Service =>
  (io: Io) =>
    taintManagerService({ ...io, clock: { ...clockOf(io), wallMs: () => io.clock.wallMs() + aheadMs } });
const clockOf = ({ clock }: Io) => ({
  monotonicMs: () => clock.monotonicMs(),
  after: (...args: Parameters<typeof clock.after>) => clock.after(...args),
  soon: (run: () => void) => clock.soon(run),
});

test.each([
  [0, 100],
  [100, 0],
])("a shard that moves as its node is tainted evicts, with clocks %i and %i ms ahead", (one, two) => {
  const world = cluster();
  const { "taint-manager": _taintManager, ...rest } = EVICTING;
  world.start(rest, { member: "rest" });
  const owners = [one, two].map((aheadMs, index) => {
    const fleet = new HandFleet(`owner-${index}`);
    world.start({ "taint-manager": ahead(aheadMs) }, { member: fleet.member, fleet });
    fleet.set("taint-manager", shardOf("a-0"), true);
    return { fleet, aheadMs };
  });
  world.advance(10 * S);
  world.taint("a-0", [MAINTENANCE]);
  world.advance(1 * S);
  owners.find(({ aheadMs }) => aheadMs === 100)?.fleet.set("taint-manager", shardOf("a-0"), false);
  world.advance(120 * S);
  expect(world.deletedAt("pod")).toBeGreaterThanOrEqual(10 * S + TOLERATION_MS);
});
