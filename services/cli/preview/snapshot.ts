/** The cluster at one instant, as a preview starts from it. It is read with the watches of a run, and nothing else. */
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { BoundPod, Clock, Kube, Stop, Watched } from "../../../protocols/ports.ts";

/** Every node, lease and bound pod at one instant. */
export interface Snapshot {
  /** Epoch milliseconds. */
  readonly takenAt: number;
  readonly nodes: readonly ObservedNode[];
  /** The renewTime of each node's lease, by node. */
  readonly renewedAt: ReadonlyMap<string, number | null>;
  readonly pods: readonly BoundPod[];
}

/** Lists nodes, leases and pods, then calls `done` once. */
export function takeSnapshot(
  kube: Kube,
  clock: Pick<Clock, "wallMs" | "soon">,
  done: (snapshot: Snapshot) => void,
): Stop {
  const nodes = new Map<string, ObservedNode>();
  const renewedAt = new Map<string, number | null>();
  const pods = new Map<string, BoundPod>();
  const unsynced = new Set<keyof Watched>(["nodes", "leases", "pods"]);
  const stops: Stop[] = [];
  const stop = (): void => {
    for (const each of stops.splice(0)) each();
  };
  const synced = (what: keyof Watched): void => {
    if (!unsynced.delete(what) || unsynced.size > 0) return;
    clock.soon(() => {
      stop();
      done({ takenAt: clock.wallMs(), nodes: [...nodes.values()], renewedAt, pods: [...pods.values()] });
    });
  };
  const open = <K extends keyof Watched>(
    what: K,
    changed: (object: Watched[K]) => void,
    gone: (key: string) => void,
  ): void => {
    const watch = kube.watch(what, { changed, gone, state: (state) => state.synced && synced(what) });
    stops.push(() => watch.stop());
  };
  open(
    "nodes",
    (node) => nodes.set(node.node, node),
    (name) => nodes.delete(name),
  );
  open(
    "leases",
    (lease) => renewedAt.set(lease.node, lease.renewedAt),
    (name) => renewedAt.delete(name),
  );
  open(
    "pods",
    (bound) => pods.set(`${bound.pod.namespace}/${bound.pod.name}`, bound),
    (key) => pods.delete(key),
  );
  return stop;
}
