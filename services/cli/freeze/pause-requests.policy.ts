/**
 * The pause requests of one object, with one more or with some ended. An ended request stays for 24 hours. Its instants
 * state exactly how long countdowns were frozen, even if no process of Vigil ran meanwhile. Example: a pod is due at
 * second 300; a request lasts from second 100 to second 160 while Vigil is down; after its start Vigil reads the
 * request and deletes the pod at second 360.
 */
import { PAUSE_REQUESTS_MAX } from "../../../protocols/judged.ts";
import type { PauseRequestSpec } from "../../../protocols/node-policy.ts";
import { apiMicroTime, epochMsOf } from "../../domain/api-time.ts";
import { readablePauseRequest } from "../../domain/node-policy.parse.ts";
import { listOf, recordOf, textOf } from "../../structures/json.ts";
import { Failure } from "../verb.ts";

/** How long an ended request stays, in milliseconds. By then the policy service has recorded it. */
const ENDED_KEPT_MS = 24 * 60 * 60 * 1000;

/** A pause request as it is written; `policy` only in the ConfigMap. */
export type WrittenRequest = PauseRequestSpec & { readonly policy?: string };

/**
 * The requests in a list of unknown origin, as far as each can be read: so it is in force, and can be ended. One for a
 * policy that cannot be read freezes all nodes.
 */
export function requestsIn(list: unknown): WrittenRequest[] {
  return listOf(list).flatMap((entry) => {
    const { policy, ...rest } = recordOf(entry);
    const { entries } = readablePauseRequest(rest, "pauseRequests");
    const scope = textOf(policy);
    return entries.map((request) => (scope === null ? request : { ...request, policy: scope }));
  });
}

/**
 * The requests with one more; those that ended first make room for it. Throws a Failure where too many have not ended.
 */
export function withRequest(
  requests: readonly WrittenRequest[],
  request: WrittenRequest,
  nowAt: number,
): WrittenRequest[] {
  const kept = requests.filter((each) => endOf(each) >= nowAt - ENDED_KEPT_MS);
  const ended = kept.filter((each) => endOf(each) <= nowAt).toSorted((left, right) => endOf(left) - endOf(right));
  const dropped = new Set(ended.slice(0, Math.max(0, kept.length + 1 - PAUSE_REQUESTS_MAX)));
  const left = kept.filter((each) => !dropped.has(each));
  if (left.length >= PAUSE_REQUESTS_MAX) {
    throw new Failure(`there are already ${left.length} pause requests that have not ended: thaw some`);
  }
  return [...left, request];
}

/** The requests without those for later, and with every other one ended now; `policy` selects those of the ConfigMap. */
export function thawed(
  requests: readonly WrittenRequest[],
  policy: string | undefined,
  nowAt: number,
): { readonly requests: readonly WrittenRequest[]; readonly ended: number } {
  const isOpen = (request: WrittenRequest): boolean => request.policy === policy && endOf(request) > nowAt;
  const left = requests.filter((request) => !isOpen(request) || !isLater(request, nowAt));
  const until = apiMicroTime(nowAt);
  return {
    requests: left.map((request) => (isOpen(request) ? { ...request, until } : request)),
    ended: requests.filter(isOpen).length,
  };
}

/** Whether requests of the ConfigMap freeze all nodes at an instant. */
export function areAllFrozen(requests: readonly WrittenRequest[], at: number): boolean {
  return requests.some((request) => request.policy === undefined && endOf(request) > at && !isLater(request, at));
}

function isLater({ since }: WrittenRequest, nowAt: number): boolean {
  return (epochMsOf(since) ?? nowAt) > nowAt;
}

/** When a request ends: never where its end is not an instant. */
function endOf({ until }: WrittenRequest): number {
  return epochMsOf(until) ?? Number.POSITIVE_INFINITY;
}
