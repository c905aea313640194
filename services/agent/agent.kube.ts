/** The API client of an agent. Its requests time out within a heartbeat period (R9.2). */
import type { Clock, Kube } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { createKube, type KubeIo } from "../platform/kube/kube.ts";
import type { AgentSettings } from "./agent.settings.ts";

/** The shortest request timeout, even with shorter heartbeat periods. */
const PATIENCE_MS_MIN = 1_000;

/** A failure sooner than this after the connections were closed was caused by that, not by a dead connection. */
const RECONNECT_PAUSE_MS = 1_000;

/** Closes connections, but not twice for one cause: lease and status fail independently of each other. */
export function reconnecting(clock: Clock, close: () => void): () => void {
  let closedMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = clock.monotonicMs();
    if (nowMs - closedMs < RECONNECT_PAUSE_MS) return;
    closedMs = nowMs;
    close();
  };
}

/**
 * Creates the API client of one agent. After two renewals that time out on dead connections, a third must fit in before
 * the node counts as silent.
 */
export function agentKube(
  io: Pick<KubeIo, "wire" | "clock" | "random" | "log" | "metrics">,
  { statusComputeMs, leaseSeconds }: Pick<AgentSettings, "statusComputeMs" | "leaseSeconds">,
): Kube {
  const patienceMs = Math.max(PATIENCE_MS_MIN, Math.min(statusComputeMs, leaseSeconds * 1000));
  return createKube({ ...io, profile: STANDARD_PROFILE, patienceMs });
}
