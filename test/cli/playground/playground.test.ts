/** Plays the playground's story on virtual time and checks its output. */
import { describe, expect, test } from "vitest";
import { shardOf } from "../../../protocols/subjects.ts";
import { type Playground, startPlayground } from "../../../services/cli/playground/playground-cluster.ts";
import { PLAYGROUND_PROFILE } from "../../../services/cli/playground/playground-members.ts";
import { ownersOf } from "../../../services/platform/fleet/ownership.policy.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { NODES_PER_ZONE, nodesOf, ZONES } from "../../../services/sandbox/playground/cluster.ts";
import { MORTAL_MEMBER, STEADY_MEMBER } from "../../../services/sandbox/playground/controls.ts";
import type { Scene } from "../../../services/sandbox/playground/scene.ts";
import { play } from "../../../services/sandbox/playground/stage.ts";
import { storyOf } from "../../../services/sandbox/playground/story.ts";
import { closingTable, LiveView, picture, storyLine } from "../../../services/sandbox/playground/view.ts";
import { COUNTED_NODE } from "../../../services/sandbox/playground/vigil-acts.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { seededRandom } from "../../support/random.seeded.ts";

const STEP_MS = 100;
const STORY_MS_MAX = 300_000;

/** Plays scenes on virtual time; returns the narration, and what was missing at the end. */
function playVirtually(seed: number, scenes: readonly Scene[]) {
  const clock = new VirtualClock();
  const playground = startPlayground({ clock, random: seededRandom(seed), log: silentLog });
  const said: string[] = [];
  const everUnknown = new Set<string>();
  let missing: string | null | undefined;
  const say = (line: string) => said.push(line);
  play({ clock, scenes, pauseMs: 2000, say, ...playground }, (what) => {
    missing = what;
  });
  while (missing === undefined && clock.monotonicMs() < STORY_MS_MAX) {
    clock.advance(STEP_MS);
    for (const { node, readiness } of playground.narration.nodes.values())
      if (readiness === "unknown") everUnknown.add(node);
  }
  return { ...playground, clock, said, missing, everUnknown };
}

const STORY = storyOf(PLAYGROUND_PROFILE.nodeMonitorGraceMs);

describe("the story", () => {
  const played = playVirtually(1, STORY);

  test("ends well within two minutes", () => {
    expect(played.missing).toBeNull();
    expect(played.clock.monotonicMs()).toBeLessThan(110_000);
    expect(played.said).toHaveLength(2 * STORY.length);
  });

  test("finds the 18 silent nodes in time, heals all, and fails no write", () => {
    expect(played.narration.totals).toMatchObject({ verdicts: 18, recoveries: 18, failedWrites: 0 });
    expect(played.narration.totals.latestMs).toBeLessThanOrEqual(PLAYGROUND_PROFILE.leaseBatchMs);
  });

  test("judged nobody unknown but the nodes that lost their power", () => {
    const struck = [...played.everUnknown].filter((node) => node.startsWith("node-b-"));
    const others = [...played.everUnknown].filter((node) => !node.startsWith("node-b-"));
    expect(struck).toHaveLength(14);
    expect(struck).toContain("node-b-11");
    expect(others.sort()).toEqual(["node-a-04", "node-a-05", "node-a-07"]);
  });

  test("evicted the pod in time although its member was killed", () => {
    const members = new Set([STEADY_MEMBER, MORTAL_MEMBER]);
    const owners = (["node", "taint-manager"] as const).map(
      (service) => ownersOf(service, members)[shardOf(COUNTED_NODE)],
    );
    expect(owners).toEqual([MORTAL_MEMBER, MORTAL_MEMBER]);
    const waitedMs = played.narration.waitedMs(`web-${COUNTED_NODE}`, COUNTED_NODE) ?? 0;
    // Countdowns begin with the taint's timeAdded, which has whole seconds.
    expect(waitedMs).toBeGreaterThan(4_000);
    expect(waitedMs).toBeLessThan(5_100);
  });

  test("evicted the lone node's pod, and hardly any of the struck zone", () => {
    expect(played.narration.evicted).toContain("web-node-a-07");
    const struck = [...played.narration.evicted].filter((pod) => pod.includes("node-b-"));
    expect(struck.length).toBeLessThanOrEqual(2);
    expect([...played.narration.evicted].every((pod) => pod.startsWith("web-"))).toBe(true);
  });

  test("is the same story again from the same seed", () => {
    expect(playVirtually(1, STORY).said).toEqual(played.said);
  });

  test("ends with both members, the API server in sight, and no policy", () => {
    expect(played.controls.state()).toEqual({ isKilled: false, isBlind: false, hasPolicy: false });
  });

  test("leaves no timer behind once stopped", () => {
    played.stop();
    played.clock.advance(120_000);
    expect(played.clock.pendingTimers).toBe(0);
  });
});

