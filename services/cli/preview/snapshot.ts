/** The cluster at one instant, as a preview starts from it. It is read as a run reads it, and nothing else. */
import { FREEZE_CONFIG_MAP } from "../../../protocols/names.ts";
import { NODE_POLICY_API } from "../../../protocols/node-policy.ts";
import type { PolicySet } from "../../../protocols/policy-set.ts";
import type { Clock, Kube, KubeObject, Stop } from "../../../protocols/ports.ts";
import { type ConfiguredPolicy, nodePolicyOf } from "../../domain/node-policy.parse.ts";
import { policyOf, policySet } from "../../domain/node-policy.ts";
import { type PolicyRules, resolvedPolicies } from "../../policy/resolved-policies.policy.ts";
import type { DisruptionBudget } from "../../sandbox/virtual/budgeted-kube.ts";
import { readBudgets } from "../../sandbox/virtual/snapshot-budgets.ts";
import { listWatched, readObjects, type SnapshotObjects } from "../../sandbox/virtual/snapshot-objects.ts";

/** Everything at one instant that a preview follows from. */
export interface Snapshot extends SnapshotObjects {
  /** The node policies of --config. */
  readonly configured: readonly ConfiguredPolicy[];
  /** The node policies in force, without freezes. */
  readonly policies: PolicySet;
  /** The disruption budgets that an eviction may meet; null where they could not be read. */
  readonly budgets: readonly DisruptionBudget[] | null;
  /** What could not be read of node policies and disruption budgets, for people. */
  readonly unread: readonly string[];
}

/** How long the policies are awaited, in milliseconds: who may read nodes need not have the right to read them. */
const POLICIES_MS = 5_000;

/** Where a snapshot comes from. */
export interface SnapshotSources extends Pick<Snapshot, "configured"> {
  readonly kube: Kube;
  readonly clock: Pick<Clock, "wallMs" | "soon" | "after">;
  readonly profile: PolicyRules;
}

type PresentPolicies = Pick<Snapshot, "resources" | "freezes" | "unread">;

/** Reads the policies, lists nodes, leases and pods, reads the disruption budgets, then calls `done` once. */
export function takeSnapshot(sources: SnapshotSources, done: (snapshot: Snapshot) => void): Stop {
  const { kube, configured, profile } = sources;
  let isStopped = false;
  let stop = readPolicies(sources, (present) => {
    const policies = policiesInForce({ configured, ...present }, profile);
    stop = readObjects(sources, { policyKeys: () => policies }, (objects) => {
      readBudgets(kube, { ...objects, namespaces: askingNamespaces(objects, policies) }, (budgets) => {
        const unread = [...present.unread, ...(budgets === null ? ["PodDisruptionBudgets"] : [])];
        if (!isStopped) done({ ...present, ...objects, configured, policies, budgets, unread });
      });
    });
  });
  return () => {
    isStopped = true;
    stop();
  };
}

/** The node policies in force, without freezes. */
export function policiesInForce(
  { configured, resources }: Pick<Snapshot, "configured" | "resources">,
  rules: PolicyRules,
): PolicySet {
  const resolved = resolvedPolicies(configured, resources, rules);
  return policySet(resolved.flatMap(({ name, spec }) => (spec === null ? [] : [nodePolicyOf(name, spec)])));
}

/** The namespaces of the pods that their policies evict through the Eviction API. */
function askingNamespaces({ nodes, pods }: Pick<Snapshot, "nodes" | "pods">, policies: PolicySet): Set<string> {
  const asking = nodes.filter((node) => {
    const resolved = policyOf(node, policies);
    return resolved.kind === "policy" && (resolved.policy.evictions?.method ?? "Delete") !== "Delete";
  });
  const names = new Set(asking.map(({ node }) => node));
  return new Set(pods.filter(({ node }) => names.has(node)).map(({ pod }) => pod.namespace));
}

/** Reads the NodePolicy objects and the ConfigMap of freezes; after a while goes on without those it may not read. */
function readPolicies({ kube, clock }: SnapshotSources, done: (present: PresentPolicies) => void): Stop {
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
