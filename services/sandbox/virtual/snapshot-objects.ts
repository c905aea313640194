/** The objects of a cluster at one instant, read as a run reads them, for a world that continues from them. */
import { FREEZE_CONFIG_MAP } from "../../../protocols/names.ts";
import { NODE_POLICY_API } from "../../../protocols/node-policy.ts";
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

/** Where objects are read. */
export interface SnapshotIo {
  readonly kube: Kube;
  readonly clock: Pick<Clock, "wallMs" | "soon" | "after">;
}

/** How long the policies are awaited, in milliseconds: who may read nodes need not have the right to read them. */
const POLICIES_MS = 5_000;

/** Reads the NodePolicy objects and the ConfigMap of freezes; after a while goes on without those that are unread. */
export function readPolicies(
  { kube, clock }: SnapshotIo,
  done: (read: Pick<SnapshotObjects, "resources" | "freezes"> & { readonly unread: readonly string[] }) => void,
): Stop {
  const [ofPolicies, ofConfigMap] = [`${NODE_POLICY_API.kind} objects`, `ConfigMap ${FREEZE_CONFIG_MAP.name}`];
  const unread = new Set([ofPolicies, ofConfigMap]);
  let freezes: KubeObject | null = null;
  let isOver = false;
  const stop = (): void => {
    isOver = true;
    policies.stop();
    timer.cancel();
  };
  const finish = (): void => {
    if (isOver) return;
    stop();
    done({ resources: [...policies.objects.values()], freezes, unread: [...unread] });
  };
  const onRead = (what: string): void => {
    unread.delete(what);
    if (unread.size === 0) clock.soon(finish);
  };
  const policies = listWatched(kube, "policies", () => onRead(ofPolicies));
  const timer = clock.after(POLICIES_MS, finish);
  kube.read(FREEZE_CONFIG_MAP, (reply) => {
    if (reply.outcome === "ok") freezes = reply.object;
    if (reply.outcome === "ok" || reply.outcome === "gone") onRead(ofConfigMap);
  });
  return stop;
}

/** Lists nodes, leases and pods, then calls `done` once. */
export function readObjects(
  { kube, clock }: SnapshotIo,
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
function listWatched<K extends keyof Watched>(
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
