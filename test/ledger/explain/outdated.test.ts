/** What explain says where the API shows something newer than what an owner has judged. */
import { describe, expect, test } from "vitest";
import { observedNode } from "../../support/observed-objects.ts";
import {
  judgedNode,
  judgedPod,
  judgedZone,
  type LedgerWorld,
  ledgerWorld,
  livePod,
  podSentences,
} from "../ledger-world.ts";

const UNKNOWN = judgedNode("n-1", { readiness: "unknown", ready: "Unknown", eviction: "toBeEvicted", heartbeatAt: 0 });
const DELETED = livePod({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 0 } });
const OUTDATED =
  "Node n-1 was unknown at 2026-01-01T00:00:00Z, and its owner has published nothing since, " +
  "although the API server shows Ready=True.";

const STAMP = "2026-01-01T00:00:00Z";

const nodeSentences = ({ ledger }: LedgerWorld) => ledger.reader.explainNode("n-1")?.sentences ?? [];

/** A node that was judged unknown, and whose kubelet posted Ready=True a minute later. */
function recoveredWorld(profile: { evictionMode?: "direct" } = {}): LedgerWorld {
  const world = ledgerWorld({ profile });
  world.receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
  world.receive("judged.zone", judgedZone({ queueLength: 1, queue: ["n-1"] }), null);
  world.receive("judged.node", UNKNOWN, null);
  world.clock.advance(60_000);
  world.receive("observed.node", observedNode("n-1"), null);
  return world;
}

describe("a recovered node with a silent owner", () => {
  test("was judged earlier and does not wait", () => {
    const world = recoveredWorld();
    world.clock.advance(29_000);
    expect(nodeSentences(world)[0]).toContain("has been unknown since");
    world.clock.advance(1_000);
    expect(nodeSentences(world).slice(0, 3)).toEqual([
      OUTDATED,
      "It carries no NoExecute taint.",
      "Its zone a was Normal at 2026-01-01T00:00:00Z, and its owner has published nothing since.",
    ]);
    expect(nodeSentences(world).join(" ")).not.toContain("It waits");
  });

  test("is not said to hold its pods", () => {
    const world = recoveredWorld();
    expect(podSentences(world)[0]).toBe("Pod default/web stays until its node n-1 is admitted for eviction.");
    world.clock.advance(30_000);
    expect(podSentences(world).slice(0, 2)).toEqual([
      "Pod default/web stays: its node n-1 carries no NoExecute taint.",
      OUTDATED,
    ]);
    world.kube.pods.set("default/web", DELETED);
    world.clock.advance(1_000);
    expect(podSentences(world)).toContain("It stays until the kubelet of node n-1 has ended its containers.");
  });

  test("is not due to be drained", () => {
    const world = recoveredWorld({ evictionMode: "direct" });
    world.clock.advance(30_000);
    expect(podSentences(world)[0]).toBe("Pod default/web stays: its node n-1 is not due to be drained.");
  });

  test("is judged again in the end", () => {
    const world = recoveredWorld();
    world.clock.advance(60_000);
    world.receive("judged.node", judgedNode("n-1"), null);
    expect(nodeSentences(world)[0]).toContain("Node n-1 has been ready since");
  });

  test("may have no Ready condition", () => {
    const world = recoveredWorld();
    world.receive("observed.node", observedNode("n-1", { conditions: [] }), null);
    world.clock.advance(30_000);
    expect(nodeSentences(world)[0]).toBe(OUTDATED.replace("Ready=True", "no Ready condition"));
  });
});

test("a verdict that is not written yet is of now", () => {
  const world = ledgerWorld();
  world.receive("observed.node", observedNode("n-1", { ready: "False" }), null);
  world.receive("observed.node", observedNode("n-1"), null);
  world.clock.advance(60_000);
  world.receive("judged.node", UNKNOWN, null);
  world.clock.advance(60_000);
  // It is published again for a resync, and has not changed.
  world.receive("observed.node", observedNode("n-1"), null);
  world.clock.advance(60_000);
  expect(nodeSentences(world)[0]).toContain("Node n-1 has been unknown since");
});

test("a pod that tolerates its taint since then is not said not to", () => {
  const world = ledgerWorld();
  const taints = ["level", "maintenance"].map((key) => ({ key, effect: "NoExecute", timeAdded: STAMP }) as const);
  world.receive("observed.node", observedNode("n-1", { taints }), null);
  const judged = { eviction: "due", deadlineAt: null, tolerationSeconds: null } as const;
  world.receive("judged.pod", judgedPod({ ...judged, taint: { key: "level", effect: "NoExecute" } }), null);
  const maintained = { key: "maintenance", operator: "Exists", tolerationSeconds: 60 };
  world.kube.pods.set("default/web", livePod({ spec: { tolerations: [maintained] } }));
  expect(podSentences(world)).toContain("Its node n-1 carries level:NoExecute, which it does not tolerate.");
  const lately = { key: "level", operator: "Gt", value: "5" };
  world.kube.pods.set("default/web", livePod({ spec: { tolerations: [lately, maintained] } }));
  world.clock.advance(1_000);
  expect(podSentences(world)[0]).toMatch(/^Pod default\/web .*maintenance:NoExecute/);
});
