/** What explain says of pods by reading them: those that stay terminating, those re-created, those never spoken of. */
import { describe, expect, test } from "vitest";
import type { Profile } from "../../protocols/profile.ts";
import { ANSWER_MS } from "../../services/ledger/live-pods.ts";
import { SETTLED_KEPT_MS } from "../../services/ledger/pod-records.ts";
import { observedNode } from "../support/observed-objects.ts";
import {
  askedEviction,
  donePod,
  explainedPod,
  judgedNode,
  judgedPod,
  judgedZone,
  type LedgerWorld,
  ledgerWorld,
  livePod,
  podSentences,
  pulse,
  SHARDS,
  seePulses,
  UNREACHABLE,
  WEB,
} from "./ledger-world.ts";

const START_AT = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;
const UNKNOWN = { readiness: "unknown", ready: "Unknown" } as const;
const STANDING = [{ ...UNREACHABLE, timeAdded: "2026-01-01T00:00:00Z" }];

/** The pod's node is dead, and the API server accepted the pod's deletion at 00:00. */
function deletedWorld(): LedgerWorld {
  const world = ledgerWorld();
  world.receive("observed.node", observedNode("n-1", { ready: "Unknown", taints: STANDING }), null);
  world.receive("judged.node", judgedNode("n-1", { ...UNKNOWN, since: START_AT, eviction: "evicted" }), null);
  const ask = world.receive("asked.eviction", askedEviction({ deadlineAt: START_AT }), null);
  world.receive("done.write", donePod("asked.eviction"), ask);
  return world;
}

const terminating = (metadata: Readonly<Record<string, unknown>> = {}) =>
  livePod({ metadata: { deletionTimestamp: "2026-01-01T00:00:30Z", deletionGracePeriodSeconds: 30, ...metadata } });

test("a pod on a dead node is terminating for as long as nobody finishes it, and it was Vigil that deleted it", () => {
  const world = deletedWorld();
  world.kube.pods.set("default/web", terminating());
  world.clock.advance(3 * SETTLED_KEPT_MS);
  expect(podSentences(world).slice(0, 3)).toEqual([
    "Pod default/web has been terminating since 2026-01-01T00:00:00Z (15 min).",
    "Vigil deleted it at 2026-01-01T00:00:00Z.",
    "Its node n-1 is silent, so nobody finishes it.",
  ]);
});

test("a terminating pod is held by the finalizers that remain", () => {
  const world = deletedWorld();
  world.kube.pods.set("default/web", terminating({ finalizers: ["example.com/backup"] }));
  expect(podSentences(world)).toContain("It stays until its finalizers are removed: example.com/backup.");
});

test("a terminating pod on a node that is well is ended by its kubelet, and by garbage collection without a node", () => {
  const world = ledgerWorld();
  world.kube.pods.set("default/web", terminating());
  for (const shard of SHARDS) world.receive("observed.pulse", pulse(shard), "ask");
  expect(podSentences(world)[1]).toBe(
    "Its node n-1 is not there any more, so it stays until garbage collection removes it.",
  );
  world.receive("observed.node", observedNode("n-1"), null);
  world.receive("judged.node", judgedNode("n-1"), null);
  expect(podSentences(world)[1]).toBe("It stays until the kubelet of node n-1 has ended its containers.");
});

test("a pod re-created under its name is not the one that was deleted", () => {
  const world = deletedWorld();
  world.receive("observed.node", observedNode("n-2"), null);
  world.kube.pods.set("default/web", livePod({ metadata: { uid: "uid-of-another" }, spec: { nodeName: "n-2" } }));
  expect(podSentences(world)[0]).toBe("Pod default/web stays: its node n-2 carries no NoExecute taint.");
});

test("a pod that nobody spoke of is read and explained", () => {
  const world = ledgerWorld();
  world.receive("observed.node", observedNode("n-1", { ready: "Unknown", taints: STANDING }), null);
  world.receive("judged.node", judgedNode("n-1", { ...UNKNOWN, eviction: "evicted" }), null);
  const saidOf = (changes: Parameters<typeof livePod>[0]) => {
    world.clock.advance(1000);
    world.kube.pods.set("default/web", livePod(changes));
    return podSentences(world)[0];
  };
  expect(saidOf({ spec: { tolerations: [{ operator: "Exists" }] } })).toBe(
    "Pod default/web stays: it tolerates node.kubernetes.io/unreachable:NoExecute for ever.",
  );
  const tolerations = [{ operator: "Exists", tolerationSeconds: 300 }];
  expect(saidOf({ spec: { tolerations } })).toBe(
    "Pod default/web has to leave by 2026-01-01T00:05:00Z because of node.kubernetes.io/unreachable:NoExecute, by its tolerations: this ledger has heard no deadline of it.",
  );
  expect(saidOf({ status: { phase: "Succeeded" } })).toBe(
    "Pod default/web has completed (Succeeded), and no taint evicts it.",
  );
  expect(saidOf({ spec: { nodeName: undefined } })).toBe(
    "Pod default/web is bound to no node, so nothing requests its deletion.",
  );
  expect(saidOf({})).toBe(
    "Pod default/web has to leave at once because of node.kubernetes.io/unreachable:NoExecute, by its tolerations: this ledger has heard no deadline of it.",
  );
});