/** Sends a request to the API of a playground, as kubectl does. */
function send({ apiserver }: Pick<Playground, "apiserver">, method: string, path: string, body: unknown = null): void {
  const headers = { "content-type": "application/json" };
  const exchange = { response: () => {}, data: () => {}, end: () => {}, failed: () => {} };
  apiserver.wire.send({ method, path, headers, body: body === null ? null : JSON.stringify(body) }, exchange);
}

describe("a user of kubectl", () => {
  const world = playVirtually(1, STORY.slice(0, 1));
  const { clock, apiserver, controls: cast } = world;
  const nodes = apiserver.store.collection("nodes");
  const pods = apiserver.store.collection("pods");

  test("deletes a node, which stays deleted until it is resumed", () => {
    send(world, "DELETE", "/api/v1/nodes/node-c-01");
    clock.advance(60_000);
    expect(nodes.get("", "node-c-01")).toBeUndefined();
    expect(nodes.size).toBe(59);
    cast.nodes.resume({});
    clock.advance(1_000);
    expect(nodes.size).toBe(60);
  });

  test("sees an evicted pod of a Deployment come back elsewhere", () => {
    const labels = { app: "shop" };
    const toleration = { operator: "Exists", effect: "NoExecute", tolerationSeconds: 3 };
    const template = {
      metadata: { labels },
      spec: { tolerations: [toleration], containers: [{ name: "c", image: "i" }] },
    };
    const spec = { replicas: 1, selector: { matchLabels: labels }, template };
    const body = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "shop" }, spec };
    const placed = () =>
      pods.sorted("default").flatMap((pod) => {
        const { metadata, spec: own } = pod.object();
        return metadata.name.startsWith("shop-") ? [String((own as { nodeName?: string }).nodeName)] : [];
      });
    send(world, "POST", "/apis/apps/v1/namespaces/default/deployments", body);
    clock.advance(2_000);
    const [first = ""] = placed();
    expect(first).toMatch(/^node-/);
    cast.nodes.stop({ names: [first] });
    for (let passed = 0; passed < 20; passed++) clock.advance(1_000);
    expect(placed().filter((node) => node !== first)).toHaveLength(1);
  });

  test("deletes a namespace, which goes with what is in it", () => {
    send(world, "POST", "/api/v1/namespaces", { metadata: { name: "space" } });
    send(world, "POST", "/api/v1/namespaces/space/configmaps", { metadata: { name: "map" }, data: { a: "b" } });
    clock.advance(1_000);
    expect(apiserver.store.collection("configmaps").size).toBe(1);
    send(world, "DELETE", "/api/v1/namespaces/space");
    clock.advance(1_000);
    expect(apiserver.store.collection("namespaces").get("", "space")).toBeUndefined();
    expect(apiserver.store.collection("configmaps").size).toBe(0);
  });
});

test("a story that fails names what it waited for", () => {
  const never = { begins: "", awaits: "the moon", until: () => false, ends: () => "" };
  expect(playVirtually(1, [never]).missing).toBe("the moon");
});

describe("the view", () => {
  const { narration } = playVirtually(1, STORY.slice(0, 5));

  test("draws each zone with its nodes and its state", () => {
    expect(picture(narration)).toEqual([
      expect.stringMatching(/zone-a {2}█{20} {2}Normal: 20 Ready$/),
      expect.stringMatching(/zone-b {2}█{6}░{14} {2}PartialDisruption: 6 Ready, 14 Unknown, \d+ wait/),
      expect.stringMatching(/zone-c {2}█{20} {2}Normal: 20 Ready$/),
    ]);
  });

  test("ends with a table of statistics", () => {
    expect(closingTable(narration, 42_000).join("\n")).toMatch(
      /nodes judged Unknown +15\n[\s\S]*the story took +42 s$/,
    );
  });

  test("wraps long lines of the story with an indent", () => {
    expect(storyLine(1234, "one two three", 19)).toBe("   1.2 s  one two\n          three");
  });

  test("is redrawn in place on a terminal, with the story above it", () => {
    let screen = "";
    const view = new LiveView((text) => {
      screen += text;
    }, 10);
    view.draw(["picture", "of more than ten"]);
    view.line("story");
    expect(screen).toBe("picture\nof more t\n\u001b[2A\u001b[0Jstory\npicture\nof more t\n");
  });
});

test("the introduction names the right number of nodes", () => {
  expect(ZONES.flatMap(nodesOf)).toHaveLength(ZONES.length * NODES_PER_ZONE);
});
