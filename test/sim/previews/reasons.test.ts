/** Whether a reason of a preview that is not true of the cluster is found, and a true one is not. */
import { describe, expect, test } from "vitest";
import type { PreviewedPodReport } from "../../../services/cli/preview/preview.ts";
import type { CheckedPod, CheckedToleration } from "../invariants.ts";
import { policyStateOf } from "../policies/policy-state.ts";
import { POOL_LABEL } from "../policies/pools.ts";
import { type ReasonedCluster, reasonProblem } from "./reasons.ts";

const KEY = "node.kubernetes.io/unreachable";
const TAINT = `${KEY}:NoExecute`;

/** A cluster with one policy of these fields and one pod. */
function cluster(
  fields: object,
  tolerations: readonly CheckedToleration[] = [],
  owner = "Deployment",
): ReasonedCluster {
  const state = policyStateOf({ selector: { matchLabels: { [POOL_LABEL]: "gpu" } }, ...fields }, []);
  const ownerReferences = [{ kind: owner, controller: true }];
  const metadata = { namespace: "default", name: "web", uid: "u", creationTimestamp: "", ownerReferences };
  const pod: CheckedPod = { metadata, spec: { tolerations } };
  return {
    pods: new Map([["web", pod]]),
    policies: new Map(state === null ? [] : [["gpu", state]]),
    isComparing: false,
  };
}

function podWith(why: string): PreviewedPodReport {
  return { namespace: "default", name: "web", node: "n-1", deletedAfterMs: null, why };
}

function problemOf(why: string, shown: ReasonedCluster): string | null {
  return reasonProblem({ nodes: [], pods: [podWith(why)] }, shown);
}

const forSeconds = (tolerationSeconds: number) => [{ key: KEY, operator: "Exists", tolerationSeconds }];
const forEver = [{ key: KEY, operator: "Exists" }];

describe("of a pod", () => {
  test.each([
    ["its seconds", `does not tolerate ${TAINT} for more than 30 s`, cluster({}, forSeconds(30))],
    ["no toleration", `does not tolerate ${TAINT}`, cluster({})],
    ["a toleration for ever", `tolerates ${TAINT}`, cluster({}, forEver)],
    ["its DaemonSet", "belongs to a DaemonSet", cluster({}, [], "DaemonSet")],
    ["the only rate", "held back by evictions.maxPerMinute of gpu", cluster({ evictions: { maxPerMinute: 1 } })],
    ["what the check does not read", "not known", cluster({})],
  ])("%s is true", (_what, why, shown) => {
    expect(problemOf(why, shown)).toBeNull();
  });

  test.each([
    ["other seconds", `does not tolerate ${TAINT} for more than 30 s`, cluster({}, forSeconds(60))],
    ["seconds where it tolerates for ever", `does not tolerate ${TAINT} for more than 30 s`, cluster({}, forEver)],
    ["a toleration that ends", `tolerates ${TAINT}`, cluster({}, forSeconds(30))],
    ["a DaemonSet that is none", "belongs to a DaemonSet", cluster({})],
    ["a rate that its policy does not set", "held back by evictions.maxPerMinute of gpu", cluster({})],
    [
      "the looser of two rates",
      "held back by evictions.maxPerMinute of gpu",
      cluster({ evictions: { maxPerMinute: 4, maxPerNamespacePerMinute: 2 } }),
    ],
  ])("%s is not so", (_what, why, shown) => {
    expect(problemOf(why, shown)).toBe(`web: "${why}" is not so`);
  });

  test("that does not exist, anything is not so", () => {
    expect(problemOf("not known", { ...cluster({}), pods: new Map() })).toBe('web: "not known" is not so');
  });
});

describe("of a node", () => {
  const heldBy = (text: string, fields: object) => {
    const times = { unknownAfterMs: null, admittedAfterMs: null, pods: 0, podsDeleted: 0 };
    const node = { node: "n-1", zone: "z", policy: "gpu", heldBy: text, ...times };
    return reasonProblem({ nodes: [node], pods: [] }, cluster(fields));
  };

  test.each([
    ["a field that its policy sets", "budgets of gpu", { budgets: [{ nodes: 1 }] }],
    ["a limit of all nodes", "circuitBreaker of the cluster", {}],
  ])("%s is true", (_what, text, fields) => {
    expect(heldBy(text, fields)).toBeNull();
  });

  test("a field that its policy does not set is not so", () => {
    expect(heldBy("budgets of gpu", {})).toBe("n-1 is not held back by budgets of gpu");
  });
});
