/** How the time of a preview grows with the cluster. */
import { expect, test } from "vitest";
import { NO_POLICIES } from "../../../protocols/policy-set.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { type Fault, faultOf } from "../../../services/cli/preview/fault.policy.ts";
import { previewOf } from "../../../services/cli/preview/preview.policy.ts";
import type { Snapshot } from "../../../services/cli/preview/snapshot.ts";
import { observedNode, observedPod } from "../../support/observed-objects.ts";

const TAKEN_AT = Date.UTC(2026, 0, 1);
const NODES = 1_500;
const PODS_PER_NODE = 10;
const ZONES = ["a", "b", "c"];
/** How many times as many nodes the large cluster has as the small one. */
const FACTOR = 5;
const TOLERATION = {
  key: "node.kubernetes.io/unreachable",
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds: 300,
};

function clusterOf(nodeCount: number): Snapshot {
  const names = Array.from({ length: nodeCount }, (_, index) => `worker-${index}`);
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
  const policies = { configured: [], resources: [], policies: NO_POLICIES, freezes: null };
  return { takenAt: TAKEN_AT, nodes, renewedAt, pods, ...policies, budgets: [], unread: [] };
}

test.each(["a whole zone", "a third of all nodes"])(
  "the cost of %s grows with the nodes, not with their square",
  (what) => {
    const small = clusterOf(NODES / FACTOR);
    const large = clusterOf(NODES);
    previewOf(small, outage(what, small), STANDARD_PROFILE);
    const costs = [1, 2, 3].map(() => costOf(() => previewOf(small, outage(what, small), STANDARD_PROFILE)).cpuMs);
    const { result: preview, cpuMs } = costOf(() => previewOf(large, outage(what, large), STANDARD_PROFILE));
    expect(preview.pods.filter(({ deletedAfterMs }) => deletedAfterMs !== null)).toHaveLength(
      preview.nodes.length * PODS_PER_NODE,
    );
    const [, smallMs = 0] = costs.sort((left, right) => left - right);
    expect(cpuMs / smallMs).toBeLessThan(2 * FACTOR);
  },
);

function outage(what: string, { nodes }: Snapshot): Fault {
  const third = nodes.slice(0, nodes.length / 3).map(({ node }) => node);
  const names = what === "a whole zone" ? { zone: "b", node: [] } : { zone: "", node: third };
  return faultOf({ ...names, down: true, taint: "" })(nodes);
}

/** What something returns, and its CPU time: other programs of the machine must not fail the test. */
function costOf<T>(run: () => T): { result: T; cpuMs: number } {
  const before = process.cpuUsage();
  const result = run();
  const { user, system } = process.cpuUsage(before);
  return { result, cpuMs: (user + system) / 1000 };
}
