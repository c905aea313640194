/**
 * Decides how long a reader waits before it repeats a request that failed, and whether its watch is synced, and since
 * when without a gap. Pure; instants are on the monotonic clock.
 */
import type { Random } from "../../../../protocols/ports.ts";
import { retryPauseMs } from "../../../structures/retry-schedule.ts";
import type { ListEnd } from "./listing.ts";
import type { StreamEnd } from "./stream.ts";

/** How a request of a reader ended. */
export type ReaderEnd = ListEnd | StreamEnd;

/** Longer pauses would by themselves exceed watchBlindMs. */
const BACKOFF = { baseMs: 200, maxMs: 5_000 };

/** The pause after so many failures, with full jitter; longer when the server requests it. In milliseconds. */
export function readerPauseMs(end: ReaderEnd, failures: number, random: Random): number {
  const requestedMs = end.kind === "refused" ? (end.refusal.retryAfterMs ?? 0) : 0;
  return Math.max(retryPauseMs(failures, { ...BACKOFF, random }), requestedMs);
}

/** What went wrong, for people. */
export function troubleOf(end: ReaderEnd): string {
  if (end.kind === "refused") return end.refusal.message;
  return end.kind === "complete" || end.kind === "listed" ? "the server closed the watch at once" : end.message;
}

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
 * `blindMs`: heartbeats may then be old through no fault of their nodes, so it starts again. Example with a `blindMs`
 * of 10 s: a watch that is synced since second 0 breaks at second 600. If it is synced again at second 604, it is
 * synced since 0; at second 615, since 615.
 */
export function syncRegained(state: SyncState, nowMs: number, blindMs: number): SyncState {
  const blind = state.sinceMs === null || (state.lostAtMs !== null && nowMs - state.lostAtMs > blindMs);
  return { synced: true, sinceMs: blind ? nowMs : state.sinceMs, lostAtMs: null };
}
