/** Derives the node's health from checks of the container runtime (R9.20). */
import type { RuntimeReport } from "./machine-stats.ts";

/** The results of the checks. Instants on the monotonic clock. */
export interface RuntimeState {
  /** When the runtime was last ready; null before the first time. */
  readonly readyAtMs: number | null;
  readonly runtimeProblem: string | null;
  readonly networkProblem: string | null;
}

/** Before the first check. */
export const UNCHECKED_RUNTIME: RuntimeState = {
  readyAtMs: null,
  runtimeProblem: null,
  networkProblem: "network state unknown",
};

/** The state after a check. A check without an answer changes nothing, so that the last success ages. */
export function afterCheck(state: RuntimeState, report: RuntimeReport | null, nowMs: number): RuntimeState {
  if (report === null) return state;
  const networkProblem =
    report.networkProblem === null ? null : `container runtime network not ready: ${report.networkProblem}`;
  if (report.runtimeProblem !== null) {
    return { ...state, networkProblem, runtimeProblem: `container runtime not ready: ${report.runtimeProblem}` };
  }
  return { readyAtMs: nowMs, runtimeProblem: null, networkProblem };
}

/** Problems of the runtime now. */
export function runtimeProblems(state: RuntimeState, nowMs: number, downMs: number): readonly string[] {
  const problems = state.runtimeProblem === null ? [] : [state.runtimeProblem];
  if (state.readyAtMs === null) return ["container runtime status check may not have completed yet", ...problems];
  return nowMs - state.readyAtMs >= downMs ? ["container runtime is down", ...problems] : problems;
}

/** Problems of the network now. */
export function networkProblems(state: RuntimeState): readonly string[] {
  return state.networkProblem === null ? [] : [state.networkProblem];
}
