/** Which pods a disruption budget protects, by the version in which the API server serves it. */
import { expect, test } from "vitest";
import type { BoundPod, KubeObject, ObjectRef, ReadReply } from "../../../protocols/ports.ts";
import type { DisruptionBudget } from "../../../services/sandbox/virtual/budgeted-kube.ts";
import { readBudgets } from "../../../services/sandbox/virtual/snapshot-budgets.ts";

const POD: BoundPod = {
  node: "a-0",
  resourceVersion: "1",
  pod: {
    namespace: "default",
    name: "web",
    uid: "u-1",
    createdAt: 0,
    boundAt: 0,
    phase: "Running",
    ready: "True",
    tolerations: [],
    owner: null,
    deletionAt: null,
  },
};
const LABELLED: KubeObject = { metadata: { namespace: "default", name: "web", uid: "u-1", labels: { app: "shop" } } };

/** The uids that a budget with this selector protects, of an API server that serves one version. */
function protectedBy(version: "v1" | "v1beta1", selector: unknown): readonly string[] | null {
  const budget: KubeObject = { metadata: { namespace: "default", name: "shop" }, spec: { selector } };
  const read = (ref: ObjectRef, done: (reply: ReadReply) => void): void => {
    if (ref.kind === "Pod") done({ outcome: "ok", object: { metadata: { name: "" }, items: [LABELLED] } });
    else if (ref.resource?.version !== version) done({ outcome: "gone", detail: "no such version" });
    else done({ outcome: "ok", object: { metadata: { name: "" }, items: [budget] } });
  };
  let found: readonly DisruptionBudget[] | null = null;
  readBudgets({ read }, { pods: [POD], namespaces: new Set(["default"]) }, (budgets) => {
    found = budgets;
  });
  return (found as readonly DisruptionBudget[] | null)?.flatMap(({ pods }) => [...pods.keys()]) ?? null;
}

test.each<["v1" | "v1beta1", string, unknown, readonly string[]]>([
  ["v1", "an empty", {}, ["u-1"]],
  ["v1", "no", null, []],
  ["v1beta1", "an empty", {}, []],
  ["v1beta1", "an empty matchLabels as its", { matchLabels: {} }, []],
  ["v1beta1", "no", null, []],
  ["v1beta1", "a matching", { matchLabels: { app: "shop" } }, ["u-1"]],
])("a budget of %s with %s selector", (version, _what, selector, uids) => {
  expect(protectedBy(version, selector)).toEqual(uids);
});
