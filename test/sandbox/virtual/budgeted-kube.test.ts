/** What disruption budgets answer to evictions on virtual time. */
import { describe, expect, test } from "vitest";
import type { ObservedPod } from "../../../protocols/objects.ts";
import { Urgency, type WriteReply } from "../../../protocols/ports.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { BudgetedKube, type DisruptionBudget } from "../../../services/sandbox/virtual/budgeted-kube.ts";
import { DirectBus } from "../../../services/sandbox/virtual/direct-bus.ts";
import { SnapshotKube } from "../../../services/sandbox/virtual/snapshot-kube.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { observedPod } from "../../support/observed-objects.ts";

const READY = ["a", "b", "c"].map((uid) => observedPod(uid, { uid, ready: "True" }));
/** A budget of three healthy pods that needs two of them. */
const COUNTED = { healthy: 3, needed: 2, allowed: 1, isOutdated: false, freesUnready: false };

interface Given {
  readonly pods?: readonly ObservedPod[];
  readonly counted?: Partial<DisruptionBudget["counted"]>;
  readonly names?: readonly string[];
}

/** A port whose pods these budgets protect, and what it answers to writes. */
function fixture({ pods = READY, counted = {}, names = ["shop/web"] }: Given = {}) {
  const clock = new VirtualClock();
  const bus = new DirectBus(clock, "m");
  const byUid = new Map(pods.map((pod) => [pod.uid, pod]));
  const healthy = new Set(pods.filter(({ ready }) => ready === "True").map(({ uid }) => uid));
  const budgets = names.map((name) => ({ name, counted: { ...COUNTED, ...counted }, pods: byUid, healthy }));
  const io = { clock, log: silentLog, kube: new SnapshotKube(clock, null), bus: bus.of("shadow") };
  const kube = new BudgetedKube(io, budgets);
  const write = (verb: "evict" | "delete", uid: string): string => {
    let answer: WriteReply | null = null;
    kube.write(
      { verb, uid, ref: { kind: "Pod", namespace: "shop", name: uid }, urgency: Urgency.eviction },
      (reply) => {
        answer = reply;
      },
    );
    clock.advance(0);
    return (answer as WriteReply | null)?.outcome ?? "";
  };
  const unready = (uid: string): void => {
    const about = { ask: "asked.unready", kind: "Pod", namespace: "shop", name: uid, uid, node: "n" } as const;
    const done = { outcome: "shadowed", retrying: false, latencyMs: 0, change: "", detail: "" } as const;
    const body = { ...about, ...done, resourceVersion: null, podShadow: { unreadyAt: clock.wallMs() } };
    bus.of("pod-writer").publish("done.write", body, null);
    clock.advance(0);
  };
  return { kube, unready, evict: (uid: string) => write("evict", uid), remove: (uid: string) => write("delete", uid) };
}

describe("a budget lets go", () => {
  test("as many pods as it can, and refuses the others", () => {
    const { kube, evict } = fixture();
    expect([evict("a"), evict("b")]).toEqual(["shadowed", "throttled"]);
    expect([...kube.refusals]).toEqual([["b", "the disruption budget shop/web"]]);
  });

  test("none once one of its pods is deleted or not ready", () => {
    const deleted = fixture();
    deleted.remove("a");
    expect(deleted.evict("b")).toBe("throttled");
    const silent = fixture();
    silent.unready("a");
    expect(silent.evict("b")).toBe("throttled");
  });

  test("a pod that is not ready, while enough others are", () => {
    const { unready, evict } = fixture();
    unready("a");
    expect(evict("a")).toBe("shadowed");
    unready("b");
    expect(evict("b")).toBe("throttled");
  });

  test.each<[string, Given, string]>([
    ["an unready pod that it does not protect", { counted: { healthy: 1, freesUnready: true } }, "shadowed"],
    ["no unready pod where it needs it", { counted: { healthy: 1 } }, "throttled"],
  ])("%s", (_what, given, outcome) => {
    const { unready, evict } = fixture(given);
    unready("a");
    expect(evict("a")).toBe(outcome);
  });

  test.each<[string, Given]>([
    ["by counts of an earlier spec", { counted: { isOutdated: true } }],
    ["by counts that were not made yet", { counted: { allowed: 0 } }],
    ["of several budgets", { names: ["shop/web", "shop/all"] }],
  ])("no pod %s", (_what, given) => expect(fixture(given).evict("a")).toBe("throttled"));

  test.each<[string, Partial<ObservedPod>]>([
    ["does not run yet", { phase: "Pending" }],
    ["has ended", { phase: "Failed" }],
    ["terminates already", { deletionAt: 5 }],
  ])("a pod that %s", (_what, state) => {
    const pods = [observedPod("a", { uid: "a", ready: "True", ...state })];
    expect(fixture({ pods, counted: { allowed: 0 } }).evict("a")).toBe("shadowed");
  });
});

test("a pod that no budget protects is evicted", () => {
  expect(fixture({ counted: { allowed: 0 } }).evict("other")).toBe("shadowed");
});
