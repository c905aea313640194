/** What explain and the tables say about nodes of a policy with `mode: Shadow`: what would be, and why it is not. */
import { expect, test } from "vitest";
import { NODES, POLICIES, TIMERS } from "../../services/cli/get/get-tables.ts";
import { UNREACHABLE } from "../support/eviction-world.ts";
import { ExplainedWorld } from "../support/explained-world.ts";

const S = 1000;
const SHADOWED =
  "It is in shadow mode, by NodePolicy trial: Vigil writes neither to it nor to its pods, and goes on as if it had.";

/** Nodes of a policy in shadow mode, and others, with a pod each. */
function trialWorld(): ExplainedWorld {
  const requirement = { key: "topology.kubernetes.io/zone", operator: "In" as const, values: ["a"] };
  const spec = { selector: { matchExpressions: [requirement] }, mode: "Shadow" as const };
  const world = new ExplainedWorld([{ name: "trial", spec }]);
  for (const zone of ["a", "c"]) for (const node of world.addZone(zone, 4)) world.addTolerantPod(node, `pod-${node}`);
  world.run();
  world.advance(30 * S);
  return world;
}

/** The reasons and objects of the Events that were written, except that a node was registered. */
function eventsOf(world: ExplainedWorld): string[] {
  const chunks: Uint8Array[] = [];
  const request = { method: "GET", path: "/api/v1/events", headers: { accept: "application/json" }, body: null };
  const data = (chunk: Uint8Array): void => void chunks.push(chunk);
  world.api.wire.send(request, { response: () => {}, data, end: () => {}, failed: () => {} });
  world.advance(0);
  const { items } = JSON.parse(Buffer.concat(chunks).toString()) as {
    readonly items: readonly { readonly reason: string; readonly involvedObject: { readonly name: string } }[];
  };
  const others = items.filter(({ reason }) => reason !== "RegisteredNode");
  return others.map(({ reason, involvedObject }) => `${involvedObject.name} ${reason}`);
}

test("a node says what would be written, and which policy keeps it from that", () => {
  const world = trialWorld();
  world.silence(["a-0", "c-0"]);
  world.advance(120 * S);
  const sentences = world.reader.explainNode("a-0")?.sentences ?? [];
  expect(sentences).toContain(SHADOWED);
  expect(sentences).toContainEqual(expect.stringMatching(/^Ready=Unknown would have been written at /));
  expect(sentences).toContainEqual(
    expect.stringMatching(/^It would carry node\.kubernetes\.io\/unreachable:NoExecute/),
  );
  expect(world.reader.explainNode("c-0")?.sentences.filter((text) => /would|shadow/.test(text))).toEqual([]);
});

test("a pod says when it would be deleted, and its node why it is not", () => {
  const world = trialWorld();
  world.silence(["a-0", "c-0"]);
  world.advance(120 * S);
  const sentences = world.sentencesOfPod("pod-a-0");
  expect(sentences[0]).toMatch(/^Pod default\/pod-a-0 would be due to be deleted at .* in \d+/);
  expect(sentences[1]).toBe(`Its node a-0 would carry ${UNREACHABLE}:NoExecute, which it tolerates for 300 s.`);
  expect(sentences).toContain(SHADOWED);
  expect(world.sentencesOfPod("pod-c-0")[0]).toMatch(/^Pod default\/pod-c-0 is due to be deleted at /);
});

test("the tables say would for its nodes and pods alone", () => {
  const world = trialWorld();
  world.silence(["a-0", "c-0"]);
  world.advance(120 * S);
  const now = world.clock.wallMs();
  const due = new Map(world.reader.pendingEvictions(10).map((pod) => [pod.name, TIMERS.cells(pod, now)[3]]));
  expect(due.get("pod-a-0")).toMatch(/^would be in /);
  expect(due.get("pod-c-0")).toMatch(/^in /);
  const nodes = new Map(world.reader.nodes().map((node) => [node.name, NODES.cells(node, now)[4]]));
  expect([nodes.get("a-0"), nodes.get("c-0")]).toEqual(["would be evicted", "evicted"]);
  const [trial] = world.reader.policies() ?? [];
  expect(trial && POLICIES.cells(trial, now).slice(0, 2)).toEqual(["trial", "Shadow"]);
});

test("no Event says that a pod of it leaves or a node is not ready", () => {
  const world = trialWorld();
  world.taint("a-0", [{ key: "maintenance", effect: "NoExecute" }]);
  world.silence(["c-0"]);
  world.advance(400 * S);
  world.taint("a-0", []);
  world.advance(30 * S);
  expect(eventsOf(world).sort()).toEqual(["c-0 NodeNotReady", "pod-c-0 NodeNotReady", "pod-c-0 TaintManagerEviction"]);
});
