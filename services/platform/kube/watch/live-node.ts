/**
 * A node that was read live, with what the present policies need of it. Policies may change while requests follow its
 * read. By the labels that were kept for earlier policies the policy of a node is not known, though the API has shown
 * them all.
 */
import type { ObservedNode } from "../../../../protocols/objects.ts";
import type { PolicyKeys } from "../../../../protocols/policy-set.ts";
import type { KubeObject, Policies } from "../../../../protocols/ports.ts";
import { projectNode, UNREPORTED } from "./projection.ts";

/** Returns the node, projected again after the policies have changed. */
export type LiveNode = () => ObservedNode;

/** A node as the API sent it; null if that is not a valid Node. */
export function liveNode(object: KubeObject, policies: Pick<Policies, "current">): LiveNode | null {
  const projectedFor = (keys: PolicyKeys | null) => projectNode(object, { ...UNREPORTED, policyKeys: () => keys });
  const keysAtRead = policies.current();
  const first = projectedFor(keysAtRead);
  if (first === null) return null;
  let known = { keys: keysAtRead, node: first };
  return () => {
    const keys = policies.current();
    // Whether a Node is valid does not depend on policies.
    if (keys !== known.keys) known = { keys, node: projectedFor(keys) ?? first };
    return known.node;
  };
}
