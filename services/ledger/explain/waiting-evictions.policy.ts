/** Which pods that are due wait for the eviction rate of a policy, and where in its queue. It decides nothing. */
import type { WaitingEviction } from "../../../protocols/ledger-reader.ts";
import type { Judged } from "../cluster-state.ts";
import type { PodRecord } from "../pod-records.ts";
import { isRecent } from "./queue.policy.ts";

/** How a pod waits, as the owner of the rates published it lately; null while it does not. */
export function waitingEviction(
  { asked, order }: Pick<PodRecord, "asked" | "order">,
  evictions: ReadonlyMap<string, Judged<"judged.evictions">>,
  now: number,
): WaitingEviction | null {
  if (asked?.policy === undefined || order === "done") return null;
  const { policy, uid } = asked;
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
  if (last === undefined || isPermitted || waiting <= queue.length) return null;
  const { field, expectedAt } = last;
  return { policy, place: null, waiting, field, expectedAt, behind: queue.length, ...unleased };
}
