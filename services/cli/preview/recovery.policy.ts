/**
 * What a policy does about the machine of a silent node, besides evicting its pods: remediations, one after the other,
 * and the out-of-service taint. A preview knows no outcomes, so it assumes that each remediation times out, and says
 * from when on a proof would count. It reads no clock.
 */
import type { NodePolicy } from "../../../protocols/policy-set.ts";
import { nodeFreezeOf } from "../../domain/freeze.ts";
import { outOfServiceStage, provableFrom } from "../../domain/out-of-service.ts";
import { countdownEndAt } from "../../domain/paused-time/frozen-time.ts";
import { isSwappable } from "../../domain/toleration.ts";
import { remediationKind } from "../../policy/remediations/remediation-object.policy.ts";
import type { PreviewedRecovery, PreviewedRemediation } from "./preview.ts";
import type { RecordedNode } from "./preview-record.ts";
import type { PreviewedCluster } from "./previewed-cluster.ts";
import type { Snapshot } from "./snapshot.ts";

/** What the recovery of a node depends on. */
type RecoveryContext = Pick<PreviewedCluster, "policies" | "profile"> & {
  readonly snapshot: Pick<Snapshot, "takenAt">;
};

/** The recovery of a node that becomes silent and is tainted within the preview; empty for any other. */
export function recoveryOf(
  { shown: node, unknownMs, admittedMs }: Omit<RecordedNode, "judged">,
  policy: NodePolicy | null,
  { policies, profile, snapshot: { takenAt } }: RecoveryContext,
): PreviewedRecovery {
  if (policy === null || unknownMs === null || admittedMs === null) return {};
  if (!node.taints.some(isSwappable) || profile.evictionMode !== "taint") return {};
  const { frozen } = nodeFreezeOf(node, policies, takenAt + admittedMs);
  /** When a countdown ends, after the start of the preview; null for never. */
  const endMs = (startMs: number, durationMs: number): number | null => {
    const endAt = countdownEndAt(takenAt + startMs, durationMs, frozen);
    return Number.isFinite(endAt) ? endAt - takenAt : null;
  };
  const remediations: PreviewedRemediation[] = [];
  let createdAfterMs: number | null = admittedMs;
  for (const { template, timeoutMs, dryRun } of policy.remediations) {
    if (createdAfterMs === null) break;
    // A remediation that is only explained is followed by none: no object of it times out.
    const timesOutAfterMs: number | null = dryRun ? null : endMs(createdAfterMs, timeoutMs);
    const kind = remediationKind(template);
    remediations.push({ kind, createdAfterMs, timesOutAfterMs, ...(dryRun ? { isDryRun: dryRun } : {}) });
    createdAfterMs = timesOutAfterMs;
  }
  const found = remediations.length === 0 ? {} : { remediations };
  const { outOfService: settings } = policy;
  const silentAt = provableFrom(node);
  if (settings === null || silentAt === null || profile.upstream === "beside") return found;
  const stage = outOfServiceStage(node, settings, frozen, Number.POSITIVE_INFINITY);
  if (stage?.state === "on" || stage?.state === "takenOff") return found;
  const provedMs = endMs(silentAt - takenAt, settings.afterMs);
  const fromAfterMs = provedMs === null ? null : Math.max(provedMs, admittedMs);
  return { ...found, outOfService: { fromAfterMs, proofs: settings.proofs } };
}
