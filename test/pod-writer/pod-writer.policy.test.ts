/** Whether a request about a pod still holds by live objects, and its patches. */
import { describe, expect, test } from "vitest";
import { INSTANT_MAX } from "../../protocols/bounds.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedPod, Toleration } from "../../protocols/objects.ts";
import {
  decideEviction,
  decideUnready,
  deletePreconditions,
  disruptionTargetPatch,
  forbiddenEviction,
  type LivePod,
  mayDeleteUnmarked,
  nodeLostPatch,
  unreadyPatch,
} from "../../services/pod-writer/pod-writer.policy.ts";
import { noExecute, observedNode, observedPod } from "../support/observed-objects.ts";

const UNREACHABLE = "node.kubernetes.io/unreachable";
const ADDED_AT = Date.UTC(2026, 0, 1);
const DUE_AT = ADDED_AT + 300_000;
const rules = { comparisonOperators: false, behindMs: 0, wallMs: DUE_AT, latestMs: DUE_AT };
const taint = noExecute(UNREACHABLE, { timeAdded: "2026-01-01T00:00:00Z" });
const tainted = observedNode("a", { ready: "Unknown", taints: [taint] });
const tolerating: Toleration = { key: UNREACHABLE, operator: "Exists", tolerationSeconds: 300 };
const target = { namespace: "default", name: "p", uid: "uid-p", node: "a" };
const ask: BodyOf<"asked.eviction"> = { ...target, mode: "taint", deadlineAt: DUE_AT, taint: null };
const drain: BodyOf<"asked.eviction"> = { ...ask, mode: "direct" };

function live(rest: Partial<ObservedPod> = {}, object: Record<string, unknown> = {}, node = "a"): LivePod {
  const pod = observedPod("p", { tolerations: [tolerating], generation: 3, ...rest });
  const metadata = { name: "p", namespace: "default", uid: pod.uid };
  return { node, resourceVersion: "7", pod, object: { metadata, ...object } };
}

const UNTRIED = { failures: 0, conflicts: 0, lates: 0, failingSinceMs: null };

describe("a delete", () => {
  test("names uid and version, after three conflicts the uid alone", () => {
    const named = (conflicts: number) => deletePreconditions(live(), { ...UNTRIED, conflicts });
    expect([0, 2].map(named)).toEqual(Array(2).fill({ uid: "uid-p", resourceVersion: "7" }));
    expect(named(3)).toEqual({ uid: "uid-p" });
  });

  test("goes without its condition at once if that is denied", () => {
    expect(mayDeleteUnmarked("denied", false, UNTRIED, 0)).toBe(true);
  });

  test.each(["failed", "unknown"] as const)("goes without its condition a minute after it %s first", (how) => {
    const since = (failingSinceMs: number | null) =>
      mayDeleteUnmarked(how, false, { ...UNTRIED, failingSinceMs }, 60_000);
    expect([since(null), since(1), since(0)]).toEqual([false, false, true]);
    expect(mayDeleteUnmarked(how, true, UNTRIED, 0)).toBe(true);
  });

  test.each(["conflict", "throttled"] as const)("waits for its next attempt if the patch ended in %s", (how) => {
    for (const isDrain of [true, false]) {
      expect(mayDeleteUnmarked(how, isDrain, { ...UNTRIED, failingSinceMs: 0 }, 3_600_000)).toBe(false);
    }
  });
});

