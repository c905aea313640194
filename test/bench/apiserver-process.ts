/** The embedded API in a process of its own, filled with a cluster, for the benchmark that forks it. */
import { ApiServer } from "../../services/apiserver/apiserver.ts";
import { listen } from "../../services/apiserver/http-front.ts";
import type { ApiObject } from "../../services/apiserver/objects.ts";
import { resourceAt } from "../../services/apiserver/resources.ts";
import { realClock } from "../../services/runtime/clock.real.ts";
import { seededRandom } from "../../services/runtime/random.ts";

/** What the process tells: once when it is filled and listens, and then its CPU time whenever it is asked. */
export type ApiserverReport =
  | {
      readonly kind: "filled";
      readonly url: string;
      readonly createMicros: Readonly<Record<"node" | "lease" | "pod", number>>;
      readonly rssMebibytes: number;
    }
  | { readonly kind: "cpu"; readonly micros: number };

const MEBIBYTE = 1024 ** 2;
const STAMP = "2026-01-01T00:00:00Z";

const [nodes = 0, podsPerNode = 0] = process.argv.slice(2).map(Number);
const api = new ApiServer({ clock: realClock(), random: seededRandom(1) });

function fill(
  apiVersion: string,
  plural: string,
  namespace: string,
  count: number,
  make: (index: number) => object,
): number {
  const resource = resourceAt(apiVersion, plural);
  if (resource === null) throw new Error(`${apiVersion} ${plural} is not served`);
  const before = process.cpuUsage();
  for (let index = 0; index < count; index++) {
    api.registry.create(resource, namespace, { apiVersion, kind: resource.kind, ...make(index) } as ApiObject);
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

function nodeOf(index: number): object {
  const conditions = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"].map((type) => ({
    type,
    status: type === "Ready" ? "True" : "False",
    lastHeartbeatTime: STAMP,
    lastTransitionTime: STAMP,
    reason: `Kubelet${type}`,
    message: `kubelet tells about ${type}`,
  }));
  const capacity = { cpu: "4", memory: "8Gi", pods: "110" };
  const labels = { "topology.kubernetes.io/zone": `z-${index % 10}`, "kubernetes.io/os": "linux" };
  const status = { capacity, allocatable: capacity, conditions, nodeInfo: { kubeletVersion: "v1.32.0" } };
  return { metadata: { name: `n-${index}`, labels }, status };
}

const leaseOf = (index: number): object => ({
  metadata: { name: `n-${index}` },
  spec: { holderIdentity: `n-${index}`, leaseDurationSeconds: 40, renewTime: "2026-01-01T00:00:00.000000Z" },
});

const podOf = (index: number): object => ({
  metadata: { name: `p-${index}`, labels: { app: `a-${index % 100}` } },
  spec: { nodeName: `n-${index % nodes}`, containers: [{ name: "main", image: "registry.example/app:1" }] },
});

function report(told: ApiserverReport): void {
  process.send?.(told);
}

const createMicros = {
  node: fill("v1", "nodes", "", nodes, nodeOf),
  lease: fill("coordination.k8s.io/v1", "leases", "kube-node-lease", nodes, leaseOf),
  pod: fill("v1", "pods", "default", nodes * podsPerNode, podOf),
};
const { url } = await listen(api, { port: 0 });
report({ kind: "filled", url, createMicros, rssMebibytes: process.memoryUsage().rss / MEBIBYTE });
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  report({ kind: "cpu", micros: user + system });
});
process.on("disconnect", () => process.exit());
