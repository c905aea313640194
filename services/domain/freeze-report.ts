/** What freezes nodes, for people: who, why, through what, and until when. It reads no clock. */
import type { FreezeCause, FreezeReport } from "../../protocols/ledger-reader.ts";
import type { Freezes, NodePolicy } from "../../protocols/policy-set.ts";
import { type NamedText, named, namedList, policyText } from "./format.ts";
import { activeRequests, freezesByMode } from "./freeze.ts";
import { frozenAt, mergedIntervals } from "./paused-time/frozen-time.ts";

/** How nodes under these policies are frozen at an instant of the API's clock; null while they are not. */
export function freezeReport(policies: readonly NodePolicy[], everywhere: Freezes, at: number): FreezeReport | null {
  const intervals = [...everywhere.frozen, ...policies.flatMap(({ frozen }) => frozen)];
  const present = intervals.length === 0 ? null : frozenAt(mergedIntervals(intervals), at);
  if (present === null) return null;
  const causes = [
    ...causesOf(null, everywhere, at),
    ...policies.flatMap((policy) => causesOf(policy.name, policy, at, freezesByMode(policy) ? policy.mode : null)),
  ];
  return { sinceAt: present.fromAt, untilAt: present.toAt, causes };
}

/** What freezes the nodes of one policy, or all nodes. A freeze that no user requests any more is about to end. */
function causesOf(
  policy: string | null,
  freezes: Freezes,
  at: number,
  mode: NodePolicy["mode"] | null = null,
): FreezeCause[] {
  if (frozenAt(freezes.frozen, at) === null) return [];
  const requests = activeRequests(freezes, at).map(({ name: by, reason }) => ({ policy, by, reason }));
  return mode === null ? requests : [{ policy, by: `mode ${mode}`, reason: null }, ...requests];
}

/** Who freezes nodes as English: `alice (switch maintenance) through NodePolicy gpu`. */
export function freezeText({ causes }: Pick<FreezeReport, "causes">): NamedText {
  if (causes.length === 0) return named`a request that has ended`;
  return namedList(
    causes.map(({ policy, by, reason }) => {
      const through = policy === null ? "vigil freeze --all" : policyText(policy);
      return named`${by}${reason === null ? "" : ` (${reason})`} through ${through}`;
    }),
  );
}