describe("an eviction by taint", () => {
  test("holds at its deadline and names the taint that decides now", () => {
    expect(decideEviction(ask, tainted, live(), rules)).toEqual({ kind: "act", taint });
  });

  test.each(["True", "False"] as const)("is refused once its kubelet reports Ready=%s", (ready) => {
    const heard = observedNode("a", { ready, taints: [taint] });
    expect(decideEviction(ask, heard, live(), rules)).toMatchObject({ outcome: "failed" });
  });

  test("is refused before its deadline by our own count of time", () => {
    const early = { ...rules, latestMs: DUE_AT - 2001 };
    for (const deadlineAt of [DUE_AT, INSTANT_MAX]) {
      expect(decideEviction({ ...ask, deadlineAt }, tainted, live(), early)).toMatchObject({ outcome: "refused" });
    }
    expect(decideEviction(ask, tainted, live(), { ...early, latestMs: DUE_AT - 2000 })).toMatchObject({ kind: "act" });
  });

  test("holds after a step back of our clock", () => {
    for (const wallMs of [DUE_AT - 3_600_000, DUE_AT + 3_600_000]) {
      expect(decideEviction(ask, tainted, live(), { ...rules, wallMs })).toMatchObject({ kind: "act" });
    }
  });

  test("is refused before the deadline by our clock", () => {
    const ahead = { ...rules, behindMs: 2001, wallMs: DUE_AT - 1 };
    expect(decideEviction(ask, tainted, live(), ahead)).toMatchObject({ outcome: "refused" });
    expect(decideEviction(ask, tainted, live(), { ...ahead, wallMs: DUE_AT })).toMatchObject({ kind: "act" });
    expect(decideEviction(ask, tainted, live(), { ...ahead, behindMs: 2000 })).toMatchObject({ kind: "act" });
  });

  test("counts a recorded start only for the taint that was seen", () => {
    const since = Date.parse("2026-01-01T00:00:00Z");
    const restamped = { ...noExecute(UNREACHABLE, { timeAdded: "2026-01-01T00:04:59Z" }) };
    const recorded = {
      ...observedNode("a", { ready: "Unknown", taints: [restamped] }),
      taintsSeenAt: { [`${UNREACHABLE}:NoExecute`]: since },
    };
    const asked = (timeAdded: string | null) => ({
      ...ask,
      taint: { key: UNREACHABLE, effect: "NoExecute" },
      timeAdded,
    });
    const verdict = (timeAdded: string | null) => decideEviction(asked(timeAdded), recorded, live(), rules);
    expect(verdict("2026-01-01T00:04:59Z")).toEqual({ kind: "act", taint: restamped });
    for (const earlier of ["2026-01-01T00:00:00Z", null]) {
      expect(verdict(earlier)).toMatchObject({
        outcome: "refused",
        detail: expect.stringContaining("deadline is later"),
      });
    }
  });

  test("is refused if the present taints give it a later deadline", () => {
    const readded = observedNode("a", {
      ready: "Unknown",
      taints: [noExecute(UNREACHABLE, { timeAdded: "2026-01-01T00:00:01Z" })],
    });
    expect(decideEviction(ask, readded, live(), rules)).toMatchObject({ outcome: "refused" });
  });

  test.each<[string, LivePod | null, string]>([
    ["a pod of the same name and another uid (L23, 107543)", live({ uid: "uid-new" }), "gone"],
    ["a pod that is bound to no node", null, "gone"],
    ["a pod that is terminating (L34)", live({ deletionAt: DUE_AT }), "gone"],
    ["a pod that is bound elsewhere", live({}, {}, "b"), "refused"],
    ["a pod that has succeeded by now (96363)", live({ phase: "Succeeded" }), "refused"],
    ["a pod that has failed by now (96363)", live({ phase: "Failed" }), "refused"],
    ["a pod that tolerates for ever by now (L22)", live({ tolerations: [{ operator: "Exists" }] }), "refused"],
    [
      "a pod whose toleration was lengthened",
      live({ tolerations: [{ ...tolerating, tolerationSeconds: 400 }] }),
      "refused",
    ],
  ])("is moot for %s", (_what, pod, outcome) => {
    expect(decideEviction(ask, tainted, pod, rules)).toMatchObject({ kind: "moot", outcome });
  });

  test("is refused without a live NoExecute taint (119862, 139992)", () => {
    expect(decideEviction(ask, observedNode("a"), live({ tolerations: [] }), rules)).toMatchObject({
      outcome: "refused",
    });
  });

  test("says of each node in its refusal that it is a node", () => {
    const untainted = decideEviction(ask, observedNode("a"), live({ tolerations: [] }), rules);
    expect(untainted).toMatchObject({ detail: "the pod tolerates every NoExecute taint of node a" });
    expect(decideEviction(ask, tainted, live({}, {}, "b"), rules)).toMatchObject({
      detail: "the pod is bound to node b",
    });
  });

  test("counts from the binding of a pod that came later", () => {
    expect(decideEviction(ask, tainted, live({ boundAt: ADDED_AT + 60_000 }), rules)).toMatchObject({
      outcome: "refused",
    });
  });

  test("without timeAdded counts from its record, else the request", () => {
    const bare = observedNode("a", { ready: "Unknown", taints: [noExecute(UNREACHABLE)] });
    expect(decideEviction(ask, bare, live(), rules)).toMatchObject({ kind: "act" });
    const written = { ...bare, taintsSeenAt: { [`${UNREACHABLE}:NoExecute`]: DUE_AT - 10_000 } };
    expect(decideEviction(ask, written, live(), rules)).toMatchObject({ outcome: "refused" });
  });

  test.each(["2099-01-01T00:00:00Z", "2026-01-01T00:05:01Z"])(
    "stamped ahead, %s, accepts the requester's deadline",
    (timeAdded) => {
      const ahead = observedNode("a", { ready: "Unknown", taints: [noExecute(UNREACHABLE, { timeAdded })] });
      expect(decideEviction(ask, ahead, live(), rules)).toMatchObject({ kind: "act" });
    },
  );

  test("counts from the recorded start before the stamp", () => {
    const written = (at: number) => ({ taintsSeenAt: { [`${UNREACHABLE}:NoExecute`]: at } });
    for (const timeAdded of ["1970-01-01T00:00:00Z", "2026-01-01T00:04:00Z", "2099-01-01T00:00:00Z"]) {
      const stamped = observedNode("a", { ready: "Unknown", taints: [noExecute(UNREACHABLE, { timeAdded })] });
      expect(decideEviction(ask, { ...stamped, ...written(ADDED_AT) }, live(), rules)).toMatchObject({ kind: "act" });
      const later = { ...stamped, ...written(ADDED_AT + 1000) };
      expect(decideEviction(ask, later, live(), rules)).toMatchObject({ outcome: "refused" });
    }
  });
});

