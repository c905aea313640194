/** The console's answers about nodes and evictions, without a socket. */
import { expect, test } from "vitest";
import { answerTo } from "../../services/console/console.routes.ts";
import { judgedNode, type LedgerWorld, ledgerWorld, pulse, SHARDS } from "../ledger/ledger-world.ts";
import { observedNode } from "../support/observed-objects.ts";

const ABOUT = { cluster: "test", member: "m-0", services: ["ledger"], shadow: false, beside: false, version: "0.0.0" };

function answered(path: string, { ledger }: LedgerWorld): unknown {
  const sources = { about: ABOUT, ledger: ledger.reader, fleet: async () => [], readiness: () => [], standby: null };
  const answer = answerTo(new URL(path, "http://console"), sources);
  return answer instanceof Promise ? null : JSON.parse(answer?.body ?? "null");
}

test("a limit keeps the first nodes by name, whatever their order of arrival", () => {
  const world = ledgerWorld();
  for (const name of ["n-3", "n-1", "n-2"]) {
    world.receive("observed.node", observedNode(name), null);
    world.receive("judged.node", judgedNode(name), null);
  }
  expect(answered("/api/nodes?limit=2", world)).toMatchObject({ nodes: [{ name: "n-1" }, { name: "n-2" }] });
});

test("nodes are found by a part of their name, and ordered by trouble", () => {
  const world = ledgerWorld();
  for (const [name, readiness] of Object.entries({ "a-1": "ready", "a-2": "unknown", "b-1": "notReady" } as const)) {
    world.receive("observed.node", observedNode(name), null);
    world.receive("judged.node", judgedNode(name, { readiness }), null);
  }
  expect(answered("/api/nodes?search=a-&order=trouble", world)).toMatchObject({
    total: 2,
    nodes: [{ name: "a-2" }, { name: "a-1" }],
  });
  expect(answered("/api/nodes?order=age", world)).toEqual({ error: 'order="age": must be name or trouble' });
});

test.each(["nodes", "evictions"])("the answer about %s includes the watch health", (topic) => {
  const world = ledgerWorld();
  expect(answered(`/api/${topic}`, world)).toMatchObject({ watchHealth: { blindShards: SHARDS.length } });
  const watch = { synced: true, since: world.clock.wallMs() };
  const watches = { nodes: watch, leases: watch, pods: watch };
  for (const shard of SHARDS) world.receive("observed.pulse", pulse(shard, { watches }), null);
  expect(answered(`/api/${topic}`, world)).toMatchObject({ watchHealth: { blindShards: 0 } });
});

test("nodes are found by their policy", () => {
  const world = ledgerWorld();
  for (const [name, policy] of Object.entries({ "a-1": "gpu", "a-2": "spot" })) {
    world.receive("observed.node", observedNode(name), null);
    world.receive("judged.node", judgedNode(name, { policy }), null);
  }
  expect(answered("/api/nodes?policy=gpu", world)).toMatchObject({ total: 1, nodes: [{ name: "a-1", policy: "gpu" }] });
});

test("policies that are not known yet are no empty list", () => {
  const world = ledgerWorld({ policies: { current: () => null, follow: () => () => {} } });
  expect(answered("/api/policies", world)).toEqual({ error: expect.stringContaining("have not arrived") });
  expect(answered("/api/policies", ledgerWorld())).toMatchObject({ policies: [] });
});

test("the comparison begins at the instant asked for, and another value is refused", () => {
  const world = ledgerWorld();
  const sinceAt = world.clock.wallMs() + 1;
  expect(answered(`/api/compare?since=${sinceAt}`, world)).toMatchObject({ from: sinceAt, isCut: false, nodes: [] });
  expect(answered("/api/compare", world)).toMatchObject({ isCut: true });
  expect(answered("/api/compare?since=yesterday", world)).toEqual({
    error: 'since="yesterday": must be epoch milliseconds',
  });
});
