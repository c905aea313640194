/** Decides how long a reader waits before it repeats a request that failed. Pure. */
import type { Random } from "../../../../protocols/ports.ts";
import { retryPauseMs } from "../../../structures/retry-schedule.ts";
import type { ListEnd } from "./listing.ts";
import type { StreamEnd } from "./stream.ts";

/** How a request of a reader ended. */
export type ReaderEnd = ListEnd | StreamEnd;

/** Longer pauses would by themselves exceed watchBlindMs. */
const BACKOFF = { baseMs: 200, maxMs: 5_000 };

/** The pause after so many failures, with full jitter; longer when the server asks for it. In milliseconds. */
export function readerPauseMs(end: ReaderEnd, failures: number, random: Random): number {
  const askedMs = end.kind === "refused" ? (end.refusal.retryAfterMs ?? 0) : 0;
  return Math.max(retryPauseMs(failures, { ...BACKOFF, random }), askedMs);
}

/** What went wrong, for people. */
export function troubleOf(end: ReaderEnd): string {
  if (end.kind === "refused") return end.refusal.message;
  return end.kind === "complete" || end.kind === "listed" ? "the server closed the watch at once" : end.message;
}
