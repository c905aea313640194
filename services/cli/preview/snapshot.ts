/** The cluster at one instant, as a preview starts from it. It is read as a run reads it, and nothing else. */
import { FREEZE_CONFIG_MAP } from "../../../protocols/names.ts";
import { NODE_POLICY_API } from "../../../protocols/node-policy.ts";
import type { WatchState } from "../../../protocols/objects.ts";
import type { PolicySet } from "../../../protocols/policy-set.ts";
import type { Clock, Kube, KubeObject, Stop, Watched, WatchOptions } from "../../../protocols/ports.ts";
import { type ConfiguredPolicy, nodePolicyOf } from "../../domain/node-policy.parse.ts";
import { policyOf, policySet } from "../../domain/node-policy.ts";
import { type PolicyRules, resolvedPolicies } from "../../policy/resolved-policies.policy.ts";
import { watchedKey } from "../../sandbox/virtual/snapshot-kube.ts";
import type { SnapshotObjects } from "../../sandbox/virtual/snapshot-world.ts";
import { type DisruptionBudget, readBudgets } from "./disruption-budgets.ts";

/** Everything at one instant that a preview follows from. */
export interface Snapshot extends SnapshotObjects {
  /** The node policies of --config. */
  readonly configured: readonly ConfiguredPolicy[];
  /** The disruption budgets that an eviction may meet; null where they could not be read. */
  readonly budgets: readonly DisruptionBudget[] | null;
  /** What could not be read of node policies and disruption budgets, for people. */
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

/** Reads the policies, lists nodes, leases and pods, reads the disruption budgets, then calls `done` once. */
export function takeSnapshot(sources: SnapshotSources, done: (snapshot: Snapshot) => void): Stop {
  let isStopped = false;
  let stop = readPolicies(sources, (present) => {
    stop = readObjects(sources, present, (objects) => {
      readBudgets(budgetSourcesOf(sources, objects), (budgets) => {
        const unread = [...objects.unread, ...(budgets === null ? ["PodDisruptionBudgets"] : [])];
        if (!isStopped) done({ ...objects, budgets, unread });
      });
    });
  });
  return () => {
    isStopped = true;
    stop();
  };
}

function budgetSourcesOf({ kube, profile }: SnapshotSources, objects: ReadObjects): Parameters<typeof readBudgets>[0] {
  const policies = policiesInForce(objects, profile);
  const evicting = objects.nodes.filter((node) => {
    const resolved = policyOf(node, policies);
    return resolved.kind === "policy" && (resolved.policy.evictions?.method ?? "Delete") !== "Delete";
  });
  const names = new Set(evicting.map(({ node }) => node));
  return { kube, pods: objects.pods, evictsOn: (node) => names.has(node) };
}

type ReadObjects = Omit<Snapshot, "budgets">;

type PresentPolicies = Pick<Snapshot, "configured" | "resources" | "freezes" | "unread">;

/** Reads the NodePolicy objects and the ConfigMap of freezes; after a while goes on without those it may not read. */
function readPolicies({ kube, clock, configured }: SnapshotSources, done: (present: PresentPolicies) => void): Stop {
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
    done({ configured, resources: [...policies.objects.values()], freezes, unread: [...unread] });
  };
  const onRead = (what: string): void => {
    unread.delete(what);
    if (unread.size === 0) clock.soon(finish);
  };
  const policies = list(kube, "policies", () => onRead(ofPolicies));
  const timer = clock.after(POLICIES_MS, finish);
  kube.read(FREEZE_CONFIG_MAP, (reply) => {
    if (reply.outcome === "ok") freezes = reply.object;
    if (reply.outcome === "ok" || reply.outcome === "gone") onRead(ofConfigMap);
  });
  return stop;
}

function readObjects(
  { kube, clock, profile }: SnapshotSources,
  present: PresentPolicies,
  done: (objects: ReadObjects) => void,
): Stop {
  const unlisted = new Set<keyof Watched>(["nodes", "leases", "pods"]);
  const onList = (what: keyof Watched): void => {
    if (unlisted.delete(what) && unlisted.size === 0) clock.soon(finish);
  };
  const policies = policiesInForce(present, profile);
  const nodes = list(kube, "nodes", onList, { policyKeys: () => policies });
  const leases = list(kube, "leases", onList);
  const pods = list(kube, "pods", onList);
  const stop = (): void => {
    for (const each of [nodes, leases, pods]) each.stop();
  };
  const finish = (): void => {
    stop();
    const renewedAt = new Map([...leases.objects].map(([node, lease]) => [node, lease.renewedAt]));
    const lists = { nodes: [...nodes.objects.values()], renewedAt, pods: [...pods.objects.values()] };
    done({ ...present, takenAt: clock.wallMs(), ...lists });
  };
  return stop;
}

/** Keeps the objects of a watch. Calls `listed` once they are complete, and where the API server serves none. */
function list<K extends keyof Watched>(
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
