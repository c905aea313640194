/** Decides whether a watch is synced, and since when without a gap. Pure; instants are on the monotonic clock. */

/** The sync state of one watched resource. */
export interface SyncState {
  readonly synced: boolean;
  /** When the watch last became synced without a gap; null before the first list. A short loss does not reset it. */
  readonly sinceMs: number | null;
  /** When the watch was last known to be complete; null while it is. */
  readonly lostAtMs: number | null;
}

/** The state before the first list. */
export const NEVER_SYNCED: SyncState = { synced: false, sinceMs: null, lostAtMs: null };

/** The state after the watch broke or became suspect; it was last complete at `lostAtMs`. */
export function syncLost(state: SyncState, lostAtMs: number): SyncState {
  if (state.sinceMs === null) return state;
  return { ...state, synced: false, lostAtMs: Math.min(state.lostAtMs ?? lostAtMs, lostAtMs) };
}

/**
 * The state after everything missed has been read. `sinceMs` stays as it was, unless the loss lasted longer than
 * `blindMs`: heartbeats may then be old through no fault of their nodes, so it starts again.
 */
export function syncRegained(state: SyncState, nowMs: number, blindMs: number): SyncState {
  const blind = state.sinceMs === null || (state.lostAtMs !== null && nowMs - state.lostAtMs > blindMs);
  return { synced: true, sinceMs: blind ? nowMs : state.sinceMs, lostAtMs: null };
}
