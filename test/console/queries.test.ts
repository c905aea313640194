/** Answers to queries over NATS, without a connection: documents for people, and problems in one line. */
import { expect, test } from "vitest";
import { QUERIES, type QueryName } from "../../protocols/queries.ts";
import { answerQuery, selectedNodes } from "../../services/console/query.routes.ts";
import { nodePolicyOf } from "../../services/domain/node-policy.parse.ts";
import { policySet } from "../../services/domain/node-policy.ts";
import { fixedPolicies } from "../../services/platform/node-policies/policy-receiver.ts";
import {
  judgedNode,
  judgedPod,
  judgedZone,
  type LedgerWorld,
  ledgerWorld,
  UNREACHABLE,
} from "../ledger/ledger-world.ts";
import { HandPolicies } from "../support/hand-policies.ts";
import { observedNode } from "../support/observed-objects.ts";

const ZONE = "eu:\u0000:a";

function worldOf(...nodes: readonly string[]): LedgerWorld {
  const world = ledgerWorld();
  for (const name of nodes) {
    world.receive("observed.node", observedNode(name), null);
    world.receive(
      "judged.node",
      judgedNode(name, { readiness: "unknown", zone: ZONE, since: 0, heartbeatAt: 1.5 }),
      null,
    );
  }
  return world;
}
const ask = (query: QueryName, payload: string, world: LedgerWorld) => answerQuery(query, payload, world.ledger.reader);

test("nodes are answered with readable instants, and their zone's name beside its key", () => {
  expect(ask("nodes", "", worldOf("n-1"))).toMatchObject({
    document: {
      total: 1,
      nodes: [
        {
          name: "n-1",
          since: "1970-01-01T00:00:00.000Z",
          heartbeatAt: "1970-01-01T00:00:00.001Z",
          zone: "eu/a",
          zoneKey: ZONE,
        },
      ],
    },
  });
});

test("every answer is as docs/asyncapi.yaml says, without further fields", () => {
  const world = worldOf("n-1");
  world.receive("observed.node", observedNode("n-1", { taints: [UNREACHABLE] }), null);
  world.receive("judged.zone", judgedZone({ zone: ZONE, size: 1 }), null);
  world.receive("judged.pod", judgedPod({ node: "n-1", eviction: "pending", deadlineAt: 9e12 }), null);
  for (const [query, payload] of Object.entries({
    zones: "",
    nodes: "",
    policies: "",
    pods: "",
    explain: '{"node":"n-1"}',
  })) {
    const answer = ask(query as QueryName, payload, world);
    const document = "document" in answer ? answer.document : answer;
    expect(QUERIES[query as QueryName].answer.parse(document)).toEqual(document);
    expect(Object.values(document).flat()).not.toEqual([]);
  }
});

test("so are answers about policies, freezes and limits", () => {
  const alice = { name: "alice", reason: "switch", sinceAt: 0, untilAt: null };
  const everywhere = { pauseRequests: [alice], frozen: [{ fromAt: 0, toAt: null }] };
  const gpu = nodePolicyOf("gpu", { selector: {}, circuitBreaker: { maxNodes: 1, duration: "1m" } });
  const world = ledgerWorld({ policies: fixedPolicies(policySet([gpu], everywhere)) });
  const judged = { readiness: "unknown", eviction: "toBeEvicted", zone: ZONE, policy: "gpu" } as const;
  world.receive("observed.node", observedNode("n-1", { taints: [UNREACHABLE] }), null);
  world.receive("judged.node", judgedNode("n-1", judged), null);
  world.receive("judged.zone", judgedZone({ zone: ZONE, size: 1 }), null);
  const held = { field: "ConfigMap vigil-freeze: pauseRequests", untilAt: null, remainingMs: 1000 };
  world.receive("judged.pod", judgedPod({ node: "n-1", deadlineAt: null, held }), null);
  const hold = { policy: "gpu", field: "budgets", untilAt: 0, detail: "1 of 1", nodes: 1 };
  const memory = { trippedAt: 0, resetAt: 1, isStorm: true, stormEndedAt: null, condemnations: [] };
  const counts = { selected: 1, unhealthy: 1, condemned: 1, inWindow: 1, budget: 1 };
  world.receive("judged.limits", { policy: "gpu", ...counts, permits: [], holds: [hold], memory }, null);
  for (const query of ["zones", "nodes", "policies", "pods"] as const) {
    const answer = ask(query, "", world);
    const document = "document" in answer ? answer.document : answer;
    expect(QUERIES[query].answer.parse(document)).toEqual(document);
    expect(JSON.stringify(document)).toMatch(/"(?:heldBack|isFrozen|causes|remainingMs)":/);
  }
});

