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
const CPU_MS_MAX = 1_500;
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
  "%s of 5,000 nodes with 50,000 pods is previewed in about a second",
  (what) => {
    const snapshot = largeCluster();
    const names = snapshot.nodes.slice(0, NODES / 3).map(({ node }) => node);
    const flags = { zone: "b", node: [], down: true, taint: "" };
    const fault =
      what === "a whole zone"
        ? faultOf(flags, snapshot.nodes)
        : faultOf({ ...flags, zone: "", node: names }, snapshot.nodes);
    const before = process.cpuUsage();
    const preview = previewOf(snapshot, fault, STANDARD_PROFILE);
    const { user, system } = process.cpuUsage(before);
    expect(preview.pods.filter(({ deletedAfterMs }) => deletedAfterMs !== null)).toHaveLength(
      preview.nodes.length * PODS_PER_NODE,
    );
    // CPU time, because other programs of the machine must not fail the test; a busy one takes half as long again.
    expect((user + system) / 1000).toBeLessThan(CPU_MS_MAX);
  },
);
