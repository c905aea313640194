/** Which nodes and pods are frozen, from the policies in force and the last judgements. It decides nothing. */
import type { FreezeReport, FrozenEviction } from "../../../protocols/ledger-reader.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { FrozenInterval, NodePolicy, PolicySet } from "../../../protocols/policy-set.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { freezeReport, freezeText } from "../../domain/freeze-report.ts";
import { mergedIntervals } from "../../domain/paused-time/frozen-time.ts";
import type { NodeJudgement, NodeRecord } from "./cluster-state.ts";
import type { PodRecord } from "./pod-records.ts";

/** Two ends that are no further apart are of one freeze, in milliseconds. */
const SAME_END_MS = 1000;

/** The policies of a node as last judged. */
type PoliciesOfNode = Pick<NodeJudgement, "policy" | "conflict" | "maintenance">;

/** The freezes at one instant. */
export interface PresentFreezes {
  /** False while the policies are not known in this process. */
  readonly isKnown: boolean;
  /** How a node is frozen; null while it is not. */
  readonly reportOf: (judged: PoliciesOfNode | null | undefined) => FreezeReport | null;
  /** How a freeze blocks the eviction of a node; null while none does. No freeze blocks upstream's controllers. */
  readonly evictionFreeze: (judged: PoliciesOfNode | null | undefined) => FreezeReport | null;
  /** When freezes blocked and block the eviction of a node, in order and apart. */
  readonly intervalsOf: (judged: PoliciesOfNode | null | undefined) => readonly FrozenInterval[];
  /** Epoch milliseconds. */
  readonly at: number;
}

/** The freezes at an instant. Nodes of the same policies share one report. */
export function presentFreezes(
  set: PolicySet | null,
  { upstream }: Pick<Profile, "upstream">,
  at: number,
): PresentFreezes {
  const reports = new Map<string, FreezeReport | null>();
  const isAnyFrozen = set !== null && [set.everywhere, ...set.policies].some(({ frozen }) => frozen.length > 0);
  const policiesIn = (names: readonly string[]): readonly NodePolicy[] =>
    names.length === 0 ? [] : (set?.policies.filter(({ name }) => names.includes(name)) ?? []);
  const intervalsOf: PresentFreezes["intervalsOf"] = (judged) => {
    const maintenance = judged?.maintenance === undefined ? [] : [maintenanceInterval(judged.maintenance)];
    if (!isAnyFrozen) return maintenance;
    const freezes = [set.everywhere, ...policiesIn(policyNames(judged))].flatMap(({ frozen }) => frozen);
    return mergedIntervals([...freezes, ...maintenance]);
  };
  const policyReport: PresentFreezes["evictionFreeze"] = (judged) => {
    if (!isAnyFrozen) return null;
    const names = policyNames(judged);
    const key = names.join();
    const known = reports.get(key);
    if (known !== undefined) return known;
    const report = freezeReport(policiesIn(names), set.everywhere, at);
    reports.set(key, report);
    return report;
  };
  const reportOf: PresentFreezes["reportOf"] = (judged) => {
    return withMaintenance(policyReport(judged), judged, { policies: policiesIn(judged?.conflict ?? []), at });
  };
  const isKnown = set !== null;
  if (upstream === "beside") return { isKnown, reportOf, evictionFreeze: () => null, intervalsOf: () => [], at };
  return { isKnown, reportOf, evictionFreeze: reportOf, intervalsOf, at };
}

/** The freeze of a node and its maintenance, both until the later end. Its policies may conflict. */
function withMaintenance(
  freeze: FreezeReport | null,
  judged: PoliciesOfNode | null | undefined,
  { policies, at }: { readonly policies: readonly NodePolicy[]; readonly at: number },
): FreezeReport | null {
  const maintenance = judged?.maintenance;
  if (maintenance === undefined || maintenance.untilAt <= at) return freeze;
  const by = `maintenance (${maintenance.types.join(", ")})`;
  const maintaining = policies.filter((policy) =>
    maintenance.types.some((type) => policy.maintenance?.hold.includes(type)),
  );
  const names = judged?.policy === undefined ? maintaining.map(({ name }) => name) : [judged.policy];
  const causes = [...(freeze?.causes ?? []), ...names.map((policy) => ({ policy, by, reason: null }))];
  if (freeze === null) return { sinceAt: maintenance.sinceAt, untilAt: maintenance.untilAt, causes };
  const untilAt = freeze.untilAt === null ? null : Math.max(freeze.untilAt, maintenance.untilAt);
  return { sinceAt: Math.min(freeze.sinceAt, maintenance.sinceAt), untilAt, causes };
}

