/** An instant on both clocks of a process. */

/** The monotonic clock measures durations; the wall clock, in epoch milliseconds, dates what others read. */
export interface Instant {
  readonly nowMs: number;
  readonly wallMs: number;
}
