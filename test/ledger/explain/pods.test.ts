/** Explanations of pods by a live read: pods that stay terminating, re-created pods, and pods without any message. */
import { describe, expect, test } from "vitest";
import type { Profile } from "../../../protocols/profile.ts";
import { ANSWER_MS } from "../../../services/ledger/explain/live-pods.ts";
import { SETTLED_KEPT_MS } from "../../../services/ledger/state/pod-records.ts";
import { observedNode } from "../../support/observed-objects.ts";
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
} from "../ledger-world.ts";

const START_AT = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;
const UNKNOWN = { readiness: "unknown", ready: "Unknown" } as const;
const STANDING = [{ ...UNREACHABLE, timeAdded: "2026-01-01T00:00:00Z" }];

/** The pods that the list names. */
const waiting = ({ ledger }: LedgerWorld) => ledger.reader.pendingEvictions(10);

/** The pod's node is silent, and the API server accepted the pod's deletion at 00:00. */
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

test("a pod that Vigil deleted on a silent node stays terminating", () => {
  const world = deletedWorld();
  world.kube.pods.set("default/web", terminating());
  world.clock.advance(3 * SETTLED_KEPT_MS);
  expect(podSentences(world).slice(0, 3)).toEqual([
    "Pod default/web has been terminating since 2026-01-01T00:00:00Z (15 min).",
    "Vigil deleted it at 2026-01-01T00:00:00Z.",
    "Its node n-1 is silent, so no kubelet confirms that it has ended.",
  ]);
});

test("the mirror of a static pod stays despite the taint of its node", () => {
  const world = ledgerWorld();
  world.receive("observed.node", observedNode("n-1", { ready: "Unknown", taints: STANDING }), null);
  const metadata = { annotations: { "kubernetes.io/config.mirror": "5b1d" } };
  world.kube.pods.set("default/web", livePod({ metadata }));
  expect(podSentences(world)[0]).toBe(
    "Pod default/web stays despite node.kubernetes.io/unreachable:NoExecute: it mirrors a static pod, which only its " +
      "kubelet can end. Remove its manifest from the node, or let it tolerate the taint.",
  );
});

test.each([
  ["EvictionByEvictionAPI", "a client of the Eviction API, as kubectl drain is"],
  ["DeletionByDeviceTaintManager", "the device taint manager, because of a taint of a device that it uses"],
  ["PreemptionByScheduler", "the scheduler, which made room for a pod of a higher priority"],
  ["DeletionByPodGC", "the pod garbage collector, because its node no longer exists or is out of service"],
  ["DeletionByTaintManager", "a taint manager, Vigil's or upstream's, because of a NoExecute taint of its node"],
  ["TerminationByKubelet", "its kubelet, under the pressure of its node or in a graceful shutdown"],
  ["EndedByRobot", "a component that is not known"],
])("a terminating pod says who ends it: %s", (reason, who) => {
  const world = ledgerWorld();
  const metadata = { deletionTimestamp: "2026-01-01T00:00:30Z", deletionGracePeriodSeconds: 30 };
  const conditions = [{ type: "DisruptionTarget", status: "True", reason }];
  world.kube.pods.set("default/web", livePod({ metadata, status: { conditions } }));
  expect(podSentences(world)[1]).toBe(`Its condition DisruptionTarget says ${reason}: it is ended by ${who}.`);
});

