/** Asks again and again, and tells what has changed. It survives a source that cannot be asked for a while. */
import type { Clock } from "../../protocols/ports.ts";
import { printable } from "../platform/process/printable.ts";
import type { Table } from "./get-tables.ts";
import { Failure, type Host, pause } from "./verb.ts";
import { type Change, compared, type Rows, type WatchAnswer } from "./watch.policy.ts";

/** Pause between an answer and the next question. */
export const WATCH_PERIOD_MS = 2000;

/** What is watched, and where its changes go. */
export interface RowWatch<R> {
  readonly table: Table<R>;
  /** Gives what there is; rejects with a Failure when it cannot be had now. */
  readonly ask: () => Promise<WatchAnswer<R>>;
  readonly report: (changes: readonly Change<R>[]) => void;
  /** Told of the first answer once it is printed. */
  readonly begun: (answer: WatchAnswer<R>) => void;
}

/** Watches until the process is asked to end. Rejects as the first question does; later ones are asked again. */
export async function watchRows<R>(
  { table, ask, report, begun }: RowWatch<R>,
  { clock, host }: { readonly clock: Clock; readonly host: Pick<Host, "warn" | "stopped"> },
): Promise<void> {
  let known: Rows<R> = new Map();
  let lost = false;
  let blind: string | null = null;
  const take = (answer: WatchAnswer<R>, first: boolean): void => {
    const news = compared(known, answer, table);
    known = news.known;
    if (lost) host.warn("vigil: it answers again\n");
    lost = false;
    if (first || news.changes.length > 0) report(news.changes);
    if (first) begun(answer);
    else if (answer.blind !== null && blind === null) host.warn(blindLine(answer.blind));
    if (answer.blind === null && blind !== null) host.warn("vigil: all of the cluster is seen again\n");
    blind = answer.blind;
  };
  for (let first = true; ; first = false) {
    const answer = await ask().catch((problem: unknown) => {
      if (host.stopped.aborted) return null;
      if (first || !(problem instanceof Failure)) throw problem;
      if (!lost) host.warn(`vigil: ${printable(problem.message)}; asking on\n`);
      lost = true;
      return null;
    });
    if (host.stopped.aborted) return;
    if (answer !== null) take(answer, first);
    await pause(WATCH_PERIOD_MS, clock, host);
    if (host.stopped.aborted) return;
  }
}

/** The line that says that not all is seen. */
export function blindLine(why: string): string {
  return `vigil: ${why}; nothing harmful is decided there, and what is shown may be old\n`;
}
