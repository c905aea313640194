/** The cluster at one instant, as a preview starts from it. It is read as a run reads it, and nothing else. */
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { PolicySet } from "../../../protocols/policy-set.ts";
import type { Stop } from "../../../protocols/ports.ts";
import { type ConfiguredPolicy, nodePolicyOf } from "../../domain/node-policy.parse.ts";
import { appliedPolicyOf, policySet } from "../../domain/node-policy.ts";
import { UPSTREAM_EVICTIONS } from "../../pod-writer/eviction-method.policy.ts";
import { type PolicyRules, resolvedPolicies } from "../../policy/resolved-policies.policy.ts";
import type { DisruptionBudget } from "../../sandbox/virtual/budgeted-kube.ts";
import { readBudgets } from "../../sandbox/virtual/snapshot-budgets.ts";
import {
  readObjects,
  readPolicies,
  type SnapshotIo,
  type SnapshotObjects,
} from "../../sandbox/virtual/snapshot-objects.ts";

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

/** Where a snapshot comes from. */
export interface SnapshotSources extends SnapshotIo, Pick<Snapshot, "configured"> {
  readonly profile: PolicyRules;
}

/** Reads the policies, lists nodes, leases and pods, reads the disruption budgets, then calls `done` once. */
export function takeSnapshot(sources: SnapshotSources, done: (snapshot: Snapshot) => void): Stop {
  const { kube, configured, profile } = sources;
  let stop = readPolicies(sources, (present) => {
    const policies = policiesInForce({ configured, ...present }, profile);
    stop = readObjects(sources, { policyKeys: () => policies }, (objects) => {
      readBudgets(kube, { ...objects, namespaces: askingNamespaces(objects, policies) }, (budgets) => {
        const unread = [...present.unread, ...(budgets === null ? ["PodDisruptionBudgets"] : [])];
        done({ ...present, ...objects, configured, policies, budgets, unread });
      });
    });
  });
  return () => stop();
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
  const isAsking = (node: ObservedNode): boolean =>
    (appliedPolicyOf(node, policies)?.evictions ?? UPSTREAM_EVICTIONS).method !== "Delete";
  const names = new Set(nodes.filter(isAsking).map(({ node }) => node));
  return new Set(pods.filter(({ node }) => names.has(node)).map(({ pod }) => pod.namespace));
}