test("a pod that its kubelet ended says so; one that Vigil deleted names Vigil", () => {
  const conditions = [{ type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet" }];
  const ended = ledgerWorld();
  ended.receive("observed.node", observedNode("n-1"), null);
  ended.kube.pods.set("default/web", livePod({ status: { phase: "Failed", conditions } }));
  expect(podSentences(ended).slice(0, 2)).toEqual([
    "Pod default/web has completed (Failed), so no taint evicts it.",
    expect.stringContaining("TerminationByKubelet: it is ended by its kubelet"),
  ]);
  const ours = deletedWorld();
  const metadata = { deletionTimestamp: "2026-01-01T00:00:30Z", deletionGracePeriodSeconds: 30 };
  ours.kube.pods.set("default/web", livePod({ metadata, status: { conditions } }));
  expect(podSentences(ours).join(" ")).not.toContain("DisruptionTarget");
});

test("a terminating pod is held by its finalizers", () => {
  const world = deletedWorld();
  world.kube.pods.set("default/web", terminating({ finalizers: ["example.com/backup"] }));
  expect(podSentences(world)).toContain("It stays until its finalizers are removed: example.com/backup.");
});

test("a terminating pod is ended by its kubelet or by garbage collection", () => {
  const world = ledgerWorld();
  world.kube.pods.set("default/web", terminating());
  for (const shard of SHARDS) world.receive("observed.pulse", pulse(shard), "ask");
  expect(podSentences(world)[1]).toBe(
    "Its node n-1 no longer exists, so it stays until garbage collection removes it.",
  );
  world.receive("observed.node", observedNode("n-1"), null);
  world.receive("judged.node", judgedNode("n-1"), null);
  expect(podSentences(world)[1]).toBe("It stays until the kubelet of node n-1 has ended its containers.");
});

test("a node is not said to be gone before the nodes are listed", () => {
  const world = ledgerWorld();
  world.kube.pods.set("default/web", terminating());
  const [unsynced, synced] = [
    { synced: false, since: null },
    { synced: true, since: 0 },
  ];
  const watches = { nodes: unsynced, leases: synced, pods: synced };
  for (const shard of SHARDS) world.receive("observed.pulse", pulse(shard, { watches }), "ask");
  expect(podSentences(world)[1]).toBe("Its node n-1 has not been observed: the watch of nodes is not synced.");
});

test("a pod re-created under its name is not the deleted one", () => {
  const world = deletedWorld();
  world.receive("observed.node", observedNode("n-2"), null);
  world.kube.pods.set("default/web", livePod({ metadata: { uid: "uid-of-another" }, spec: { nodeName: "n-2" } }));
  expect(podSentences(world)[0]).toBe("Pod default/web stays: its node n-2 carries no NoExecute taint.");
});

test("a pod of which no message came is read and explained", () => {
  const world = ledgerWorld();
  world.receive("observed.node", observedNode("n-1", { ready: "Unknown", taints: STANDING }), null);
  world.receive("judged.node", judgedNode("n-1", { ...UNKNOWN, eviction: "evicted" }), null);
  const saidOf = (changes: Parameters<typeof livePod>[0]) => {
    world.clock.advance(1000);
    world.kube.pods.set("default/web", livePod(changes));
    return podSentences(world)[0];
  };
  expect(saidOf({ spec: { tolerations: [{ operator: "Exists" }] } })).toBe(
    "Pod default/web stays: it tolerates node.kubernetes.io/unreachable:NoExecute forever.",
  );
  const tolerations = [{ operator: "Exists", tolerationSeconds: 300 }];
  expect(saidOf({ spec: { tolerations } })).toBe(
    "Pod default/web has to leave by 2026-01-01T00:05:00Z because of node.kubernetes.io/unreachable:NoExecute: this ledger has received no deadline and computes it from the tolerations.",
  );
  expect(saidOf({ status: { phase: "Succeeded" } })).toBe(
    "Pod default/web has completed (Succeeded), so no taint evicts it.",
  );
  expect(saidOf({ spec: { nodeName: undefined } })).toBe(
    "Pod default/web is bound to no node, so nothing requests its deletion.",
  );
  expect(saidOf({})).toBe(
    "Pod default/web has to leave at once because of node.kubernetes.io/unreachable:NoExecute: this ledger has received no deadline and computes it from the tolerations.",
  );
});

describe("a pod on a node that waits to be admitted", () => {
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

  test("shows the estimate and what follows", () => {
    expect(podSentences(waitingPod())).toEqual([
      "Pod default/web stays until its node n-1 is admitted for eviction.",
      "It does not tolerate node.kubernetes.io/unreachable:NoExecute, so it is deleted then.",
      expect.stringMatching(/^Node n-1 has been unknown since /),
      "It carries no NoExecute taint.",
      "Its zone a is Normal: 4 of 10 nodes not ready, 4 nodes in the eviction queue.",
      "It is number 3 of 4 in the eviction queue: at the present rate, one node every 10 s, it is admitted at 2026-01-01T00:00:25Z, in 25 s.",
      "Once admitted, it is tainted node.kubernetes.io/unreachable:NoExecute, and each of its pods stays for as long as it tolerates that taint.",
    ]);
  });

  test("shows that its node will be drained", () => {
    expect(podSentences(waitingPod({ evictionMode: "direct" }))?.at(-1)).toBe(
      "Once it is admitted, its pods are deleted.",
    );
  });

  test("is gone once a read finds it gone", () => {
    const world = waitingPod();
    world.receive("done.write", donePod("asked.unready", { outcome: "gone" }), null);
    world.kube.pods.clear();
    expect(podSentences(world)).toEqual(["Pod default/web no longer exists."]);
  });
});

test("a pod on a node that waits shows how long it tolerates the coming taint", () => {
  const world = ledgerWorld();
  world.receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
  world.receive("judged.node", judgedNode("n-1", { ...UNKNOWN, eviction: "toBeEvicted" }), null);
  const tolerations = [{ key: UNREACHABLE.key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 }];
  world.kube.pods.set("default/web", livePod({ spec: { tolerations } }));
  expect(podSentences(world)[1]).toBe("It tolerates node.kubernetes.io/unreachable:NoExecute for 300 s from then on.");
});

test("a pod that is gone has an explanation only where it has a history", () => {
  const world = deletedWorld();
  expect(explainedPod(world, "other")).toBeNull();
  world.kube.pods.clear();
  expect(podSentences(world)).toEqual([
    "Pod default/web no longer exists.",
    "Vigil deleted it at 2026-01-01T00:00:00Z.",
  ]);
});

test("a pod that may tolerate the coming taint is not evicted then", () => {
  const world = ledgerWorld();
  world.receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
  world.receive("judged.node", judgedNode("n-1", { ...UNKNOWN, eviction: "toBeEvicted" }), null);
  world.kube.pods.set("default/web", livePod({ spec: { tolerations: [{ operator: "SemverGt" }] } }));
  expect(podSentences(world)[1]).toBe(
    "It may tolerate node.kubernetes.io/unreachable:NoExecute, so it is not evicted then: toleration operator SemverGt: this version of Vigil does not know it, so upgrade Vigil or delete the pod by hand.",
  );
});

test("a pod that now tolerates every taint of its node has no deadline", () => {
  const world = ledgerWorld();
  world.receive("observed.node", observedNode("n-1", { taints: STANDING }), null);
  world.receive("judged.pod", judgedPod({ deadlineAt: START_AT + MINUTE_MS }), null);
  world.kube.pods.set("default/web", livePod({ spec: { tolerations: [{ operator: "Exists" }] } }));
  expect(podSentences(world)[0]).toMatch(/^Pod default\/web stays: it tolerates /);
});

test("a deadline ends with its taint", () => {
  const world = ledgerWorld();
  world.receive("observed.node", observedNode("n-1", { taints: STANDING }), null);
  world.receive("judged.pod", judgedPod({ deadlineAt: START_AT + MINUTE_MS }), null);
  expect(podSentences(world)[0]).toMatch(/^Pod default\/web is due to be deleted at /);
  expect(waiting(world)).toHaveLength(1);
  world.receive("observed.node", observedNode("n-1"), null);
  expect(podSentences(world)[0]).toBe("Pod default/web stays: its node n-1 carries no NoExecute taint.");
  expect(waiting(world)).toEqual([]);
});

test("a deadline ends with its node, unless its deletion was requested", () => {
  const world = ledgerWorld();
  for (const shard of SHARDS) world.receive("observed.pulse", pulse(shard), "ask");
  world.receive("observed.node", observedNode("n-1", { taints: STANDING }), null);
  world.receive("judged.pod", judgedPod({ deadlineAt: START_AT + MINUTE_MS }), null);
  world.receive("observed.gone", { node: "n-1", uid: "uid-n-1" }, null);
  expect(podSentences(world)).toEqual([expect.stringMatching(/^Its node n-1 no longer exists/)]);
  expect(waiting(world)).toEqual([]);
  world.kube.readAnswer = { outcome: "failed", detail: "read ECONNRESET" };
  world.clock.advance(1_000);
  expect(podSentences(world)).toHaveLength(2);
  world.receive("asked.eviction", askedEviction({ deadlineAt: START_AT }), null);
  world.clock.advance(1_000);
  expect(waiting(world)).toHaveLength(1);
  expect(podSentences(world)).toContainEqual(expect.stringMatching(/^Pod default\/web is due to be deleted at /));
});

test.each([
  [{ outcome: "failed", detail: "connect ECONNREFUSED 10.0.0.1:6443" } as const, "connect ECONNREFUSED 10.0.0.1:6443"],
  ["none" as const, "no answer came within 3 s"],
])("without an answer (%o) the record is used", (answer, why) => {
  const world = ledgerWorld();
  world.kube.readAnswer = answer;
  world.receive("judged.pod", judgedPod({ deadlineAt: START_AT + MINUTE_MS }), null);
  let sentences: readonly string[] = [];
  world.ledger.reader.explainPod("default", "web", (explained) => {
    sentences = explained?.sentences ?? [];
  });
  world.clock.advance(ANSWER_MS);
  expect(sentences.slice(0, 3)).toEqual([
    `Pod default/web could not be read from the API server: ${why}.`,
    "This ledger knows the following about the last pod of that name.",
    expect.stringMatching(/^Pod default\/web is due to be deleted at 2026-01-01T00:01:00Z, /),
  ]);
});

test("concurrent questions about one pod cost one read", () => {
  const world = ledgerWorld();
  for (let times = 0; times < 100; times++) explainedPod(world);
  expect(world.kube.reads).toEqual(["default/web"]);
});
