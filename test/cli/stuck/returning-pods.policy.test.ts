/** Which pods come back to a node with a NoExecute taint, and what is said of them. */
import { describe, expect, test } from "vitest";
import type { ObservedPod } from "../../../protocols/objects.ts";
import { returningPodOf } from "../../../services/cli/stuck/returning-pods.policy.ts";
import type { NodeSituation } from "../../../services/cli/stuck/stuck-pods.policy.ts";
import { observedPod } from "../../support/observed-objects.ts";

const NOW = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;
const TAINTED_AT = NOW - 10 * MINUTE_MS;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" } as const;
const TAINTED: NodeSituation = {
  ready: "True",
  since: NOW - 60 * MINUTE_MS,
  isOutOfService: false,
  isProvedDown: false,
  evicting: [{ taint: MAINTENANCE, since: TAINTED_AT }],
};
const OWNED = { owner: "DaemonSet", ownerUid: "u-owner" };
const found = (pod: Partial<ObservedPod>, facts: NodeSituation | undefined = TAINTED) => {
  const bound = { node: "n", resourceVersion: "1", pod: observedPod("pod", { boundAt: 0, createdAt: 0, ...pod }) };
  return returningPodOf(bound, facts, NOW);
};
const AFTER = { createdAt: TAINTED_AT + MINUTE_MS, boundAt: TAINTED_AT + MINUTE_MS };

describe("a pod that comes back", () => {
  test("is the mirror of a static pod, since it should have left", () => {
    const pod = found({ mirror: true });
    expect(pod).toMatchObject({ nodeState: "Ready", graceEndedAt: null, stuckSince: TAINTED_AT });
    expect(pod?.holds).toMatchObject([
      {
        kind: "StaticPod",
        why: "it mirrors a static pod, which its kubelet creates again despite maintenance:NoExecute",
        releasedBy: "the removal of its manifest from the node, or a toleration of maintenance:NoExecute",
      },
    ]);
  });

  test("is one whose owner created it after the taint", () => {
    expect(found({ ...OWNED, ...AFTER })?.holds).toMatchObject([
      {
        kind: "Owner",
        why: "its DaemonSet created it on the node after maintenance:NoExecute, which it does not tolerate",
      },
    ]);
  });

  test.each([
    ["was there before the taint", { ...OWNED }, TAINTED],
    ["has no owner", AFTER, TAINTED],
    [
      "tolerates it for a while",
      { ...OWNED, ...AFTER, tolerations: [{ operator: "Exists", tolerationSeconds: 9 }] },
      TAINTED,
    ],
    ["tolerates the taint", { mirror: true, tolerations: [{ operator: "Exists" }] }, TAINTED],
    [
      "mirrors a static pod within its countdown",
      { mirror: true, tolerations: [{ operator: "Exists", tolerationSeconds: 900 }] },
      TAINTED,
    ],
    ["has completed", { mirror: true, phase: "Succeeded" }, TAINTED],
    ["is terminating", { mirror: true, deletionAt: NOW }, TAINTED],
    ["is on a node without a taint", { mirror: true }, { ...TAINTED, evicting: [] }],
    ["is on a node that is gone", { mirror: true }, undefined],
  ] as const)("is none that %s", (_what, pod, facts) => {
    const bound = { node: "n", resourceVersion: "1", pod: observedPod("pod", pod as Partial<ObservedPod>) };
    expect(returningPodOf(bound, facts, NOW)).toBeNull();
  });
});
