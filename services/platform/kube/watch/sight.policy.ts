/** Decides how far what a watch told can be trusted. Pure; instants are on the monotonic clock. */

/** How well one resource is seen. */
export interface Sight {
  readonly synced: boolean;
  /**
   * Start of the unbroken sight; null before the first list. Kept through a short loss, so that it can go on after it.
   */
  readonly sinceMs: number | null;
  /** The last instant at which the watch is known to have been whole; null while it is. */
  readonly lostAtMs: number | null;
}

/** Nothing has been seen yet. */
export const UNSEEN: Sight = { synced: false, sinceMs: null, lostAtMs: null };

/** The sight after the watch was found broken or in doubt, having last been whole at `lostAtMs`. */
export function sightLost(sight: Sight, lostAtMs: number): Sight {
  if (sight.sinceMs === null) return sight;
  return { ...sight, synced: false, lostAtMs: Math.min(sight.lostAtMs ?? lostAtMs, lostAtMs) };
}

/**
 * The sight after everything missed was caught up with. It goes on where it was lost, unless that took longer than
 * `blindMs`: heartbeats may then be old for no fault of their nodes, so it starts anew.
 */
export function sightRegained(sight: Sight, nowMs: number, blindMs: number): Sight {
  const blind = sight.sinceMs === null || (sight.lostAtMs !== null && nowMs - sight.lostAtMs > blindMs);
  return { synced: true, sinceMs: blind ? nowMs : sight.sinceMs, lostAtMs: null };
}
