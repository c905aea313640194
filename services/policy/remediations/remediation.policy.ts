/**
 * What comes next for one node under the `remediations` of its policy. The objects of the API are the memory: which of
 * them exist, whether Vigil made them, and whether they have timed out says how far the node is, so a process that
 * starts continues where the previous one ended. A remediation reboots or deletes a machine: none is created while
 * anything is unknown. The object of a healthy node is deleted even while other steps are blocked. It reads no clock.
 */
import type { RemediationState } from "../../../protocols/judged.ts";
import type { ConditionStatus, ObservedNode } from "../../../protocols/objects.ts";
import type { FrozenInterval, OutOfServiceSettings, Remediation } from "../../../protocols/policy-set.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import { provableFrom } from "../../domain/out-of-service.ts";
import { type OutageTime, silenceCountdownEndAt } from "../../domain/paused-time/outages.ts";
import { taintStartAt } from "../../domain/taint-swap.ts";
import { isSwappable } from "../../domain/toleration.ts";

/** A remediation object as it was read. Instants are of the API server's clock. */
export interface RemediationObject {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly createdAt: number;
  /** Whether Vigil made it. */
  readonly isOwn: boolean;
  /** Whether Vigil has given it up. */
  readonly isTimedOut: boolean;
  /** Whether it is being deleted. */
  readonly isEnding: boolean;
  /** Whether its controller has reported any condition. */
  readonly isAnswered: boolean;
  readonly succeeded: ConditionStatus | null;
  /** Whether its controller deletes the Node on purpose, by its condition PermanentNodeDeletionExpected. */
  readonly expectsDeletion: boolean;
}

/** What is known of a node under a policy with remediations. */
export interface RemediationSituation {
  readonly node: ObservedNode;
  readonly steps: readonly Remediation[];
  /** The object of each step that has the name of the node; null for none. */
  readonly objects: readonly (RemediationObject | null)[];
  /** Why it is not known which objects exist; null where it is known. */
  readonly unread: string | null;
  /** Why the object of a step cannot be made; null where it can be made. */
  readonly problems: readonly (string | null)[];
  readonly outOfService: OutOfServiceSettings | null;
  /** How long a kubelet may report that it is not ready, in milliseconds. */
  readonly startupGraceMs: number;
  /** When the node was and is frozen, merged. */
  readonly frozen: readonly FrozenInterval[];
  /** The outages that pause its timeouts; absent for none. */
  readonly outages?: OutageTime;
  /** What blocks every step; null for nothing. */
  readonly blockedBy: string | null;
  /** Whether Vigil is in shadow mode. */
  readonly isShadow: boolean;
  /** Whether the API server has accepted the object of each step as a dry run, since the node failed. */
  readonly accepted: readonly boolean[];
  readonly wallMs: number;
}

/**
 * What is to be done now. `create` makes the object of a step, `dryRun` has the API server check it without making it,
 * `timeOut` gives it up, `prove` records its success.
 */
export type RemediationAct =
  | { readonly kind: "create" | "dryRun"; readonly index: number }
  | { readonly kind: "timeOut" | "delete" | "prove"; readonly index: number; readonly object: RemediationObject };

/** How far a node is, and what is to be done now. */
export interface RemediationDecision {
  readonly state: RemediationState;
  /** The step that runs or comes next; null once all are over. */
  readonly index: number | null;
  readonly sinceAt?: number;
  readonly untilAt?: number;
  readonly detail?: string;
  readonly act?: RemediationAct;
}

interface Placed {
  readonly index: number;
  readonly object: RemediationObject;
}

const ACCEPTED = "the API server accepts its object";
const UNANSWERED = "its controller has reported nothing yet";

/** Decides about one node; null for one that needs nothing. */
export function remediationOf(situation: RemediationSituation): RemediationDecision | null {
  const { node, objects } = situation;
  const status = readyConditionOf(node)?.status;
  const placed = objects.flatMap((object, index): Placed[] => (object === null ? [] : [{ index, object }]));
  const own = placed.filter(({ object }) => object.isOwn);
  const isOver = ({ object }: Placed): boolean => status === "True" || object.createdAt < node.createdAt;
  const over = own.find((each) => isOver(each) && !each.object.isEnding);
  if (over !== undefined) return { state: "ending", index: over.index, act: { kind: "delete", ...over } };
  const ending = own.find(({ object }) => object.isEnding);
  if (ending !== undefined) return { state: "ending", index: ending.index };
  if (status !== "False" && status !== "Unknown") return null;
  const foreign = placed.find(({ object }) => !object.isOwn);
  if (foreign !== undefined) return { state: "foreign", index: foreign.index };
  const last = own.at(-1);
  if (last === undefined) return nextStep(0, situation);
  return last.object.isTimedOut ? nextStep(last.index + 1, situation) : presentStep(last, situation);
}

/**
 * Whether the object of a node that no longer exists is deleted: its controller may have deleted the Node and continue.
 */
export function isOrphan({ isOwn, isEnding, expectsDeletion, succeeded }: RemediationObject): boolean {
  return isOwn && !isEnding && (!expectsDeletion || succeeded === "True");
}

