/** Thousands of new nodes come with not-ready:NoSchedule; taking it off must not delay a verdict about another node. */
import { expect, test } from "vitest";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
const NODES = 120;
const NOT_READY = "node.kubernetes.io/not-ready";
const SILENT = `a-${NODES - 1}`;
const RECOVERED = `a-${NODES - 2}`;

/**
 * A server that answers one request at once, in 100 ms. One node has been silent for 39 of its 50 s when all others get
 * the startup taint, whose removal needs 12 s; one of them carries a NoExecute taint.
 */
function manyStartupTaints(): EvictionWorld {
  const world = new EvictionWorld({ writesInFlightMax: 1 });
  world.addZone("a", NODES);
  world.run();
  world.advance(10 * S);
  world.silence([SILENT]);
  world.advance(39 * S);
  // What Vigil sends names a version, what the test sends does not.
  world.api.faults.add({
    fault: { kind: "latency", answerMs: 100 },
    when: ({ resource, body }) => resource.plural === "leases" || body?.includes("resourceVersion") === true,
  });
  for (let node = 0; node < NODES - 2; node++) world.taint(`a-${node}`, [{ key: NOT_READY, effect: "NoSchedule" }]);
  world.taint(RECOVERED, [{ key: NOT_READY, effect: "NoExecute" }]);
  return world;
}

test("taking startup taints off many nodes delays no verdict by half a second", () => {
  const world = manyStartupTaints();
  let writtenMs = Number.NaN;
  world.api.faults.add({
    fault: { kind: "stall" },
    when: ({ verb, name, subresource }) => {
      if (verb === "patch" && name === SILENT && subresource === "status") writtenMs = world.clock.monotonicMs();
      return false;
    },
  });
  world.advance(30 * S);
  const [requested] = world.published("asked.condition");
  expect(writtenMs - (requested?.atMs ?? Number.NaN)).toBeLessThan(500);
  const done = world.published("done.write").filter(({ atMs }) => atMs > 40 * S);
  const healed = done.filter(({ body }) => body.change === `taints: -${NOT_READY}:NoSchedule`);
  expect(new Set(healed.map(({ body }) => body.node)).size).toBe(NODES - 2);
});

test("a NoExecute taint goes from a ready node before startup taints do", () => {
  const world = manyStartupTaints();
  world.advance(500);
  expect(world.node(RECOVERED).spec.taints ?? []).toEqual([]);
});
