/** What checks of the container runtime say about the node's health (R9.20). Pure. */
import type { RuntimeReport } from "./machine-stats.ts";

/** What is remembered of the checks. Instants on the monotonic clock. */
export interface RuntimeState {
  /** When the runtime last was ready; null before the first time. */
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

/** The state after a check; one without an answer changes nothing, so that the last good one ages. */
export function afterCheck(state: RuntimeState, report: RuntimeReport | null, nowMs: number): RuntimeState {
  if (report === null) return state;
  const networkProblem =
    report.networkProblem === null ? null : `container runtime network not ready: ${report.networkProblem}`;
  if (report.runtimeProblem !== null) {
    return { ...state, networkProblem, runtimeProblem: `container runtime not ready: ${report.runtimeProblem}` };
  }
  return { readyAtMs: nowMs, runtimeProblem: null, networkProblem };
}

/** What stands against the runtime now. */
export function runtimeProblems(state: RuntimeState, nowMs: number, downMs: number): readonly string[] {
  const problems = state.runtimeProblem === null ? [] : [state.runtimeProblem];
  if (state.readyAtMs === null) return ["container runtime status check may not have completed yet", ...problems];
  return nowMs - state.readyAtMs >= downMs ? ["container runtime is down", ...problems] : problems;
}

/** What stands against the network now. */
export function networkProblems(state: RuntimeState): readonly string[] {
  return state.networkProblem === null ? [] : [state.networkProblem];
}
