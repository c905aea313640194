/**
 * The least that evictions cost: a client that deletes the pods of tainted nodes at their deadlines and decides
 * nothing. It knows the pods by name, reads no node and gives no reason, so what a controller is later than it, the
 * controller is to blame for; the rest is the API server's.
 */
import type { Stop } from "../../protocols/ports.ts";
import { objectPath } from "../../services/platform/kube/transport/paths.ts";
import { hollowPod } from "../../services/sandbox/hollow/hollow-pods.ts";
import type { World } from "./bench-world.ts";
import { changesOf, remove } from "./raw-api.ts";
import { BENCH_TAINT, BENCH_TOLERATION_SECONDS } from "./typical-objects.ts";

/** As many as Vigil has in flight at first. */
const DELETIONS_AT_ONCE = 16;

/** Deletes the pods of every node that gets the benchmark's taint from now on, once they have tolerated it. */
export async function deleteBarely({ wire, size }: World): Promise<Stop> {
  const tainted = new Set<string>();
  const due: string[] = [];
  let underWay = 0;
  const ended = (): void => {
    underWay--;
    drain();
  };
  const drain = (): void => {
    while (underWay < DELETIONS_AT_ONCE) {
      const path = due.shift();
      if (path === undefined) return;
      underWay++;
      remove(wire, path).then(ended, ended);
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
