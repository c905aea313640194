/** Which pods that are due wait for the eviction rate of a policy, and where in its queue. It decides nothing. */
import type { WaitingEviction } from "../../../protocols/ledger-reader.ts";
import type { Judged } from "./cluster-state.ts";
import type { PodRecord } from "./pod-records.ts";
import { isRecent } from "./waiting-nodes.policy.ts";

/** What is known of the rates at one instant. */
export interface PresentRates {
  /** What the owners of the rates published last, by policy. */
  readonly evictions: ReadonlyMap<string, Judged<"judged.evictions">>;
  /** The policies in force that have rates; null while this process does not know the policies. */
  readonly rated: ReadonlySet<string> | null;
  /** Epoch milliseconds. */
  readonly now: number;
}

/**
 * How a pod waits, as the owner of the rates published it lately; null while it does not. A request names the policy of
 * its own time. A policy that has lost its rates since then delays nothing, although the request was not sent again.
 */
export function waitingEviction(
  pod: Pick<PodRecord, "judged" | "asked" | "order" | "last">,
  { evictions, rated, now }: PresentRates,
): WaitingEviction | null {
  const { asked, order, last: attempt } = pod;
  const uid = (asked ?? pod.judged)?.uid;
  if (uid === undefined || order === "done") return null;
  const policy = asked === null ? queueWith(uid, evictions) : asked.policy;
  if (policy === undefined) return null;
  if (rated?.has(policy) === false) return null;
  const record = evictions.get(policy);
  if (record === undefined || !isRecent(record, now)) {
    return { policy, field: null, place: null, waiting: 0, expectedAt: null };
  }
  const { queue, waiting, lease } = record.judged;
  const unleased = lease === undefined ? {} : { lease };
  const index = queue.findIndex((entry) => entry.uid === uid);
  const entry = queue[index];
  if (entry !== undefined) {
    const { field, expectedAt } = entry;
    return { policy, place: index + 1, waiting, field, expectedAt, ...unleased };
  }
  const last = queue.at(-1);
  const isPermitted = record.judged.permits.some((permit) => permit.uid === uid);
  // A pod that is attempted, or whose last attempt failed, is in no queue.
  const isPaused = attempt?.retrying === true && attempt.retryAt !== null && attempt.retryAt > now;
  if (last === undefined || isPermitted || isPaused || waiting <= queue.length) return null;
  const { field, expectedAt } = last;
  return { policy, place: null, waiting, field, expectedAt, behind: queue.length, ...unleased };
}

/** The policy whose queue names a pod: a ledger may be younger than the last request for the pod. */
function queueWith(uid: string, evictions: PresentRates["evictions"]): string | undefined {
  return [...evictions.values()].find(({ judged }) => judged.queue.some((entry) => entry.uid === uid))?.judged.policy;
}
