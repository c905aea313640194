/**
 * What explain and the tables show while nodes are frozen: by which user, until when, and what is left. All services
 * run.
 */
import { expect, test } from "vitest";
import type { NodePolicySpec } from "../../protocols/node-policy.ts";
import { TIMERS } from "../../services/cli/get/get-tables.ts";
import { apiTime } from "../../services/domain/api-time.ts";
import { UNREACHABLE } from "../support/eviction-world.ts";
import { ExplainedWorld } from "../support/explained-world.ts";

const S = 1000;

/** Node a-0 stopped sending heartbeats and has a pod that is due after 300 s. */
class FrozenWorld extends ExplainedWorld {
  constructor(names: readonly string[] = ["gpu"], specOf: (name: string) => Partial<NodePolicySpec> = () => ({})) {
    super(names.map((name) => ({ name, spec: { selector: {}, ...specOf(name) } })));
    this.addZone("a", 5);
    this.addTolerantPod("a-0", "pod");
    this.run();
    this.advance(30 * S);
    this.silence(["a-0"]);
    this.advance(60 * S);
    expect(this.taints("a-0")).toContain(`${UNREACHABLE}:NoExecute`);
  }

  /** What is left of the countdown of 300 s. */
  leftMs(): number {
    return this.timeAddedMs("a-0") + 300 * S - this.clock.monotonicMs();
  }

  /** The DUE cell of the only pod that waits. */
  due(): string | undefined {
    const [pod] = this.reader.pendingEvictions(10);
    return pod && TIMERS.cells(pod, this.clock.wallMs())[TIMERS.heading.indexOf("DUE")];
  }
}

const wholeSeconds = (ms: number): string => `${Math.floor(ms / (60 * S))}m${Math.ceil((ms % (60 * S)) / S)}s`;

test("a frozen pod says who froze it, until when, and what is left of its countdown", () => {
  const world = new FrozenWorld();
  const [since, until, left] = [world.at(), world.at(600 * S), wholeSeconds(world.leftMs())];
  world.request({ name: "alice", reason: "switch maintenance", since, until, policy: "gpu" });
  world.advance(60 * S);
  const sentences = world.sentencesOfPod("pod");
  expect(sentences[0]).toMatch(
    new RegExp(`^Pod default/pod stays while its node a-0 is frozen: ${left} remain of its countdown, so it is due to`),
  );
  expect(sentences).toContain(
    `It has been frozen since ${apiTime(Date.parse(since))} by alice (switch maintenance) through NodePolicy gpu: until ` +
      `${apiTime(Date.parse(until))} it is not tainted NoExecute and none of its pods is evicted; healing goes on.`,
  );
  expect(world.due()).toBe(`frozen until ${apiTime(Date.parse(until))}, ${left} left`);
  expect(world.reader.nodes().every(({ isFrozen }) => isFrozen)).toBe(true);
  expect(world.reader.policies()).toMatchObject([
    { name: "gpu", nodes: 5, unhealthy: 1, freeze: { causes: [{ policy: "gpu", by: "alice" }] } },
  ]);
});

test("a freeze of all nodes without an end leaves no due time", () => {
  const world = new FrozenWorld();
  const left = wholeSeconds(world.leftMs());
  world.request({ name: "alice", since: world.at() });
  world.advance(400 * S);
  expect(world.sentencesOfPod("pod")[0]).toBe(
    `Pod default/pod stays while its node a-0 is frozen: ${left} remain of its countdown.`,
  );
  expect(world.sentencesOfPod("pod")).toContainEqual(
    expect.stringContaining("by alice through vigil freeze --all: until"),
  );
  expect(world.due()).toBe(`frozen, ${left} left`);
  expect(world.reader.explainNode("a-1")?.sentences).toContainEqual(
    expect.stringMatching(/^It has been frozen since .* by alice through vigil freeze --all/),
  );
});

test("after a thaw, and after a planned end, nothing is frozen any more", () => {
  for (const isPlanned of [true, false]) {
    const world = new FrozenWorld();
    const since = world.at();
    world.request(isPlanned ? { name: "alice", since, until: world.at(100 * S) } : { name: "alice", since });
    world.advance(100 * S);
    if (!isPlanned) world.request({ name: "alice", since, until: world.at() });
    expect(world.sentencesOfPod("pod")[0]).toMatch(/^Pod default\/pod is due to be deleted at /);
    expect(world.due()).toMatch(/^in \d+/);
    expect(world.reader.explainNode("a-0")?.sentences.filter((text) => text.includes("frozen"))).toEqual([]);
  }
});

