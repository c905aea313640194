/** When what the silence of a node causes is paused: in outages, and while the node or all nodes are frozen. */

import type { ObservedNode } from "../../../protocols/objects.ts";
import type { FrozenInterval } from "../../../protocols/policy-set.ts";
import type { Io } from "../../../protocols/ports.ts";
import { nodeFreezeOf } from "../../domain/freeze.ts";
import type { Instant } from "../../domain/instant.ts";
import { onClock } from "../../domain/paused-time/frozen-time.ts";
import { nodeOutagesOf, type OutageTime, outagesOnClock, type PausedTime } from "../../domain/paused-time/outages.ts";
import type { ObservedOutages } from "./concern.ts";

type PauseIo = Pick<Io, "policies" | "profile">;

/** The outages that count for a node. */
export function outagesOf({ policies, profile }: PauseIo, node: ObservedNode, observed: ObservedOutages): OutageTime {
  return nodeOutagesOf(node, policies.current(), observed, profile);
}

/** When countdowns of a node are paused, on the monotonic clock. */
export function pausesOf(io: PauseIo, node: ObservedNode, observed: ObservedOutages, at: Instant): PausedTime {
  const { frozen } = nodeFreezeOf(node, io.policies.current(), at.wallMs);
  return pausedTime(frozen, outagesOf(io, node, observed), at);
}

/** Frozen time and outages of the API's clock, on the monotonic clock. */
export function pausedTime(
  frozen: readonly FrozenInterval[],
  outages: OutageTime,
  { nowMs, wallMs }: Instant,
): PausedTime {
  const aheadMs = nowMs - wallMs;
  return { frozen: onClock(frozen, aheadMs), outages: outagesOnClock(outages, aheadMs) };
}