test.each([
  ['{"names":["n-2"]}', ["n-2"], 1],
  ['{"limit":2}', ["n-1", "n-2"], 3],
  ['{"zone":"a"}', ["n-1", "n-2", "n-3"], 3],
  ['{"zone":"b"}', [], 0],
  ['{"policy":"gpu"}', [], 0],
  ['{"readiness":"ready"}', [], 0],
])("nodes are selected by %s", (payload, names, total) => {
  expect(ask("nodes", payload, worldOf("n-3", "n-1", "n-2"))).toMatchObject({
    document: { total, nodes: names.map((name) => ({ name })) },
  });
});

test.each([
  ["eu/a", ["gpu-1", "n-1"]],
  ["a", ["gpu-1", "n-1"]],
  ["eu/a@gpu", ["gpu-1"]],
  ["eu/b", []],
])("nodes of zone %s are those of policies with rates too", (zone, names) => {
  const world = worldOf();
  for (const [name, key] of [
    ["n-1", ZONE],
    ["gpu-1", `${ZONE}\u0000@gpu`],
  ] as const) {
    world.receive("observed.node", observedNode(name), null);
    world.receive("judged.node", judgedNode(name, { zone: key }), null);
  }
  expect(selectedNodes(world.ledger.reader, { zone }).map(({ name }) => name)).toEqual(names);
});

test("zones are answered with their rate as it was set", () => {
  const world = ledgerWorld();
  world.receive("judged.zone", judgedZone({ zone: ZONE, taintsPerSecond: Math.fround(0.1), size: 3 }), null);
  expect(ask("zones", " ", world)).toMatchObject({
    document: { zones: [{ zone: "eu/a", zoneKey: ZONE, taintsPerSecond: 0.1 }] },
  });
});

test("pods are answered with their number, also beyond the limit", () => {
  expect(ask("pods", '{"limit":0}', worldOf())).toMatchObject({ document: { total: 0, pods: [] } });
});

test("a node is explained, with the instants of its history in ISO 8601", () => {
  const world = worldOf("n-1");
  world.receive("judged.node", judgedNode("n-1", { readiness: "unknown", since: 1 }), null);
  expect(ask("explain", '{"node":"n-1"}', world)).toMatchObject({
    document: {
      sentences: expect.arrayContaining([expect.stringContaining("n-1")]),
      timeline: [{ at: "1970-01-01T00:00:00.000Z" }],
    },
  });
});

test("a policy is explained once the policies are known", () => {
  const policies = new HandPolicies({ maxUnhealthy: 1 });
  const world = ledgerWorld({ policies });
  expect(ask("explain", '{"policy":"pool"}', world)).toMatchObject({
    document: { sentences: expect.arrayContaining([expect.stringContaining("It sets maxUnhealthy 1.")]) },
  });
  policies.forget();
  expect(ask("explain", '{"policy":"pool"}', world)).toMatchObject({ code: 503 });
});

test.each([
  ["nodes", "{", 400, "nodes: the payload is not JSON; leave it empty for all"],
  ["nodes", '{"limit":-1}', 400, /^nodes\.limit: /],
  ["zones", '{"zone":"a"}', 400, /^zones: Unrecognized key: "zone"/],
  ["explain", "", 400, 'name one subject, as in {"node":"worker-7"}'],
  ["explain", '{"node":"a","zone":"b"}', 400, /^name one subject/],
  ["explain", '{"policy":"gpu"}', 404, /^policy gpu: no node policy of this name is in force; /],
  ["explain", '{"pod":"cart-0"}', 400, "explain.pod: must be namespace/name"],
  ["explain", '{"node":"n-9"}', 404, "n-9: not found in the cluster or in the history; check the name"],
] as const)("%s with %s is refused with one line", (query, payload, code, problem) => {
  const answer = ask(query, payload, worldOf("n-1"));
  expect(answer).toEqual({ code, problem: typeof problem === "string" ? problem : expect.stringMatching(problem) });
});

test.each([
  ["a", "zone a: several zones have this name: eu/a and us/a"],
  ["x", "zone x: not found; the zones are eu/a and us/a"],
])("the zone %s, which is not one zone, is answered with the zones", (zone, problem) => {
  const world = ledgerWorld();
  for (const region of ["eu", "us"]) world.receive("judged.zone", judgedZone({ zone: `${region}:\u0000:a` }), null);
  expect(ask("explain", JSON.stringify({ zone }), world)).toEqual({ code: 404, problem });
});