function maintenanceInterval({
  sinceAt,
  untilAt,
}: {
  readonly sinceAt: number;
  readonly untilAt: number;
}): FrozenInterval {
  return { fromAt: sinceAt, toAt: untilAt };
}

function policyNames(judged: PoliciesOfNode | null | undefined): readonly string[] {
  return judged?.conflict ?? (judged?.policy === undefined ? [] : [judged.policy]);
}

/**
 * How a freeze delays the deletion of a pod; null while none does. The policies decide that, because nothing about the
 * pod is published when a freeze begins or ends as planned. What is left of its countdown is known from the judgement
 * of the pod that was made in the same freeze. While this process does not know the policies, the judgement alone says
 * what delays the pod: a freeze, or that its sender did not know the policy either.
 */
export function frozenEviction(
  judged: BodyOf<"judged.pod"> | null,
  node: Pick<NodeRecord, "judged"> | undefined,
  { isKnown, evictionFreeze, at }: PresentFreezes,
): FrozenEviction | null {
  const frozen = judged?.held;
  if (!isKnown) {
    const isFrozen = frozen !== undefined && (frozen.untilAt === null || frozen.untilAt > at);
    return isFrozen ? { untilAt: frozen.untilAt, remainingMs: frozen.remainingMs, by: frozen.field } : null;
  }
  const freeze = evictionFreeze(node?.judged);
  if (freeze === null) return null;
  const { untilAt } = freeze;
  const remainingMs = frozen !== undefined && isSameEnd(frozen.untilAt, untilAt) ? frozen.remainingMs : null;
  return { untilAt, remainingMs, by: freezeText(freeze).text };
}

/**
 * Whether two ends are of one freeze. Before a maintenance window is recorded, each reader begins it by its own clock.
 */
function isSameEnd(left: number | null, right: number | null): boolean {
  if (left === null || right === null) return left === right;
  return Math.abs(left - right) <= SAME_END_MS;
}

/** Whether a countdown reaches a planned freeze without an end, so that it has no deadline yet. */
export function isBeforeFreeze(
  judged: BodyOf<"judged.pod"> | null,
  node: Pick<NodeRecord, "judged"> | undefined,
  freezes: PresentFreezes,
): boolean {
  return hasNoDeadline(judged) && !hasOnlyEndingFreezes(node, freezes);
}

/**
 * Whether the policies refute the last judgement of a pod: it names no deadline because of a freeze without an end, and
 * they name no such freeze. Usually that has ended, and the next judgement is under way or lost. A request for the
 * pod's deletion names a deadline, so it is followed instead.
 */
export function isRefuted(
  { judged, asked }: Pick<PodRecord, "judged" | "asked">,
  node: Pick<NodeRecord, "judged"> | undefined,
  freezes: PresentFreezes,
): boolean {
  return asked === null && hasNoDeadline(judged) && hasOnlyEndingFreezes(node, freezes);
}

/** Whether the countdown of a pod is paused because no node can be heard. */
export function isInOutage(judged: BodyOf<"judged.pod"> | null): boolean {
  return judged?.eviction === "pending" && judged.deadlineAt === null && judged.outage?.toAt === null;
}

function hasNoDeadline(judged: BodyOf<"judged.pod"> | null): boolean {
  return judged?.eviction === "pending" && judged.deadlineAt === null && !isInOutage(judged);
}

/** Whether each freeze of a node has an end; false while its freezes are not known. */
function hasOnlyEndingFreezes(
  node: Pick<NodeRecord, "judged"> | undefined,
  { isKnown, intervalsOf }: PresentFreezes,
): boolean {
  const judged = node?.judged ?? null;
  return isKnown && judged !== null && intervalsOf(judged).every(({ toAt }) => toAt !== null);
}
