/**
 * The client of a kubelet: one that waits for no answer longer than a heartbeat can (R9.2). What is asked is decided
 * elsewhere.
 */
import type { Clock, Kube } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { createKube, type KubeIo } from "../platform/kube/kube.ts";
import type { AgentSettings } from "./agent.settings.ts";

/** No server is asked to answer sooner than this, however quick the heartbeats. */
const PATIENCE_MS_MIN = 1_000;

/** Who fails sooner than this after connections were closed fails for that, and has met no dead ones. */
const RECONNECT_PAUSE_MS = 1_000;

/**
 * Closes connections when it is called, but not twice for one cause: lease and status fail apart from each other, and
 * each would break what the other has just made anew.
 */
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
 * A client of the API for one agent. Two renewals in a row that get no answer, because their connections died unseen,
 * have to leave time for a third before the node counts as silent.
 */
export function agentKube(
  io: Pick<KubeIo, "wire" | "clock" | "random" | "log" | "metrics">,
  { statusComputeMs, leaseSeconds }: Pick<AgentSettings, "statusComputeMs" | "leaseSeconds">,
): Kube {
  const patienceMs = Math.max(PATIENCE_MS_MIN, Math.min(statusComputeMs, leaseSeconds * 1000));
  return createKube({ ...io, profile: STANDARD_PROFILE, patienceMs });
}
