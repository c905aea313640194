/**
 * The least that evictions cost: a client that evicts the pods of tainted nodes at their deadlines and decides nothing.
 * It sends what a controller of the server's version sends: a deletion, from 1.26 on after a mark with the reason. It
 * knows the pods by name and reads no node.
 */
import type { Stop } from "../../protocols/ports.ts";
import { apiTime } from "../../services/domain/api-time.ts";
import { objectPath } from "../../services/platform/kube/transport/paths.ts";
import { DISRUPTION_TARGET, marksEvictions } from "../../services/pod-writer/pod-writer.policy.ts";
import { hollowPod } from "../../services/sandbox/hollow/hollow-pods.ts";
import { BareClient } from "./bare-client.ts";
import type { World } from "./bench-world.ts";
import { changesOf, patch, remove, serverVersionOf } from "./raw-api.ts";
import { BENCH_TAINT, BENCH_TOLERATION_SECONDS } from "./typical-objects.ts";

/** What is begun is finished first. */
const Urgency = { deletion: 0, mark: 1 } as const;

/** Evicts the pods of every node that gets the benchmark's taint from now on, once they have tolerated it. */
export async function evictBarely({ wire, size }: World): Promise<Stop> {
  const client = new BareClient();
  const marks = marksEvictions((await serverVersionOf(wire)).minor);
  const removeSoon = (path: string): void => client.write(Urgency.deletion, () => remove(wire, path));
  const mark = async (path: string): Promise<void> => {
    const condition = { ...DISRUPTION_TARGET, message: "benchmark", lastTransitionTime: apiTime(Date.now()) };
    await patch(wire, `${path}/status`, { status: { conditions: [condition] } }, "strategic-merge");
    removeSoon(path);
  };
  const evict = (path: string): void => {
    if (marks) client.write(Urgency.mark, () => mark(path));
    else removeSoon(path);
  };
  const tainted = new Set<string>();
  return changesOf(wire, "/api/v1/nodes", ({ metadata: { name }, spec }) => {
    if (tainted.has(name) || spec.taints?.some(({ key }) => key === BENCH_TAINT.key) !== true) return;
    tainted.add(name);
    setTimeout(() => {
      for (let index = 0; index < size.podsPerNode; index++) evict(objectPath(hollowPod(name, index).ref));
    }, BENCH_TOLERATION_SECONDS * 1000);
  });
}
