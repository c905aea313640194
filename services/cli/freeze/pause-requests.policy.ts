/**
 * The pause requests of one object, with one more or with some ended. An ended request stays for a while, because its
 * instants say exactly how long countdowns stood still, even if no process of Vigil ran meanwhile.
 */
import { PAUSE_REQUESTS_MAX } from "../../../protocols/judged.ts";
import type { PauseRequestSpec } from "../../../protocols/node-policy.ts";
import { apiMicroTime, epochMsOf } from "../../domain/api-time.ts";
import { readablePauseRequest } from "../../domain/node-policy.parse.ts";
import { listOf, recordOf, textOf } from "../../platform/structures/json.ts";

/** How long an ended request stays, in milliseconds. By then the policy service has recorded it. */
const ENDED_KEPT_MS = 24 * 60 * 60 * 1000;

/** A pause request as it is written; `policy` only in the ConfigMap. */
export type WrittenRequest = PauseRequestSpec & { readonly policy?: string };

/**
 * The requests in a list of unknown origin, as far as each can be read: so it is in force, and can be ended. One for no
 * readable policy is left out, as the policy service leaves it out.
 */
export function requestsIn(list: unknown): WrittenRequest[] {
  return listOf(list).flatMap((entry) => {
    const { policy, ...rest } = recordOf(entry);
    const { entries } = readablePauseRequest(rest, "pauseRequests");
    if (policy === undefined) return entries;
    const scope = textOf(policy);
    return scope === null ? [] : entries.map((request) => ({ ...request, policy: scope }));
  });
}

/** The requests with one more. Throws a RangeError when there are too many. */
export function withRequest(
  requests: readonly WrittenRequest[],
  request: WrittenRequest,
  nowAt: number,
): WrittenRequest[] {
  const kept = requests.filter(({ until }) => until === undefined || !endedLongAgo(until, nowAt));
  if (kept.length >= PAUSE_REQUESTS_MAX) throw new RangeError(`there are already ${kept.length} pause requests`);
  return [...kept, request];
}

/** The requests without those for later, and with every other one ended now; `policy` selects those of the ConfigMap. */
export function thawed(
  requests: readonly WrittenRequest[],
  policy: string | undefined,
  nowAt: number,
): { readonly requests: readonly WrittenRequest[]; readonly ended: number } {
  const isActive = (request: WrittenRequest): boolean =>
    request.policy === policy && (epochMsOf(request.until) ?? Number.POSITIVE_INFINITY) > nowAt;
  const isLater = ({ since }: WrittenRequest): boolean => (epochMsOf(since) ?? nowAt) > nowAt;
  const left = requests.filter((request) => !isActive(request) || !isLater(request));
  const until = apiMicroTime(nowAt);
  return {
    requests: left.map((request) => (isActive(request) ? { ...request, until } : request)),
    ended: requests.filter(isActive).length,
  };
}

function endedLongAgo(until: string, nowAt: number): boolean {
  return (epochMsOf(until) ?? nowAt) < nowAt - ENDED_KEPT_MS;
}