describe("a direct drain", () => {
  test("holds while the node is not ready, tolerated or not", () => {
    expect(decideEviction(drain, observedNode("a", { ready: "False" }), live(), rules)).toEqual({
      kind: "act",
      taint: null,
    });
  });

  test("is refused if the node has no Ready condition (R2.23)", () => {
    const bare = observedNode("a", { ready: null });
    expect(decideEviction(drain, bare, live(), rules)).toMatchObject({ outcome: "refused" });
  });

  test("is forbidden in taint mode, as the reverse in direct mode", () => {
    const upstream = "replace";
    expect(forbiddenEviction(drain, { evictionMode: "taint", upstream })).toContain("direct mode requests it");
    expect(forbiddenEviction(ask, { evictionMode: "direct", upstream })).toContain("taint mode requests it");
    expect(forbiddenEviction(ask, { evictionMode: "taint", upstream })).toBeNull();
  });

  test("is refused beside upstream, which evicts", () => {
    const beside = { evictionMode: "taint", upstream: "beside" };
    expect(forbiddenEviction(ask, beside)).toBe("beside upstream Vigil evicts no pod");
  });

  test("is refused for a ready node and a DaemonSet's pod (L39)", () => {
    expect(decideEviction(drain, observedNode("a"), live(), rules)).toMatchObject({ outcome: "refused" });
    const silent = observedNode("a", { ready: "Unknown" });
    expect(decideEviction(drain, silent, live({ owner: "DaemonSet" }), rules)).toMatchObject({ outcome: "refused" });
  });
});