describe("a pod on a node that waits for its turn", () => {
  function waitingPod(profile: Partial<Profile> = {}): LedgerWorld {
    const world = ledgerWorld({ profile });
    seePulses(world);
    const unknown = { readiness: "unknown", ready: "Unknown", eviction: "toBeEvicted" } as const;
    world.receive(
      "judged.zone",
      judgedZone({ notReady: 4, queueLength: 4, tokens: 0.5, queue: ["n-7", "n-8", "n-1"] }),
      null,
    );
    world.receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
    world.receive("judged.node", judgedNode("n-1", unknown), null);
    world.receive("asked.unready", WEB, null);
    return world;
  }

  test("is told that, how long it takes, and what then follows", () => {
    expect(podSentences(waitingPod())).toEqual([
      "Pod default/web stays until the turn of its node n-1 comes.",
      "It does not tolerate node.kubernetes.io/unreachable:NoExecute, so it is deleted then.",
      expect.stringMatching(/^Node n-1 is unknown since /),
      "It carries no NoExecute taint.",
      "Its zone a is Normal: 4 of 10 nodes not ready, 4 nodes in the queue.",
      "It is number 3 of 4 in the queue, at one node every 10 s: as things stand its turn comes at 2026-01-01T00:00:25Z, in 25 s.",
      "When its turn comes, it is tainted node.kubernetes.io/unreachable:NoExecute, and each of its pods stays as long as it tolerates that.",
    ]);
  });

  test("to be drained, not tainted, is told so", () => {
    expect(podSentences(waitingPod({ evictionMode: "direct" }))?.at(-1)).toBe(
      "When its turn comes, its pods are deleted.",
    );
  });

  test("is not said to be there once it was found gone", () => {
    const world = waitingPod();
    world.receive("done.write", donePod("asked.unready", { outcome: "gone" }), null);
    world.kube.pods.clear();
    expect(podSentences(world)).toEqual(["Pod default/web is not there any more."]);
  });
});

test("a pod on a node that waits is told how long it tolerates what the turn brings", () => {
  const world = ledgerWorld();
  world.receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
  world.receive("judged.node", judgedNode("n-1", { ...UNKNOWN, eviction: "toBeEvicted" }), null);
  const tolerations = [{ key: UNREACHABLE.key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 }];
  world.kube.pods.set("default/web", livePod({ spec: { tolerations } }));
  expect(podSentences(world)[1]).toBe("It tolerates node.kubernetes.io/unreachable:NoExecute for 300 s from then on.");
});

test("a pod that is not there and was never spoken of has no explanation, and one that was is remembered", () => {
  const world = deletedWorld();
  expect(explainedPod(world, "other")).toBeNull();
  world.kube.pods.clear();
  expect(podSentences(world)).toEqual([
    "Pod default/web is not there any more.",
    "Vigil deleted it at 2026-01-01T00:00:00Z.",
  ]);
});

test("a deadline does not hold of a pod that has come to tolerate every taint of its node", () => {
  const world = ledgerWorld();
  world.receive("observed.node", observedNode("n-1", { taints: STANDING }), null);
  world.receive("judged.pod", judgedPod({ deadlineAt: START_AT + MINUTE_MS }), null);
  world.kube.pods.set("default/web", livePod({ spec: { tolerations: [{ operator: "Exists" }] } }));
  expect(podSentences(world)[0]).toMatch(/^Pod default\/web stays: it tolerates /);
});

test("a schedule whose taint has left its node is not said to hold", () => {
  const world = ledgerWorld();
  world.receive("observed.node", observedNode("n-1", { taints: STANDING }), null);
  world.receive("judged.pod", judgedPod({ deadlineAt: START_AT + MINUTE_MS }), null);
  expect(podSentences(world)[0]).toMatch(/^Pod default\/web is due to be deleted at /);
  world.receive("observed.node", observedNode("n-1"), null);
  expect(podSentences(world)[0]).toBe("Pod default/web stays: its node n-1 carries no NoExecute taint.");
});

test.each([
  [{ outcome: "failed", detail: "connect ECONNREFUSED 10.0.0.1:6443" } as const, "connect ECONNREFUSED 10.0.0.1:6443"],
  ["none" as const, "no answer came within 3 s"],
])("without an answer of the API server (%o) the record is said to be what it is", (answer, why) => {
  const world = ledgerWorld();
  world.kube.readAnswer = answer;
  world.receive("judged.pod", judgedPod({ deadlineAt: START_AT + MINUTE_MS }), null);
  let sentences: readonly string[] = [];
  world.ledger.reader.explainPod("default", "web", (explained) => {
    sentences = explained?.sentences ?? [];
  });
  world.clock.advance(ANSWER_MS);
  expect(sentences.slice(0, 2)).toEqual([
    `The API server could not be asked about pod default/web: ${why}.`,
    expect.stringMatching(/^Pod default\/web is due to be deleted at 2026-01-01T00:01:00Z, /),
  ]);
});

test("people who ask for the same pod at once cost one read", () => {
  const world = ledgerWorld();
  for (let times = 0; times < 100; times++) explainedPod(world);
  expect(world.kube.reads).toEqual(["default/web"]);
});
