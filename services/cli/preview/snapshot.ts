/** The cluster at one instant, as a preview starts from it. It is read as a run reads it, and nothing else. */
import { FREEZE_CONFIG_MAP } from "../../../protocols/names.ts";
import { NODE_POLICY_API } from "../../../protocols/node-policy.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { PolicySet } from "../../../protocols/policy-set.ts";
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
import { type ConfiguredPolicy, nodePolicyOf } from "../../domain/node-policy.parse.ts";
import { policySet } from "../../domain/node-policy.ts";
import { type PolicyRules, resolvedPolicies } from "../../policy/resolved-policies.policy.ts";
import type { SnapshotObjects } from "../../sandbox/virtual/snapshot-world.ts";

/** Everything at one instant that a preview follows from. */
export interface Snapshot extends SnapshotObjects {
  /** The node policies of --config. */
  readonly configured: readonly ConfiguredPolicy[];
  /** What could not be read of the node policies, for people. */
  readonly unread: readonly string[];
}

type PolicySources = Pick<Snapshot, "configured" | "resources">;

/** The node policies in force, without freezes. */
export function policiesInForce({ configured, resources }: PolicySources, rules: PolicyRules): PolicySet {
  const resolved = resolvedPolicies(configured, resources, rules);
  return policySet(resolved.flatMap(({ name, spec }) => (spec === null ? [] : [nodePolicyOf(name, spec)])));
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

type PresentPolicies = Pick<Snapshot, "configured" | "resources" | "freezes" | "unread">;

/** Reads the NodePolicy objects and the ConfigMap of freezes; after a while goes on without those it may not read. */
function readPolicies({ kube, clock, configured }: SnapshotSources, done: (present: PresentPolicies) => void): Stop {
  const resources = new Map<string, PolicyResource>();
  let freezes: KubeObject | null = null;
  const unread = new Set<string>([`${NODE_POLICY_API.kind} objects`, `ConfigMap ${FREEZE_CONFIG_MAP.name}`]);
  let isOver = false;
  const finish = (): void => {
    if (isOver) return;
    stop();
    done({ configured, resources: [...resources.values()], freezes, unread: [...unread] });
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
    if (reply.outcome === "ok") freezes = reply.object;
    if (reply.outcome === "ok" || reply.outcome === "gone") take(ofConfigMap);
  });
  return stop;
}

function readObjects(
  { kube, clock, profile }: SnapshotSources,
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
  const policies = policiesInForce(present, profile);
  const labelled = { policyKeys: () => policies };
  open("nodes", { changed: (node) => nodes.set(node.node, node), gone: (name) => nodes.delete(name) }, labelled);
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