describe("marking a pod not ready", () => {
  const silent = observedNode("a", { ready: "Unknown" });
  test.each<[string, LivePod | null, ReturnType<typeof observedNode>, object]>([
    ["acts on a ready pod on a node that is down", live(), silent, { kind: "act" }],
    ["is done if the condition is False already", live({ ready: "False" }), silent, { outcome: "ok" }],
    ["leaves a pod without the condition alone (R3.5)", live({ ready: null }), silent, { outcome: "refused" }],
    ["is refused if the node is ready again", live(), observedNode("a"), { outcome: "refused" }],
    [
      "is refused when the node has no Ready (R2.23)",
      live(),
      observedNode("a", { ready: null }),
      { outcome: "refused" },
    ],
    ["is moot for another pod of the name", live({ uid: "new" }), silent, { outcome: "gone" }],
    ["is moot for a pod that is elsewhere", live({}, {}, "b"), silent, { outcome: "refused" }],
  ])("%s", (_what, pod, node, verdict) => {
    expect(decideUnready(target, node, pod)).toMatchObject(verdict);
  });

  test("keeps reason and message, for one version (R3.2, R3.4)", () => {
    expect(unreadyPatch("uid-p", "7", "T")).toEqual({
      metadata: { uid: "uid-p", resourceVersion: "7" },
      status: { conditions: [{ type: "Ready", status: "False", lastTransitionTime: "T" }] },
    });
  });
});

describe("the eviction mark", () => {
  const message = `Taint manager: deleting due to NoExecute taint ${UNREACHABLE}:NoExecute on node a`;
  const condition = { type: "DisruptionTarget", status: "True", reason: "DeletionByTaintManager", message };

  test("names taint and node, bound to the uid (R8.28, R8.29)", () => {
    expect(disruptionTargetPatch(live({}, { status: { conditions: [{ type: "Ready" }] } }), taint, "T")).toEqual({
      metadata: { uid: "uid-p" },
      status: {
        "$setElementOrder/conditions": [{ type: "Ready" }, { type: "DisruptionTarget" }],
        conditions: [{ ...condition, lastTransitionTime: "T", observedGeneration: 3 }],
      },
    });
  });

  test.each([
    ["v", "k=v:NoExecute"],
    ["", "k:NoExecute"],
  ])("shows the taint's value %j as %s", (value, shown) => {
    const patch = disruptionTargetPatch(live(), noExecute("k", { value }), "T");
    expect(JSON.stringify(patch)).toContain(`taint ${shown} on node a`);
  });

  test("is written once; a new text keeps the transition (R3.4)", () => {
    const standing = (rest: object) => ({
      status: { conditions: [{ ...condition, lastTransitionTime: "T0", ...rest }] },
    });
    expect(disruptionTargetPatch(live({}, standing({})), taint, "T")).toBeNull();
    const patch = disruptionTargetPatch(live({}, standing({ message: "old" })), taint, "T");
    expect(patch?.status.conditions).toMatchObject([{ message, lastTransitionTime: "T0" }]);
    expect(patch?.status["$setElementOrder/conditions"]).toEqual([{ type: condition.type }]);
    const raised = disruptionTargetPatch(live({}, standing({ status: "False" })), taint, "T");
    expect(raised?.status.conditions).toMatchObject([{ status: "True", lastTransitionTime: "T" }]);
  });

  test("has no generation if the API has none", () => {
    const { generation: _none, ...pod } = live().pod;
    const patch = disruptionTargetPatch({ ...live(), pod }, taint, "T");
    expect(JSON.stringify(patch)).not.toContain("observedGeneration");
  });

  test("of an unread pod names the observed version", () => {
    expect(disruptionTargetPatch({ ...live(), object: null }, taint, "T")).toEqual({
      metadata: { uid: "uid-p", resourceVersion: "7" },
      status: { conditions: [{ ...condition, lastTransitionTime: "T", observedGeneration: 3 }] },
    });
    expect(nodeLostPatch({ ...live(), object: null })?.metadata).toEqual({ uid: "uid-p", resourceVersion: "7" });
  });

  test("of a drain says NodeLost, once (R5.16)", () => {
    expect(nodeLostPatch(live())).toEqual({
      metadata: { uid: "uid-p" },
      status: { reason: "NodeLost", message: "Node a which was running pod p is unresponsive" },
    });
    expect(nodeLostPatch(live({}, { status: { reason: "NodeLost" } }))).toBeNull();
  });
});
