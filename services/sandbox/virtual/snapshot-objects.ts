/** The objects of a cluster at one instant, read as a run reads them, for a world that continues from them. */
import type { ObservedNode, WatchState } from "../../../protocols/objects.ts";
import type {
  BoundPod,
  Clock,
  Kube,
  KubeObject,
  PolicyResource,
  Stop,
  Watched,
  WatchOptions,
} from "../../../protocols/ports.ts";
import { watchedKey } from "./snapshot-kube.ts";

/** The objects of a cluster at one instant. */
export interface SnapshotObjects {
  /** Epoch milliseconds. */
  readonly takenAt: number;
  readonly nodes: readonly ObservedNode[];
  /** The renewTime of each node's lease, by node. */
  readonly renewedAt: ReadonlyMap<string, number | null>;
  readonly pods: readonly BoundPod[];
  /** The NodePolicy objects. */
  readonly resources: readonly PolicyResource[];
  /** The ConfigMap with freezes and the memory of limits; null for none. */
  readonly freezes: KubeObject | null;
}

/** Lists nodes, leases and pods, then calls `done` once. */
export function readObjects(
  { kube, clock }: { readonly kube: Kube; readonly clock: Pick<Clock, "wallMs" | "soon"> },
  options: WatchOptions,
  done: (objects: Pick<SnapshotObjects, "takenAt" | "nodes" | "renewedAt" | "pods">) => void,
): Stop {
  const unlisted = new Set<keyof Watched>(["nodes", "leases", "pods"]);
  const onList = (what: keyof Watched): void => {
    if (unlisted.delete(what) && unlisted.size === 0) clock.soon(finish);
  };
  const nodes = listWatched(kube, "nodes", onList, options);
  const leases = listWatched(kube, "leases", onList);
  const pods = listWatched(kube, "pods", onList);
  const stop = (): void => {
    for (const each of [nodes, leases, pods]) each.stop();
  };
  const finish = (): void => {
    stop();
    const renewedAt = new Map([...leases.objects].map(([node, lease]) => [node, lease.renewedAt]));
    done({ takenAt: clock.wallMs(), nodes: [...nodes.objects.values()], renewedAt, pods: [...pods.objects.values()] });
  };
  return stop;
}

/** Keeps the objects of a watch. Calls `listed` once they are complete, and where the API server serves none. */
export function listWatched<K extends keyof Watched>(
  kube: Kube,
  what: K,
  listed: (what: K) => void,
  options?: WatchOptions,
): { readonly objects: ReadonlyMap<string, Watched[K]>; readonly stop: Stop } {
  const objects = new Map<string, Watched[K]>();
  const sink = {
    changed: (object: Watched[K]) => objects.set(watchedKey(what, object), object),
    gone: (key: string) => objects.delete(key),
    state: ({ synced }: WatchState) => synced && listed(what),
    absent: () => listed(what),
  };
  const watch = kube.watch(what, sink, options);
  return { objects, stop: () => watch.stop() };
}
