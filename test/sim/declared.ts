/**
 * When Vigil may declare a node out of service, checked at each write: by a proof that is newer than its silence, of a
 * node that is silent, was admitted for eviction, and has sent nothing since the proof.
 */
import { PROOF_SEAL_LABEL } from "../../protocols/names.ts";
import { proofSeal } from "../../services/platform/kube/proof-seal.ts";
import {
  BrokenInvariant,
  type CheckedNode,
  type CheckedTaint,
  conditionOf,
  isPaced,
  type WriteContext,
} from "./invariants.ts";

const PROVED_DOWN = "vigil.v1/proved-down";
const RECORD = "vigil.v1/out-of-service";
/** How long the read of the lease and the write after it are under way. */
const CROSSING_MS = 25;

/** Whether a taint declares its node out of service. */
export const isDeclaring = ({ key, effect }: Pick<CheckedTaint, "key" | "effect">): boolean =>
  key === "node.kubernetes.io/out-of-service" && effect === "NoExecute";

/** Whether a node carries that taint. */
export const isDeclared = ({ spec }: CheckedNode): boolean => spec?.taints?.some(isDeclaring) === true;

/** The proof of a node as it is written; null when it says nothing. */
function proofIn({ metadata }: CheckedNode): { readonly proof: string; readonly at: number } | null {
  // A kubelet may write the annotation, and not its seal.
  if (metadata.labels?.[PROOF_SEAL_LABEL] !== proofSeal(metadata.annotations?.[PROVED_DOWN] ?? "")) return null;
  try {
    const { proof, at } = JSON.parse(metadata.annotations?.[PROVED_DOWN] ?? "{}");
    return typeof proof === "string" && typeof at === "string" ? { proof, at: Date.parse(at) } : null;
  } catch {
    return null;
  }
}

/** Checks one of our writes to a node. */
export function checkDeclared(before: CheckedNode, after: CheckedNode, context: WriteContext): void {
  const { name } = after.metadata;
  const broken = (why: string) => new BrokenInvariant(`${name} was declared out of service ${why}`);
  const [proofBefore, proofAfter] = [before, after].map((node) => node.metadata.annotations?.[PROVED_DOWN]);
  const isProof = proofAfter !== undefined && proofAfter !== proofBefore;
  // Which remediation it was is checked with the policies.
  if (isProof && context.swarm.policies?.isRemediating !== true) throw new BrokenInvariant(`we proved ${name} down`);
  if (!isDeclared(after) || isDeclared(before)) {
    checkRemoved(before, after);
    return;
  }
  const proof = proofIn(before);
  const ready = conditionOf(before, "Ready");
  if (context.swarm.policies === undefined) throw broken("without a policy");
  if (context.swarm.profile.evictionMode === "direct") throw broken("in direct mode");
  if (proof === null) throw broken("without a proof");
  if (ready?.status !== "Unknown") throw broken(`while Ready is ${ready?.status ?? "missing"}`);
  if (!(proof.at >= Date.parse(ready.lastTransitionTime ?? ""))) throw broken("by a proof from before its silence");
  if (before.spec?.taints?.some(isPaced) !== true) throw broken("before it was admitted for eviction");
  const heardAt = context.heartbeatAt(name, context.wallMs - CROSSING_MS - context.delayMaxMs);
  if (heardAt > proof.at) throw broken(`although its kubelet was heard ${context.wallMs - heardAt} ms before`);
}

/** The taint of another client stays. */
function checkRemoved(before: CheckedNode, after: CheckedNode): void {
  if (!isDeclared(before) || isDeclared(after)) return;
  const own = before.metadata.annotations?.[RECORD];
  const isOwn =
    before.spec?.taints?.some(
      (taint) => isDeclaring(taint) && taint.timeAdded === own && taint.value?.startsWith("vigil-"),
    ) === true;
  if (!isOwn)
    throw new BrokenInvariant(`the out-of-service taint of another client was taken off ${after.metadata.name}`);
}