test("a pod whose countdown reaches a planned freeze without an end has no deadline", () => {
  const world = new FrozenWorld();
  world.request({ name: "alice", since: world.at(100 * S) });
  expect(world.sentencesOfPod("pod")[0]).toMatch(/^Pod default\/pod has no deadline yet: a planned freeze/);
  expect(world.due()).toBe("after a planned freeze");
  world.advance(110 * S);
  expect(world.sentencesOfPod("pod")[0]).toBe("Pod default/pod stays while its node a-0 is frozen.");
});

test("a node that falls silent while frozen says why it is not tainted", () => {
  const world = new FrozenWorld();
  world.request({ name: "alice", since: world.at() });
  world.silence(["a-1"]);
  world.advance(120 * S);
  const sentences = world.reader.explainNode("a-1")?.sentences ?? [];
  expect(sentences).toContain("It waits: a frozen node is neither tainted NoExecute nor drained.");
  expect(sentences.filter((text) => /^It is number|^Once admitted/.test(text))).toEqual([]);
  const [zone] = world.reader.overview().zones;
  expect(zone?.heldBack).toEqual([{ policy: null, field: null, nodes: 1 }]);
  expect(world.reader.explainZone("a")?.sentences).toContain("Blocked: 1 node by a freeze.");
});

test("of a node with two policies a freeze of either is named", () => {
  const world = new FrozenWorld(["gpu", "spot"]);
  world.request({ name: "alice", since: world.at(), policy: "spot" });
  world.advance(5 * S);
  const sentences = world.reader.explainNode("a-1")?.sentences ?? [];
  expect(sentences).toContain(
    "It is selected by NodePolicy gpu and NodePolicy spot, so none of them applies; each may still freeze it.",
  );
  expect(sentences).toContainEqual(expect.stringContaining("by alice through NodePolicy spot"));
});

test("of a node with two policies the one whose maintenance holds it is named", () => {
  const maintenance = { hold: ["DrainInProgress"], atMost: "10m" };
  const world = new FrozenWorld(["gpu", "spot"], (name) => (name === "spot" ? { maintenance } : {}));
  world.kubelet("a-1").report("DrainInProgress", "True");
  world.advance(5 * S);
  const sentencesNow = () => world.reader.explainNode("a-1")?.sentences ?? [];
  expect(sentencesNow()).toContainEqual(
    expect.stringMatching(
      /^It has been frozen since .* by maintenance \(DrainInProgress\) through NodePolicy spot: until/,
    ),
  );
  world.advance(600 * S);
  expect(sentencesNow().filter((text) => text.startsWith("It has been frozen"))).toEqual([]);
});

test("the history of a pod says when its countdown was frozen", () => {
  const world = new FrozenWorld();
  const left = wholeSeconds(world.leftMs());
  world.request({ name: "alice", since: world.at() });
  const texts: string[] = [];
  world.reader.explainPod("default", "pod", (explained) => {
    texts.push(...(explained?.timeline ?? []).map(({ text }) => text));
  });
  world.advance(0);
  expect(texts).toContain(
    `stays while its countdown is paused with ${left} left (ConfigMap vigil-freeze: pauseRequests (alice))`,
  );
});

test("a countdown that a freeze extended began with the taint before, not later", () => {
  const world = new FrozenWorld();
  world.addTolerantPod("a-1", "late");
  world.kubelet("a-1").report("Ready", "False");
  world.advance(60 * S);
  const beganAt = apiTime(world.clock.wallMs() - world.clock.monotonicMs() + world.timeAddedMs("a-1"));
  world.silence(["a-1"]);
  world.advance(60 * S);
  expect(world.taints("a-1")).toContain(`${UNREACHABLE}:NoExecute`);
  const since = world.at();
  world.request({ name: "alice", since });
  world.advance(40 * S);
  world.request({ name: "alice", since, until: world.at() });
  world.advance(5 * S);
  expect(world.sentencesOfPod("late")[1]).toBe(
    `Its node a-1 carries ${UNREACHABLE}:NoExecute, and its countdown of 300 s has run since ${beganAt}, when the node ` +
      "carried the opposite taint.",
  );
});
