/** Decides how far what a watch told can be trusted. Pure; instants are on the monotonic clock. */

/** How well one resource is seen. */
export interface SyncState {
  readonly synced: boolean;
  /**
   * Start of the unbroken sight; null before the first list. Kept through a short loss, so that it can go on after it.
   */
  readonly sinceMs: number | null;
  /** The last instant at which the watch is known to have been whole; null while it is. */
  readonly lostAtMs: number | null;
}

/** Nothing has been seen yet. */
export const NEVER_SYNCED: SyncState = { synced: false, sinceMs: null, lostAtMs: null };

/** The sight after the watch was found broken or in doubt, having last been whole at `lostAtMs`. */
export function syncLost(state: SyncState, lostAtMs: number): SyncState {
  if (state.sinceMs === null) return state;
  return { ...state, synced: false, lostAtMs: Math.min(state.lostAtMs ?? lostAtMs, lostAtMs) };
}

/**
 * The sight after everything missed was caught up with. It goes on where it was lost, unless that took longer than
 * `blindMs`: heartbeats may then be old for no fault of their nodes, so it starts anew.
 */
export function syncRegained(state: SyncState, nowMs: number, blindMs: number): SyncState {
  const blind = state.sinceMs === null || (state.lostAtMs !== null && nowMs - state.lostAtMs > blindMs);
  return { synced: true, sinceMs: blind ? nowMs : state.sinceMs, lostAtMs: null };
}
