/** Which nodes and pods are frozen, from the policies in force and the last judgements. It decides nothing. */
import type { FreezeReport, FrozenEviction } from "../../protocols/ledger-reader.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import type { PolicySet } from "../../protocols/policy-set.ts";
import { freezeReport, freezeText } from "../domain/freeze-report.ts";
import type { NodeRecord } from "./cluster-state.ts";

/** The policies of a node as last judged. */
type PoliciesOfNode = Pick<NonNullable<NodeRecord["judged"]>, "policy" | "conflict">;

/** The freezes at one instant. */
export interface PresentFreezes {
  /** False while the policies are not known in this process. */
  readonly isKnown: boolean;
  /** How a node is frozen; null while it is not. */
  readonly ofNode: (judged: PoliciesOfNode | null | undefined) => FreezeReport | null;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** The freezes at an instant. Nodes of the same policies share one report. */
export function presentFreezes(set: PolicySet | null, at: number): PresentFreezes {
  const reports = new Map<string, FreezeReport | null>();
  const isAnyFrozen = set !== null && [set.everywhere, ...set.policies].some(({ frozen }) => frozen.length > 0);
  const ofNode: PresentFreezes["ofNode"] = (judged) => {
    if (!isAnyFrozen) return null;
    const names = judged?.conflict ?? (judged?.policy === undefined ? [] : [judged.policy]);
    const key = names.join();
    const known = reports.get(key);
    if (known !== undefined) return known;
    const policies = names.length === 0 ? [] : set.policies.filter(({ name }) => names.includes(name));
    const report = freezeReport(policies, set.everywhere, at);
    reports.set(key, report);
    return report;
  };
  return { isKnown: set !== null, ofNode, at };
}

/**
 * How a freeze holds back the deletion of a pod; null while none does. The policies say whether, because nothing about
 * the pod is published when a freeze begins or ends as planned. What is left of its countdown is known from the
 * judgement of the pod that was made in the same freeze.
 */
export function frozenEviction(
  judged: BodyOf<"judged.pod"> | null,
  node: Pick<NodeRecord, "judged"> | undefined,
  { isKnown, ofNode, at }: PresentFreezes,
): FrozenEviction | null {
  const held = judged?.held;
  if (!isKnown) {
    const isHeld = held !== undefined && (held.untilAt === null || held.untilAt > at);
    return isHeld ? { untilAt: held.untilAt, remainingMs: held.remainingMs, by: held.field } : null;
  }
  const freeze = ofNode(node?.judged);
  if (freeze === null) return null;
  const { untilAt } = freeze;
  return { untilAt, remainingMs: held?.untilAt === untilAt ? held.remainingMs : null, by: freezeText(freeze) };
}

/** Whether a countdown reaches a planned freeze without an end, so that it has no deadline yet. */
export function isBeforeFreeze(judged: BodyOf<"judged.pod"> | null): boolean {
  return judged?.eviction === "pending" && judged.deadlineAt === null;
}