function nextStep(index: number, situation: RemediationSituation): RemediationDecision {
  const { node, steps, blockedBy, isShadow, startupGraceMs, wallMs } = situation;
  const step = steps[index];
  if (step === undefined) return { state: "exhausted", index: null };
  const taint = node.taints.find(isSwappable);
  // Limits, freezes and halts block the taint of an eviction, and a remediation comes after it.
  if (taint === undefined) return { state: "notAdmitted", index };
  if (readyConditionOf(node)?.status === "False") {
    const startAt = taintStartAt(taint, node);
    const untilAt =
      startAt === null ? Number.POSITIVE_INFINITY : silenceCountdownEndAt(startAt, startupGraceMs, situation);
    if (wallMs < untilAt) return { state: "waits", index, ...until(untilAt) };
  }
  const problem = situation.unread ?? situation.problems[index] ?? null;
  if (problem !== null) return { state: "blocked", index, detail: problem };
  if (blockedBy !== null) return { state: "held", index, detail: blockedBy };
  if (isShadow) return { state: "dryRun", index };
  if (step.dryRun) return { state: "dryRun", index, ...trialOf(index, situation) };
  return { state: "due", index, act: { kind: "create", index } };
}

/** A dry run is made once: its answer is valid until the node fails again, or the template changes. */
function trialOf(index: number, { accepted }: RemediationSituation): Pick<RemediationDecision, "act" | "detail"> {
  return accepted[index] === true ? { detail: ACCEPTED } : { act: { kind: "dryRun", index } };
}

function presentStep({ index, object }: Placed, situation: RemediationSituation): RemediationDecision {
  const { steps, blockedBy, wallMs } = situation;
  const { succeeded, createdAt: sinceAt } = object;
  const known = { index, sinceAt };
  if (succeeded === "True") {
    return isProof(object, situation)
      ? { state: "succeeded", ...known, act: { kind: "prove", index, object } }
      : { state: "succeeded", ...known };
  }
  const untilAt = silenceCountdownEndAt(sinceAt, steps[index]?.timeoutMs ?? Number.POSITIVE_INFINITY, situation);
  if (succeeded !== "False" && wallMs < untilAt) {
    return { state: "running", ...known, ...until(untilAt), ...(object.isAnswered ? {} : { detail: UNANSWERED }) };
  }
  if (blockedBy !== null) return { state: "held", ...known, detail: blockedBy };
  return { state: "running", ...known, ...until(untilAt), act: { kind: "timeOut", index, object } };
}

/**
 * Whether a success is to be recorded as the proof that the machine is down: its policy accepts it, the node is silent,
 * and the remediation was created within this silence.
 */
export function isProof(
  { createdAt, succeeded }: Pick<RemediationObject, "createdAt" | "succeeded">,
  { node, outOfService }: Pick<RemediationSituation, "node" | "outOfService">,
): boolean {
  const silentAt = readyConditionOf(node)?.transitionAt ?? Number.POSITIVE_INFINITY;
  const from = provableFrom(node);
  if (from === null || succeeded !== "True" || createdAt < silentAt) return false;
  const isAccepted = outOfService?.proofs.includes("RemediationSucceeded") === true;
  const { provedDown } = node;
  const isProved = provedDown?.proof === "RemediationSucceeded" && provedDown.at >= from;
  return isAccepted && !isProved;
}

/** What live reads showed just before an act. */
export interface LiveReads {
  readonly node: ObservedNode;
  /** Why the live node is frozen; null when it is not. */
  readonly frozenBy: string | null;
  /** When its live lease was renewed; null without one. */
  readonly leaseRenewedAt: number | null;
  readonly graceMs: number;
  readonly wallMs: number;
}

/**
 * Why an act that live reads no longer require is left; null to continue. Deleting needs a node that is Ready or new.
 */
export function liveRefusal(
  act: RemediationAct,
  { node, frozenBy, leaseRenewedAt, graceMs, wallMs }: LiveReads,
  uid: string,
): string | null {
  const status = readyConditionOf(node)?.status;
  if (act.kind === "delete") {
    const isOver = status === "True" || act.object.createdAt < node.createdAt;
    return isOver ? null : "the node is not Ready any more";
  }
  if (node.uid !== uid) return "another node has this name now";
  if (status !== "False" && status !== "Unknown") return "the node is Ready again";
  if (frozenBy !== null) return `the node is frozen: ${frozenBy}`;
  if (act.kind === "timeOut") return null;
  if (!node.taints.some(isSwappable)) return "the node is not admitted for eviction any more";
  if (status === "False") return null;
  // A renewal may come before the status: the kubelet is back.
  if (leaseRenewedAt !== null && wallMs - leaseRenewedAt < graceMs) return "its kubelet renewed its lease";
  const isBack = act.kind === "prove" && leaseRenewedAt !== null && leaseRenewedAt >= act.object.createdAt;
  return isBack ? "its kubelet renewed its lease after the remediation began" : null;
}

function until(untilAt: number): { readonly untilAt?: number } {
  return Number.isFinite(untilAt) ? { untilAt } : {};
}
