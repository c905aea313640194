/**
 * The least that evictions cost: a client that evicts the pods of tainted nodes at their deadlines and decides nothing.
 * It sends what a controller of the server's version sends: a deletion, from 1.26 on after a mark with the reason. It
 * knows the pods by name and reads no node, so what a controller is later than it, the controller is to blame for; the
 * rest is the API server's.
 */
import type { Stop, Wire } from "../../protocols/ports.ts";
import { apiTime } from "../../services/domain/api-time.ts";
import { objectPath } from "../../services/platform/kube/transport/paths.ts";
import { DISRUPTION_TARGET, marksEvictions } from "../../services/pod-writer/pod-writer.policy.ts";
import { hollowPod } from "../../services/sandbox/hollow/hollow-pods.ts";
import type { World } from "./bench-world.ts";
import { changesOf, minorVersionOf, patch, remove } from "./raw-api.ts";
import { BENCH_TAINT, BENCH_TOLERATION_SECONDS } from "./typical-objects.ts";

/** As many as Vigil has in flight at first. */
const AT_ONCE = 16;

/** Evicts the pods of every node that gets the benchmark's taint from now on, once they have tolerated it. */
export async function evictBarely({ wire, size }: World): Promise<Stop> {
  const evict = marksEvictions(await minorVersionOf(wire)) ? markAndRemove : remove;
  const tainted = new Set<string>();
  const due: string[] = [];
  let underWay = 0;
  const ended = (): void => {
    underWay--;
    drain();
  };
  const drain = (): void => {
    while (underWay < AT_ONCE) {
      const path = due.shift();
      if (path === undefined) return;
      underWay++;
      evict(wire, path).then(ended, ended);
    }
  };
  return changesOf(wire, "/api/v1/nodes", ({ metadata: { name }, spec }) => {
    if (tainted.has(name) || spec.taints?.some(({ key }) => key === BENCH_TAINT.key) !== true) return;
    tainted.add(name);
    setTimeout(() => {
      for (let index = 0; index < size.podsPerNode; index++) due.push(objectPath(hollowPod(name, index).ref));
      drain();
    }, BENCH_TOLERATION_SECONDS * 1000);
  });
}

async function markAndRemove(wire: Wire, path: string): Promise<void> {
  const mark = { ...DISRUPTION_TARGET, message: "benchmark", lastTransitionTime: apiTime(Date.now()) };
  await patch(wire, `${path}/status`, { status: { conditions: [mark] } }, "strategic-merge");
  await remove(wire, path);
}
