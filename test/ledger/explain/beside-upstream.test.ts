/** The ledger beside upstream: its Events and explanations leave upstream's work to upstream. */
import { describe, expect, test } from "vitest";
import { HandPolicies } from "../../support/hand-policies.ts";
import { observedNode } from "../../support/observed-objects.ts";
import {
  askedCondition,
  doneNode,
  judgedNode,
  type LedgerWorld,
  ledgerWorld,
  podSentences,
  seePulses,
  UNREACHABLE,
} from "../ledger-world.ts";

const START_AT = Date.UTC(2026, 0, 1);
const DOWN = { readiness: "unknown", ready: "Unknown", since: START_AT, eviction: "toBeEvicted" } as const;

function besideWorld(policies = new HandPolicies()): LedgerWorld {
  const world = ledgerWorld({ policies, profile: { upstream: "beside" } });
  seePulses(world);
  return world;
}

test("Events report Vigil's writes; upstream reports registrations and departures", () => {
  const world = besideWorld();
  world.receive("observed.node", observedNode("n-1"), null);
  world.receive("judged.node", judgedNode("n-1"), null);
  const asked = world.receive("asked.condition", askedCondition("n-1"), null);
  world.receive("done.write", doneNode("asked.condition", "n-1"), asked);
  world.receive("observed.gone", { node: "n-1", uid: "uid-n-1" }, null);
  expect(world.kube.events.map(({ reason }) => reason)).toEqual(["NodeNotReady"]);
});

test("a lost node and its pod wait for upstream's controllers", () => {
  const world = besideWorld();
  world.receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
  world.receive("judged.node", judgedNode("n-1", DOWN), null);
  const waits = "It waits for upstream's controllers, which taint it and evict its pods at their own rate.";
  expect(world.ledger.reader.explainNode("n-1")?.sentences).toContain(waits);
  expect(podSentences(world)).toContain(waits);
});

describe("a freeze", () => {
  /** Node n-1 is lost, and frozen with all nodes of its policy. */
  function frozenWorld(toAt: number | null): LedgerWorld {
    const policies = new HandPolicies();
    policies.put({ mode: "Freeze" }, [{ fromAt: START_AT, toAt }]);
    const world = besideWorld(policies);
    world.receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
    world.receive("judged.node", judgedNode("n-1", { ...DOWN, policy: "pool" }), null);
    return world;
  }
  const goesOn = (until: string, node: string, pods: string) =>
    `until ${until} no remediation of ${node} begins, but upstream's controllers taint ${node} and evict ${pods} pods all the same.`;

  test.each([
    [null, "a user thaws"],
    [START_AT + 60_000, "2026-01-01T00:01:00Z"],
  ])("until %j holds nothing back that upstream does", (toAt, until) => {
    const { reader } = frozenWorld(toAt).ledger;
    const [thawedNode, thawedNodes] = toAt === null ? [`${until} it`, `${until} them`] : [until, until];
    const ofNode = reader.explainNode("n-1")?.sentences ?? [];
    expect(ofNode.find((text) => text.includes("frozen"))).toContain(goesOn(thawedNode, "it", "its"));
    expect(ofNode.at(-1)).toMatch(/^It waits for upstream's controllers/);
    const ofPolicy = reader.explainPolicy("pool")?.sentences ?? [];
    expect(ofPolicy.find((text) => text.includes("frozen"))).toContain(goesOn(thawedNodes, "them", "their"));
  });

  test("neither keeps a node from being evicted nor moves the deadline of a pod", () => {
    const world = frozenWorld(null);
    expect(world.ledger.reader.nodes()[0]?.isFrozen).toBeUndefined();
    const taints = [{ ...UNREACHABLE, timeAdded: "2026-01-01T00:00:00Z" }];
    world.receive("observed.node", observedNode("n-1", { ready: "Unknown", taints }), null);
    expect(podSentences(world)[0]).toMatch(/^Pod default\/web has to leave at once because of /);
  });
});

test("limits of a policy are not said to hold back what upstream does", () => {
  const policies = new HandPolicies({ maxUnhealthy: "20%" });
  expect(besideWorld(policies).ledger.reader.explainPolicy("pool")?.sentences).toContain(
    "No process counts its limits beside upstream: they block every remediation, and nothing that upstream's controllers do.",
  );
});

test("evictions of a policy are said to have no effect", () => {
  const policies = new HandPolicies({ evictions: { method: "Evict", maxPerMinute: 3 } });
  expect(besideWorld(policies).ledger.reader.explainPolicy("pool")?.sentences).toContain(
    "Its evictions have no effect beside upstream: upstream's controllers delete the pods, at their own rate and past every disruption budget.",
  );
});
