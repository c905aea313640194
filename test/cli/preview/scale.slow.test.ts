/** How long a preview of a large cluster takes. */
import { expect, test } from "vitest";
import { NO_POLICIES } from "../../../protocols/policy-set.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { faultOf } from "../../../services/cli/preview/fault.policy.ts";
import { previewOf } from "../../../services/cli/preview/preview.policy.ts";
import type { Snapshot } from "../../../services/cli/preview/snapshot.ts";
import { observedNode, observedPod } from "../../support/observed-objects.ts";

const TAKEN_AT = Date.UTC(2026, 0, 1);
const NODES = 5_000;
const PODS_PER_NODE = 10;
const ZONES = ["a", "b", "c"];
/** A preview takes four to five times as long as the pods' own way through JSON, which says how fast the machine is. */
const COPIES_MAX = 8;
const TOLERATION = {
  key: "node.kubernetes.io/unreachable",
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds: 300,
};

function largeCluster(): Snapshot {
  const names = Array.from({ length: NODES }, (_, index) => `worker-${index}`);
  const nodes = names.map((name, index) => ({
    ...observedNode(name, { ready: "True" }),
    uid: `uid-${name}`,
    labels: { "topology.kubernetes.io/zone": ZONES[index % ZONES.length] ?? "" },
  }));
  const pods = names.flatMap((node) =>
    Array.from({ length: PODS_PER_NODE }, (_, index) => {
      const name = `${node}-pod-${index}`;
      return {
        node,
        resourceVersion: "1",
        pod: observedPod(name, { uid: name, tolerations: [TOLERATION], ready: "True" }),
      };
    }),
  );
  const renewedAt = new Map(names.map((name, index) => [name, TAKEN_AT - (index % 10_000)]));
  const policies = { policies: NO_POLICIES, limitMemories: new Map(), unread: [] };
  return { takenAt: TAKEN_AT, nodes, renewedAt, pods, ...policies };
}

test.each(["a whole zone", "a third of all nodes"])(
  "%s of 5,000 nodes with 50,000 pods costs less than 8 copies of them",
  (what) => {
    const snapshot = largeCluster();
    const names = snapshot.nodes.slice(0, NODES / 3).map(({ node }) => node);
    const flags = { zone: "b", node: [], down: true, taint: "" };
    const fault =
      what === "a whole zone"
        ? faultOf(flags, snapshot.nodes)
        : faultOf({ ...flags, zone: "", node: names }, snapshot.nodes);
    const { result: preview, cpuMs } = costOf(() => previewOf(snapshot, fault, STANDARD_PROFILE));
    expect(preview.pods.filter(({ deletedAfterMs }) => deletedAfterMs !== null)).toHaveLength(
      preview.nodes.length * PODS_PER_NODE,
    );
    expect(cpuMs / copyMsOf(snapshot.pods)).toBeLessThan(COPIES_MAX);
  },
);

/** The median of three copies by JSON. */
function copyMsOf(value: unknown): number {
  const runs = [1, 2, 3].map(() => costOf(() => JSON.parse(JSON.stringify(value))).cpuMs);
  return runs.sort((left, right) => left - right)[1] ?? Number.NaN;
}

/** What something returns, and its CPU time: other programs of the machine must not fail the test. */
function costOf<T>(run: () => T): { result: T; cpuMs: number } {
  const before = process.cpuUsage();
  const result = run();
  const { user, system } = process.cpuUsage(before);
  return { result, cpuMs: (user + system) / 1000 };
}
