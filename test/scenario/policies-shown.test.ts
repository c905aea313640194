/** What the tables say about policies with limits, all services running. */
import { expect, test } from "vitest";
import type { NodePolicySpec } from "../../protocols/node-policy.ts";
import { ZONES } from "../../services/cli/get/get-tables.ts";
import { ExplainedWorld } from "../support/explained-world.ts";

const S = 1000;
const ZONE_A = { matchLabels: { "topology.kubernetes.io/zone": "a" } };

/** Ten nodes in two zones; of zone a, which has the policy, these fall silent. */
function worldOf(spec: Omit<NodePolicySpec, "selector">, silent: readonly string[]): ExplainedWorld {
  const world = new ExplainedWorld([{ name: "gpu", spec: { selector: ZONE_A, ...spec } }]);
  world.addZone("a", 6);
  world.addZone("b", 4);
  world.run();
  world.advance(60 * S);
  world.silence(silent);
  world.advance(120 * S);
  return world;
}

/** The QUEUE cell of each zone by its title. */
function queues(world: ExplainedWorld): Record<string, string | undefined> {
  const { zones } = world.reader.overview();
  const queue = ZONES.heading.indexOf("QUEUE");
  return Object.fromEntries(zones.map((zone) => [zone.title, ZONES.cells(zone, 0)[queue]]));
}

test("the zone names the limit that holds its nodes back, and the others name none", () => {
  const world = worldOf({ maxUnhealthy: 1 }, ["a-0", "a-1"]);
  expect(queues(world)).toEqual({ "r/a": "2 (2 held back by maxUnhealthy of gpu)", "r/b": "0" });
  expect(world.reader.explainPolicy("gpu")?.sentences).toEqual([
    "NodePolicy gpu selects nodes by topology.kubernetes.io/zone=a.",
    "It applies to 6 nodes: a-0, a-1, a-2, a-3, a-4 and a-5.",
    "2 nodes are unhealthy: a-0 and a-1.",
    "It sets maxUnhealthy 1.",
    expect.stringMatching(/^Blocked by maxUnhealthy: 2 nodes \(.*\)\.$/),
  ]);
  expect(world.reader.explainZone("a")?.sentences).toContain("Blocked: 2 nodes by maxUnhealthy of NodePolicy gpu.");
});

test("a domain of a policy names the limit, not its zone", () => {
  const world = worldOf({ maxUnhealthy: 0, nodeEvictionRate: 1 }, ["a-0"]);
  expect(queues(world)).toMatchObject({ "r/a@gpu": "1 (1 held back by maxUnhealthy of gpu)", "r/b": "0" });
});

test("a budget shows what it leaves", () => {
  const world = worldOf({ budgets: [{ nodes: 1 }] }, ["a-0", "a-1"]);
  expect(world.reader.policies()).toMatchObject([
    { name: "gpu", nodes: 6, unhealthy: 2, budget: { nodes: 1, left: 0 } },
  ]);
  expect(queues(world)["r/a"]).toBe("1 (1 held back by budgets of gpu)");
  expect(world.reader.nodes().filter(({ policy }) => policy === "gpu")).toHaveLength(6);
});

test("nodes that wait in the queue without a limit are held back by nothing", () => {
  const world = worldOf({}, ["a-0", "a-1"]);
  expect(world.reader.overview().zones.map(({ heldBack }) => heldBack)).toEqual([undefined, undefined]);
});
