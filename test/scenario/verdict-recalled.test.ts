/**
 * Scenarios on virtual time: a verdict could not be written yet when its node gets a full grace again. The verdict ends
 * then, although no heartbeat refutes it.
 */
import { expect, test } from "vitest";
import type { Stop } from "../../protocols/ports.ts";
import { EVICTING, EvictionWorld } from "../support/eviction-world.ts";
import type { Services, VirtualProcess } from "../support/virtual-cluster.ts";

const S = 1000;
const GRACE_MS = 50 * S;
const { "node-writer": nodeWriter, ...JUDGING } = EVICTING;
const WRITING: Services = nodeWriter === undefined ? {} : { "node-writer": nodeWriter };

/** Two processes, in which the status of node `x` cannot be written until the fault is mended. */
interface Fixture {
  readonly world: EvictionWorld;
  /** The process of the node-writer; the other one has every other service. */
  readonly writer: VirtualProcess;
  readonly mend: Stop;
}

function unwritable(): Fixture {
  const world = new EvictionWorld();
  world.addZone("a", 2);
  world.register("x", { "node.kubernetes.io/exclude-disruption": "" });
  const mend = world.api.faults.add({
    fault: { kind: "status", code: 429 },
    when: ({ verb, name, subresource }) => verb === "patch" && name === "x" && subresource === "status",
  });
  world.start(JUDGING, { member: "judge" });
  const writer = world.start(WRITING, { member: "writer" });
  world.advance(30 * S);
  return { world, writer, mend };
}

/** The same, after every zone went down: the excluded node is as silent as the others. */
function halted(): Fixture {
  const fixture = unwritable();
  const { world } = fixture;
  world.silence(["a-0", "a-1", "x"]);
  world.advance(60 * S);
  expect(isHalted(world)).toBe(true);
  expect(lastWrite(world)).toMatchObject({ ask: "asked.condition", retrying: true });
  return fixture;
}

const isHalted = (world: EvictionWorld) =>
  world.published("judged.zone").findLast(({ body }) => body.size > 0)?.body.halted;
const lastWrite = (world: EvictionWorld) =>
  world.published("done.write").findLast(({ body }) => body.node === "x")?.body;
const advanceTo = (world: EvictionWorld, ms: number) => world.advance(ms - world.clock.monotonicMs());

test.each([
  ["published at once", 0],
  ["published again after its first message was lost", 3 * S],
])("a verdict not yet written when a halt ends waits a whole grace, %s (R6.17)", (_how, cutMs) => {
  const { world, writer, mend } = halted();
  const restore = cutMs === 0 ? null : writer.cutBus();
  world.revive(["a-0", "a-1"]);
  const backMs = world.clock.monotonicMs();
  world.advance(cutMs + S);
  restore?.();
  world.advance(5 * S);
  expect(isHalted(world)).toBe(false);
  mend();
  advanceTo(world, backMs + GRACE_MS - S);
  expect(world.conditions("x")).toContain("Ready=True");
  advanceTo(world, backMs + GRACE_MS + 2 * S);
  expect(world.conditions("x")).toContain("Ready=Unknown");
});

test("a verdict not yet written when Vigil syncs again waits a full grace after that", () => {
  const { world, mend } = unwritable();
  world.silence(["x"]);
  world.advance(60 * S);
  expect(lastWrite(world)).toMatchObject({ ask: "asked.condition", retrying: true });
  const heal = world.api.faults.add({
    fault: { kind: "status", code: 500 },
    when: ({ verb, resource }) => verb !== "get" && resource?.storage === "leases" && verb !== "update",
  });
  world.api.faults.cutWatches({ storage: "leases" });
  world.advance(40 * S);
  heal();
  world.advance(20 * S);
  mend();
  world.advance(20 * S);
  expect(world.conditions("x")).toContain("Ready=True");
  world.advance(20 * S);
  expect(world.conditions("x")).toContain("Ready=Unknown");
});

test("a verdict still reading the lease when its node gets a new grace is not written", () => {
  const world = new EvictionWorld();
  world.addZone("a", 2);
  world.register("x", { "node.kubernetes.io/exclude-disruption": "" });
  world.api.faults.add({
    fault: { kind: "latency", requestMs: 8 * S },
    when: ({ verb, name, resource }) => verb === "get" && name === "x" && resource?.storage === "leases",
  });
  world.start(JUDGING, { member: "judge" });
  world.start(WRITING, { member: "writer" });
  world.advance(30 * S);
  world.silence(["a-0", "a-1"]);
  world.advance(5 * S);
  world.silence(["x"]);
  world.advance(50 * S);
  expect(world.published("asked.condition").at(-1)?.body).toMatchObject({ node: "x" });
  world.revive(["a-0", "a-1"]);
  world.advance(20 * S);
  expect(world.conditions("x")).toContain("Ready=True");
});
