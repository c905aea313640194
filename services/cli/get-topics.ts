/** What `vigil get` can show: where each topic is asked for, and in which rows it is told. */
import type { Clock } from "../../protocols/ports.ts";
import type { NodeReport, Overview, PendingEviction, SightReport } from "../../protocols/status.ts";
import type { NATS_SETTINGS } from "../platform/config/settings.ts";
import type { ValuesOf } from "../platform/config/value.ts";
import { askConsole, type ConsoleAddress } from "./console-client.ts";
import { MEMBERS, openFleetEar, remarkOn } from "./fleet-roll.ts";
import { changePrinter, type Form, type Output, printWhole } from "./get-printer.ts";
import { NODES, type Table, TIMERS, ZONES } from "./get-tables.ts";
import type { Host } from "./verb.ts";
import { type Answer, blindnessOf } from "./watch.policy.ts";
import { blindLine, watchRows } from "./watch.ts";

/** The readiness that stands for each of them. */
export const ANY = "any";
/** More than so many are not answered at once. */
export const LIMIT_MAX = 10_000;

/** What was asked for. */
export interface Wanted extends Readonly<ValuesOf<typeof NATS_SETTINGS>>, ConsoleAddress {
  readonly output: Output;
  readonly watch: boolean;
  readonly outputWatchEvents: boolean;
  readonly readiness: string;
  readonly limit: number;
}

/** Shows a topic: once, or until the process is asked to end. */
export type Show = (wanted: Wanted, host: Host, clock: Clock) => Promise<void>;

/** Where a topic is asked for. */
interface Source<R> {
  readonly ask: () => Promise<Answer<R>>;
  readonly close?: () => Promise<void>;
}

interface Topic<R> {
  /** What the rows are, in the plural. */
  readonly name: string;
  readonly table: Table<R>;
  readonly open: (wanted: Wanted, host: Host, clock: Clock) => Source<R> | Promise<Source<R>>;
  /** Where it was looked for, told when there is nothing. */
  readonly where?: (wanted: Wanted) => string;
  /** What the rows together show that no row says, in one line; null when nothing. */
  readonly remark?: (rows: readonly R[]) => string | null;
}

/** The sight of a console that does not tell of it is taken for granted. */
const seen = (sight?: SightReport) => (sight === undefined ? null : blindnessOf(sight));

/** Every topic by its name. */
export const TOPICS: ReadonlyMap<string, Show> = new Map([
  [
    "zones",
    showOf({
      name: "zones",
      table: ZONES,
      open: (wanted, host) => ({
        ask: async () => {
          const { zones, sight } = await askConsole<Overview>(wanted, "/api/overview", host);
          return { rows: zones, total: zones.length, blind: seen(sight) };
        },
      }),
    }),
  ],
  ["nodes", showOf({ name: "nodes", table: NODES, open: (wanted, host) => ({ ask: () => askNodes(wanted, host) }) })],
  [
    "timers",
    showOf({ name: "timers", table: TIMERS, open: (wanted, host) => ({ ask: () => askTimers(wanted, host) }) }),
  ],
  [
    "fleet",
    showOf({
      name: "members",
      table: MEMBERS,
      open: async (wanted, host, clock) => {
        const ear = await openFleetEar(wanted, { clock, host });
        return { ask: async () => whole(await ear.members()), close: () => ear.close() };
      },
      where: ({ cluster }) => ` of --cluster=${cluster}; start vigil run with the same --nats, or name its --cluster`,
      remark: remarkOn,
    }),
  ],
]);

function whole<R>(rows: readonly R[]): Answer<R> {
  return { rows, total: rows.length, blind: null };
}

async function askNodes(wanted: Wanted, host: Host): Promise<Answer<NodeReport>> {
  const { limit, readiness } = wanted;
  const judged = readiness === ANY ? "" : `&readiness=${readiness}`;
  const path = `/api/nodes?limit=${limit}${judged}`;
  type Nodes = { counts: Record<string, number>; nodes: NodeReport[]; sight?: SightReport };
  const { counts, nodes, sight } = await askConsole<Nodes>(wanted, path, host);
  const counted = Object.entries(counts).filter(([name]) => readiness === ANY || readiness === name);
  return { rows: nodes, total: counted.reduce((sum, [, count]) => sum + count, 0), blind: seen(sight) };
}

async function askTimers(wanted: Wanted, host: Host): Promise<Answer<PendingEviction>> {
  type Timers = { count: number; next: PendingEviction[]; sight?: SightReport };
  const { count, next, sight } = await askConsole<Timers>(wanted, `/api/evictions?limit=${wanted.limit}`, host);
  return { rows: next, total: count, blind: seen(sight) };
}

function showOf<R>(topic: Topic<R>): Show {
  return async (wanted, host, clock) => {
    const { watch, output, outputWatchEvents: events, readiness } = wanted;
    const { table } = topic;
    const form: Form<R> = { table, output, events, gone: readiness === ANY ? "gone" : `not ${readiness}` };
    const note = (answer: Answer<R>): void => {
      for (const line of notesOn(answer, topic, wanted)) host.warn(line);
    };
    let source: Source<R> | null = null;
    try {
      source = await topic.open(wanted, host, clock);
      const ask = source.ask;
      if (watch) return await watchRows({ table, ask, tell: changePrinter(form, host), begun: note }, { clock, host });
      const answer = await ask();
      printWhole(answer.rows, form, host);
      note(answer);
    } catch (problem) {
      // Who watches is interrupted in the end, and not kept from what was asked for.
      if (!watch || !host.stopped.aborted) throw problem;
    } finally {
      await source?.close?.();
    }
  };
}

/** What an answer does not say by itself: that it is empty, leaves something out, or may be old. */
function notesOn<R>({ rows, total, blind }: Answer<R>, { name, where, remark }: Topic<R>, wanted: Wanted): string[] {
  const kind = wanted.readiness === ANY ? name : `${wanted.readiness} ${name}`;
  const more = total > LIMIT_MAX ? `--limit=${LIMIT_MAX} shows the most` : `--limit=${total} shows all`;
  const shown = `${rows.length} of ${total} ${name} ${rows.length === 1 ? "is" : "are"} shown`;
  const remarked = remark?.(rows) ?? null;
  return [
    ...(remarked === null ? [] : [`vigil: ${remarked}\n`]),
    ...(total === 0 ? [`vigil: there are no ${kind}${where?.(wanted) ?? ""}\n`] : []),
    ...(rows.length < total ? [`vigil: ${shown}; ${more}\n`] : []),
    ...(blind === null ? [] : [blindLine(blind)]),
  ];
}
