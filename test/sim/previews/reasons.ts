/** Whether the reasons of a preview are true of the cluster: what blocks a node, and what its pods tolerate. */
import type { Preview, PreviewedNodeReport, PreviewedPodReport } from "../../../services/cli/preview/preview.ts";
import { type CheckedPod, isOfDaemonSet } from "../invariants.ts";
import { SETS } from "../policies/explained-policies.ts";
import type { EvictionRates, PolicyState } from "../policies/policy-state.ts";
import { secondsFor } from "../tolerated-seconds.ts";

/** What the API shows at the instant of the preview, by name. */
export interface ReasonedCluster {
  readonly pods: ReadonlyMap<string, CheckedPod>;
  readonly policies: ReadonlyMap<string, PolicyState>;
  readonly isComparing: boolean;
}

/** The first reason that is not true; null for none. */
export function reasonProblem(preview: Pick<Preview, "nodes" | "pods">, cluster: ReasonedCluster): string | null {
  const wrongNode = preview.nodes.find((node) => !isHeldSo(node, cluster));
  if (wrongNode !== undefined) return `${wrongNode.node} is not held back by ${wrongNode.heldBy}`;
  const wrongPod = preview.pods.find((pod) => !isSo(pod, cluster));
  return wrongPod === undefined ? null : `${wrongPod.name}: "${wrongPod.why}" is not so`;
}

/** Whether the policy that blocks a node sets the named field. A node without a reason passes. */
function isHeldSo({ heldBy }: PreviewedNodeReport, { policies }: ReasonedCluster): boolean {
  const [, field = "", name = ""] = /^(\S+) of (\S+)$/.exec(heldBy ?? "") ?? [];
  const policy = policies.get(name);
  return policy === undefined || SETS[field] === undefined || SETS[field](policy);
}

function isSo({ name, why }: PreviewedPodReport, { pods, policies, isComparing }: ReasonedCluster): boolean {
  const pod = pods.get(name);
  if (pod === undefined) return false;
  const secondsOf = (taint: string): number | null => {
    const [key = "", effect = ""] = taint.split(":");
    return secondsFor(pod, { key, effect }, isComparing);
  };
  const [, rate, policy = ""] = /evictions\.(\w+) of ([\w-]+)/.exec(why) ?? [];
  if (rate !== undefined && !isBinding(rate, policies.get(policy)?.evictionRates ?? null)) return false;
  const [, untolerated, seconds = "0"] = /^does not tolerate (\S+)(?: for more than (\d+) s)?/.exec(why) ?? [];
  if (untolerated !== undefined) return Math.max(0, secondsOf(untolerated) ?? 0) === Number(seconds);
  const [, tolerated] = /^tolerates (.+)$/.exec(why) ?? [];
  if (tolerated !== undefined)
    return (tolerated.match(/[\w./-]+:NoExecute/g) ?? []).every((taint) => secondsOf(taint) === Infinity);
  return why !== "belongs to a DaemonSet" || isOfDaemonSet(pod);
}

/** Whether a rate may be the one that pods wait for: all pods of a run are in one namespace. */
function isBinding(field: string, rates: EvictionRates | null): boolean {
  const { perMinuteMax = null, perNamespacePerMinuteMax = null } = rates ?? {};
  const [own, other] =
    field === "maxPerMinute" ? [perMinuteMax, perNamespacePerMinuteMax] : [perNamespacePerMinuteMax, perMinuteMax];
  return own !== null && own <= (other ?? Infinity);
}
