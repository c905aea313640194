/** The context of an explanation. */
import type { FreezeReport } from "../../../protocols/ledger-reader.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import { shardOf } from "../../../protocols/subjects.ts";
import { apiTime } from "../../domain/api-time.ts";
import { freezeText } from "../../domain/freeze-report.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import { policyOf } from "../../domain/node-policy.ts";
import { NO_OUTAGES, nodeOutagesOf, type OutageTime } from "../../domain/paused-time/outages.ts";
import { leasePathText } from "../../platform/shard-view/lease-path-text.ts";
import type { LedgerSetup } from "../ledger.setup.ts";
import type { History } from "../record/history.ts";
import type { NodeJudgement, NodeRecord } from "../state/cluster-state.ts";
import type { StateSubscriber } from "../state/state-subscriber.ts";
import { type Sentence, sentence } from "./sentences.ts";

/** What a sentence says in place of an instant that no message names. */
export const UNDATED = "an instant that is not known";

/**
 * How long the judgement of a node may be older than its Ready status, in milliseconds. Its owner follows within a
 * second; a judgement that was lost is published again after a request for a resync.
 */
const REJUDGED_WITHIN_MS = 30_000;

/** What an explanation is computed from, at one instant. */
export type ExplainContext = ReturnType<typeof explainContext>;

/** The context of an explanation. */
export function explainContext(
  { io: { clock, policies, profile }, isShadow }: Pick<LedgerSetup, "io" | "isShadow">,
  { state, history }: { readonly state: StateSubscriber; readonly history: History },
) {
  const { cluster, drainPods, watchHealth } = state;
  const set = policies.current();
  return {
    state: cluster,
    history,
    profile,
    /** Whether Vigil is in shadow mode: it says what it would do and does not do it. */
    isShadow,
    /** Set while no lease of any node is renewed although statuses still arrive: how; null while leases are renewed. */
    leasePath: watchHealth.leasePath,
    /** How the lease of a node is contested; null where it is not. */
    contestedLease: (name: string) => watchHealth.contestedLease(name),
    /** Why the shard of a node is blind; null where it is not. */
    blindness: (name: string) => watchHealth.blindness(shardOf(name), clock.monotonicMs()),
    freezes: state.freezes,
    /** What outages mean for countdowns by the health of a node. */
    outagesOf: (observed: ObservedNode): OutageTime =>
      profile.upstream === "beside" ? NO_OUTAGES : nodeOutagesOf(observed, set, watchHealth.outages, profile),
    /** Whether the observer could hear nodes after a message of that instant was sent. */
    isHeardAfter: (at: number) => watchHealth.isHeardAfter(at),
    /** The outages that the observer has found. */
    observedOutages: watchHealth.outages,
    /** The policies in force that have eviction rates; null while this process does not know the policies. */
    rated: state.rated,
    /** The policy of this name that is in force; null for none, and while this process does not know the policies. */
    policyNamed: (name: string) => set?.policies.find((policy) => policy.name === name) ?? null,
    /** Whether this process knows the policy of a node, or that it has none. */
    isPolicyKnown: (observed: ObservedNode) => policyOf(observed, set).kind !== "unknown",
    /** Whether a drain would delete no pod of a node (direct mode); false while its pods are not known. */
    isDrainEmpty: (name: string) => drainPods.isEmpty(name),
    /** Why it is not known which nodes exist in the shard of a node; null where it is. */
    unknownReason: state.unknownReason,
    /** How far the clock of this machine is ahead of the API server's, which counts, in milliseconds. */
    machineAheadMs: clock.machineAheadMs?.() ?? 0,
    /** Epoch milliseconds. */
    now: clock.wallMs(),
  };
}

/** The node of that name; undefined where only a late judgement names it and it is known not to exist. */
export function presentNode(name: string, { state, unknownReason }: ExplainContext): NodeRecord | undefined {
  const node = state.nodes.get(name);
  return node?.observed === null && unknownReason(name) === null ? undefined : node;
}

/**
 * Whether the judgement of a node is of an earlier time: the API has shown another Ready status since, and its owner,
 * which may be suspended, has not judged it again. A verdict that is not written yet is newer than the status.
 */
export function isOutdated(
  { judged, judgedAt, observed, readyChange }: NodeRecord,
  { now }: Pick<ExplainContext, "now">,
): boolean {
  if (judged === null || judgedAt === null || observed === null || readyChange === null) return false;
  const isOlder = judgedAt < readyChange.at && now - readyChange.at >= REJUDGED_WITHIN_MS;
  return isOlder && judged.ready !== (readyConditionOf(observed)?.status ?? null);
}

/** The judgement of a node as of now; null where it has none. */
export function presentJudgement(node: NodeRecord, context: ExplainContext): NodeJudgement | null {
  return isOutdated(node, context) ? null : node.judged;
}

/** The sentence that names the broken path of leases; none while leases are renewed. */
export function leasePathSentences({ leasePath }: Pick<ExplainContext, "leasePath">): Sentence[] {
  return leasePath === null ? [] : [sentence("leasePathBroken", { why: leasePathText(leasePath) })];
}

/** How a node is frozen, or the nodes of a policy; none while they are not. */
export function freezeSentences(
  subject: "node" | "policy",
  freeze: FreezeReport | null,
  { profile }: Pick<ExplainContext, "profile">,
): Sentence[] {
  if (freeze === null) return [];
  const values = { at: apiTime(freeze.sinceAt), by: freezeText(freeze) };
  if (profile.upstream === "beside") {
    const thaw = subject === "node" ? "a user thaws it" : "a user thaws them";
    const until = freeze.untilAt === null ? thaw : apiTime(freeze.untilAt);
    return [sentence(`${subject}FrozenBeside`, { ...values, until })];
  }
  if (freeze.untilAt === null) return [sentence(`${subject}Frozen`, values)];
  return [sentence(`${subject}FrozenUntil`, { ...values, until: apiTime(freeze.untilAt) })];
}
