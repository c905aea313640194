/** The loop of `vigil get --watch`: queries a source every two seconds, reports changes, retries a lost source. */
import type { Clock } from "../../../protocols/ports.ts";
import { printable } from "../../platform/process/printable.ts";
import { Failure, type Host, pause } from "../verb.ts";
import type { Table } from "./get-tables.ts";
import { type Change, compared, type Rows, type WatchAnswer } from "./watch.policy.ts";

/** Pause between an answer and the next query. */
export const WATCH_PERIOD_MS = 2000;

/** What is watched, and where its changes go. */
export interface RowWatch<R> {
  readonly table: Table<R>;
  /** Queries the source; rejects with a Failure while it does not answer. */
  readonly read: () => Promise<WatchAnswer<R>>;
  readonly report: (changes: readonly Change<R>[]) => void;
  /** Called with the first answer after it is reported. */
  readonly begun: (answer: WatchAnswer<R>) => void;
}

/** Watches until the process is stopped. Rejects when the first query does; retries later ones. */
export async function watchRows<R>(
  { table, read: ask, report, begun }: RowWatch<R>,
  { clock, host }: { readonly clock: Clock; readonly host: Pick<Host, "warn" | "stopped"> },
): Promise<void> {
  let known: Rows<R> = new Map();
  let lost = false;
  let blind: string | null = null;
  const onAnswer = (answer: WatchAnswer<R>, first: boolean): void => {
    const news = compared(known, answer, table);
    known = news.known;
    if (lost) host.warn("vigil: connected again\n");
    lost = false;
    if (first || news.changes.length > 0) report(news.changes);
    if (first) begun(answer);
    else if (answer.blind !== null && blind === null) host.warn(blindLine(answer.blind));
    if (answer.blind === null && blind !== null) host.warn("vigil: all shards are synced again\n");
    blind = answer.blind;
  };
  for (let first = true; ; first = false) {
    const answer = await ask().catch((problem: unknown) => {
      if (host.stopped.aborted) return null;
      if (first || !(problem instanceof Failure)) throw problem;
      if (!lost) host.warn(`vigil: ${printable(problem.message)}; retrying\n`);
      lost = true;
      return null;
    });
    if (host.stopped.aborted) return;
    if (answer !== null) onAnswer(answer, first);
    await pause(WATCH_PERIOD_MS, clock, host);
    if (host.stopped.aborted) return;
  }
}

/** The warning that some shards are not synced. */
export function blindLine(why: string): string {
  return `vigil: ${why}; no evictions are decided there, and this output may be stale\n`;
}
