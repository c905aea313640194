/** Which nodes are in shadow mode, so that what happens to them is only what would happen. */
import type { Policies } from "../../../protocols/ports.ts";
import { shadowPolicyOf } from "../../domain/policy-shadow.ts";
import type { ClusterState } from "./cluster-state.ts";

/** What shadow mode follows from. */
export interface ShadowSources {
  readonly state: Pick<ClusterState, "nodes">;
  readonly policies: Pick<Policies, "current">;
  /** Whether the whole process is in shadow mode. */
  readonly isShadow: boolean;
}

/** Whether a node is in shadow mode, by the whole process or by a policy; null for what is of no node. */
export function shadowOn(
  node: string | null,
  { state, policies, isShadow }: ShadowSources,
): { readonly isShadow: boolean; readonly shadowPolicy: string | null } {
  const judged = node === null ? null : (state.nodes.get(node)?.judged ?? null);
  const shadowPolicy = judged === null ? null : shadowPolicyOf(judged, policies.current());
  return { isShadow: isShadow || shadowPolicy !== null, shadowPolicy };
}
