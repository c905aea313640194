/** The cluster at one instant, as a preview starts from it. It is read as a run reads it, and nothing else. */
import type { BodyOf } from "../../../protocols/messages.ts";
import { FREEZE_CONFIG_MAP } from "../../../protocols/names.ts";
import { NODE_POLICY_API } from "../../../protocols/node-policy.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { PolicyKeys, PolicySet } from "../../../protocols/policy-set.ts";
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
import type { ConfiguredPolicy } from "../../domain/node-policy.parse.ts";
import { projectFreezes, UNREPORTED } from "../../platform/kube/watch/projection.ts";
import { readLimitMemories } from "../../policy/limit-memory.policy.ts";
import { presentPolicies } from "../../policy/present-policies.policy.ts";
import type { PolicyRules } from "../../policy/resolved-policies.policy.ts";

type LimitMemories = ReadonlyMap<string, NonNullable<BodyOf<"judged.memory">["memory"]>>;

/** The node policies of the cluster at one instant. */
export interface PresentPolicies {
  readonly policies: PolicySet;
  /** What is stored about the limits of each policy. */
  readonly limitMemories: LimitMemories;
  /** What could not be read of them, for people. */
  readonly unread: readonly string[];
}

/** Every node, lease and bound pod at one instant, and the policies in force. */
export interface Snapshot extends PresentPolicies {
  /** Epoch milliseconds. */
  readonly takenAt: number;
  readonly nodes: readonly ObservedNode[];
  /** The renewTime of each node's lease, by node. */
  readonly renewedAt: ReadonlyMap<string, number | null>;
  readonly pods: readonly BoundPod[];
}

type SnapshotClock = Pick<Clock, "wallMs" | "soon" | "after">;

/** How long the policies are awaited, in milliseconds: who may read nodes need not have the right to read them. */
const POLICIES_MS = 5_000;

/** Where a snapshot comes from. */
export interface SnapshotSources {
  readonly kube: Kube;
  readonly clock: SnapshotClock;
  /** The node policies of --config. */
  readonly configured: readonly ConfiguredPolicy[];
  readonly profile: PolicyRules;
}

/** Reads the policies, lists nodes, leases and pods, then calls `done` once. */
export function takeSnapshot(sources: SnapshotSources, done: (snapshot: Snapshot) => void): Stop {
  let stop = readPolicies(sources, (present) => {
    stop = readObjects(sources, present, done);
  });
  return () => stop();
}

/** Reads the NodePolicy objects and the ConfigMap of freezes; after a while goes on without those it may not read. */
function readPolicies(
  { kube, clock, configured, profile }: SnapshotSources,
  done: (present: PresentPolicies) => void,
): Stop {
  const resources = new Map<string, PolicyResource>();
  let object: KubeObject | null = null;
  const unread = new Set<string>([`${NODE_POLICY_API.kind} objects`, `ConfigMap ${FREEZE_CONFIG_MAP.name}`]);
  let isOver = false;
  const finish = (): void => {
    if (isOver) return;
    stop();
    const freeze = object === null ? null : projectFreezes(object, UNREPORTED);
    const policies = presentPolicies(
      { configured, resources: [...resources.values()], freeze, profile },
      clock.wallMs(),
    );
    const { memories: limitMemories } = readLimitMemories(freeze?.limits ?? null);
    done({ policies, limitMemories, unread: [...unread] });
  };
  const take = (what: string): void => {
    unread.delete(what);
    if (unread.size === 0) clock.soon(finish);
  };
  const [ofPolicies = "", ofConfigMap = ""] = unread;
  const watch = kube.watch("policies", {
    changed: (resource) => resources.set(resource.name, resource),
    gone: (name) => resources.delete(name),
    state: ({ synced }) => synced && take(ofPolicies),
    absent: () => take(ofPolicies),
  });
  const timer = clock.after(POLICIES_MS, finish);
  const stop = (): void => {
    isOver = true;
    watch.stop();
    timer.cancel();
  };
  kube.read(FREEZE_CONFIG_MAP, (reply) => {
    if (reply.outcome === "ok") object = reply.object;
    if (reply.outcome === "ok" || reply.outcome === "gone") take(ofConfigMap);
  });
  return stop;
}

function readObjects(
  { kube, clock }: SnapshotSources,
  present: PresentPolicies,
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
      done({ ...present, takenAt: clock.wallMs(), nodes: [...nodes.values()], renewedAt, pods: [...pods.values()] });
    });
  };
  const open = <K extends keyof Watched>(
    what: K,
    { changed, gone }: { readonly changed: (object: Watched[K]) => void; readonly gone: (key: string) => void },
    options?: WatchOptions,
  ): void => {
    const watch = kube.watch(what, { changed, gone, state: (state) => state.synced && synced(what) }, options);
    stops.push(() => watch.stop());
  };
  const policyKeys = (): PolicyKeys => present.policies;
  open("nodes", { changed: (node) => nodes.set(node.node, node), gone: (name) => nodes.delete(name) }, { policyKeys });
  open("leases", {
    changed: (lease) => renewedAt.set(lease.node, lease.renewedAt),
    gone: (name) => renewedAt.delete(name),
  });
  open("pods", {
    changed: (bound) => pods.set(`${bound.pod.namespace}/${bound.pod.name}`, bound),
    gone: (key) => pods.delete(key),
  });
  return stop;
}
