/** Which pods of a node that is not ready are marked not ready, and how often. */
import { describe, expect, test } from "vitest";
import type { ObservedPod } from "../../protocols/objects.ts";
import {
  type BoundPods,
  boundWhileNotReady,
  podsToMarkUnready,
  withoutMarked,
} from "../../services/node/unready.policy.ts";
import { observedPod } from "../support/observed-objects.ts";
import { nodeWith } from "./node-fixtures.ts";

const names = (pods: readonly ObservedPod[]): string[] => pods.map(({ name }) => name);

/** Observes one list of pods after the other while the kubelet reports Ready=False. */
function boundAfter(...lists: (readonly ObservedPod[] | null)[]): BoundPods | null {
  return lists.reduce<BoundPods | null>((bound, pods) => boundWhileNotReady(bound, nodeWith("False"), pods), null);
}

describe("on an Unknown node", () => {
  test("all pods are marked whose Ready is not False (R3.2, R3.5)", () => {
    const pods = [
      observedPod("ready"),
      observedPod("unknown", { ready: "Unknown" }),
      observedPod("unready", { ready: "False" }),
      observedPod("bare", { ready: null }),
      observedPod("done", { phase: "Succeeded" }),
      observedPod("daemon", { owner: "DaemonSet" }),
    ];
    expect(names(podsToMarkUnready(nodeWith("Unknown"), pods, null))).toEqual(["ready", "unknown", "done", "daemon"]);
  });
});

describe.each([["True"], [null]] as const)("while Ready is %s", (ready) => {
  test("no pod is marked (R2.29) and none is tracked", () => {
    const pods = [observedPod("pod")];
    const bound = boundAfter([], pods);
    expect(podsToMarkUnready(nodeWith(ready), pods, bound)).toEqual([]);
    expect(boundWhileNotReady(bound, nodeWith(ready), pods)).toBeNull();
  });
});

describe("on a NotReady node", () => {
  const [old, late] = [observedPod("old"), observedPod("late")];
  const marked = (bound: BoundPods | null, pods: readonly ObservedPod[]): string[] =>
    names(podsToMarkUnready(nodeWith("False"), pods, bound));

  test("pods bound before are left to the kubelet (R2.28)", () => {
    expect(marked(boundAfter([old]), [old])).toEqual([]);
    expect(marked(boundAfter(null, [old]), [old])).toEqual([]);
  });

  test("a later pod is marked until it was not ready (R1.6, R3.11)", () => {
    expect(marked(boundAfter([old], [old, late]), [old, late])).toEqual(["late"]);
    expect(marked(boundAfter([old], [old, late], null, [old, { ...late }]), [old, late])).toEqual(["late"]);
    const unready = observedPod("late", { ready: "False" });
    expect(marked(boundAfter([old], [old, late], [old, unready], [old, late]), [old, late])).toEqual([]);
  });

  test("a pod bound without a Ready condition is marked once ready", () => {
    const bare = observedPod("late", { ready: null });
    expect(marked(boundAfter([], [bare]), [bare])).toEqual([]);
    expect(marked(boundAfter([], [bare], [late]), [late])).toEqual(["late"]);
  });

  test("a marked pod is not marked again before the list shows it", () => {
    const bound = withoutMarked(boundAfter([old], [old, late]), late.uid);
    expect(marked(bound, [old, late])).toEqual([]);
    expect(marked(boundWhileNotReady(bound, nodeWith("False"), [late]), [late])).toEqual([]);
  });

  test("an older list in between makes no pod new again", () => {
    const unready = observedPod("late", { ready: "False" });
    expect(marked(boundAfter([old], [old, late], [old, unready], [], [old, late]), [old, late])).toEqual([]);
  });

  test("an older list in between loses no mark", () => {
    expect(marked(boundAfter([old], [old, late], [], [old, late]), [old, late])).toEqual(["late"]);
  });

  test("a pod is identified by its uid, not its name", () => {
    const again = observedPod("late", { uid: "another" });
    expect(marked(boundAfter([], [late], [observedPod("late", { ready: "False" })], [again]), [again])).toEqual([
      "late",
    ]);
  });
});
