/** Which pause requests are published: people read them. What countdowns need of a freeze is its intervals. */
import type { PauseRequestSpec } from "../../protocols/node-policy.ts";
import { epochMsOf } from "../domain/api-time.ts";

/** Most requests of one policy, or of all nodes, that are published. */
const REQUESTS_MAX = 16;
/** Most characters of a name or a reason. */
const TEXT_CHARACTERS_MAX = 128;
/** Most characters of all of them: with the longest spec, or the names of all policies, they fit into one message. */
const CHARACTERS_MAX = 2 * 1024;

/** The newest of the requests that have not ended, with short texts. */
export function publishedRequests(requests: readonly PauseRequestSpec[], nowAt: number): PauseRequestSpec[] {
  const running = requests.filter(({ until }) => (epochMsOf(until) ?? Number.POSITIVE_INFINITY) > nowAt);
  const newest = running.slice(-REQUESTS_MAX).map(shortened);
  while (newest.length > 1 && JSON.stringify(newest).length > CHARACTERS_MAX) newest.shift();
  return newest;
}

function shortened({ name, reason, ...instants }: PauseRequestSpec): PauseRequestSpec {
  const short = (text: string): string => text.slice(0, TEXT_CHARACTERS_MAX);
  return { name: short(name), ...(reason === undefined ? {} : { reason: short(reason) }), ...instants };
}
