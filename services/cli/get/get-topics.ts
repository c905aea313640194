/** The topics of `vigil get`: the source and the table of each. */
import { LIMIT_MAX } from "../../../protocols/bounds.ts";
import type {
  NodeReport,
  Overview,
  PendingEviction,
  PolicyReport,
  WatchHealthReport,
  ZoneReport,
} from "../../../protocols/ledger-reader.ts";
import type { Clock } from "../../../protocols/ports.ts";
import type { KUBE_SETTINGS, NATS_SETTINGS } from "../../platform/config/settings.ts";
import type { ValuesOf } from "../../platform/config/value.ts";
import { type ConsoleAddress, getFromConsole } from "../connect/console-client.ts";
import { STUCK } from "../stuck/stuck-table.ts";
import { openStuckPods } from "../stuck/stuck-topic.ts";
import { Failure, type Host } from "../verb.ts";
import { MEMBERS, type MemberReport, openFleetListener, remarkOn } from "./fleet-members.ts";
import { changePrinter, type Form, type Output, printWhole } from "./get-printer.ts";
import { FREEZES, type FreezeRow, freezeRows, NODES, POLICIES, type Table, TIMERS, ZONES } from "./get-tables.ts";
import { blindnessOf, type WatchAnswer } from "./watch.policy.ts";
import { blindLine, watchRows } from "./watch-rows.ts";

/** The value of --readiness for all nodes. */
export const ANY = "any";

/** The flags of `vigil get`. */
export interface Wanted
  extends Readonly<ValuesOf<typeof NATS_SETTINGS>>,
    Readonly<ValuesOf<typeof KUBE_SETTINGS>>,
    ConsoleAddress {
  readonly output: Output;
  readonly watch: boolean;
  readonly outputWatchEvents: boolean;
  readonly readiness: string;
  readonly limit: number;
  readonly zone: string;
  readonly policy: string;
  /** The nodes of these names; empty for all. */
  readonly names: readonly string[];
}

/** Shows a topic: once, or with --watch until the process is stopped. */
export type Show = (wanted: Wanted, host: Host, clock: Clock) => Promise<void>;

interface Source<R> {
  readonly ask: () => Promise<WatchAnswer<R>>;
  readonly close?: () => Promise<void>;
}

interface Topic<R> {
  /** The plural noun for the rows. */
  readonly name: string;
  readonly table: Table<R>;
  readonly open: (wanted: Wanted, host: Host, clock: Clock) => Source<R> | Promise<Source<R>>;
  /** Appended to the note that there are no rows: where they were searched for. */
  readonly where?: (wanted: Wanted) => string;
  /** A remark about the rows as a whole, in one line; null for none. */
  readonly remark?: (rows: readonly R[]) => string | null;
}

/** A console that does not report its watch health counts as synced. */
const blindIn = (watchHealth?: WatchHealthReport) => (watchHealth === undefined ? null : blindnessOf(watchHealth));

/** Other names of the topics, as kubectl has them; the countdowns are those of pods. */
export const TOPIC_ALIASES: ReadonlyMap<string, string> = new Map([
  ["zone", "zones"],
  ["node", "nodes"],
  ["no", "nodes"],
  ["timer", "timers"],
  ["pods", "timers"],
  ["pod", "timers"],
  ["po", "timers"],
  ["policy", "policies"],
  ["nodepolicy", "policies"],
  ["nodepolicies", "policies"],
  ["npol", "policies"],
  ["np", "policies"],
  ["freeze", "freezes"],
  ["member", "fleet"],
  ["members", "fleet"],
]);

/** Every topic by its name. */
export const TOPICS: ReadonlyMap<string, Show> = new Map([
  [
    "zones",
    showOf({
      name: "zones",
      table: ZONES,
      open: (wanted, host) => ({ ask: () => askZones(wanted, host) }),
      remark: freezeRemark,
    }),
  ],
  ["nodes", showOf({ name: "nodes", table: NODES, open: (wanted, host) => ({ ask: () => askNodes(wanted, host) }) })],
  [
    "policies",
    showOf({ name: "policies", table: POLICIES, open: (wanted, host) => ({ ask: () => askPolicies(wanted, host) }) }),
  ],
  [
    "freezes",
    showOf({ name: "freezes", table: FREEZES, open: (wanted, host) => ({ ask: () => askFreezes(wanted, host) }) }),
  ],
  [
    "timers",
    showOf({ name: "timers", table: TIMERS, open: (wanted, host) => ({ ask: () => askTimers(wanted, host) }) }),
  ],
  [
    "stuck",
    showOf({
      name: "stuck pods",
      table: STUCK,
      open: openStuckPods,
      where: () => ": none is Terminating past its grace on a node that is not Ready or gone",
    }),
  ],
  [
    "fleet",
    showOf({
      name: "members",
      table: MEMBERS,
      open: async (wanted, host, clock) => {
        if (wanted.nats.length === 0) {
          return { ask: async () => allOf(await getFromConsole<MemberReport[]>(wanted, "/api/fleet", host)) };
        }
        const listener = await openFleetListener(wanted, { clock, host });
        return { ask: async () => allOf(await listener.members()), close: () => listener.close() };
      },
      where: ({ cluster }) =>
        ` of --cluster=${cluster}; start vigil run with the same --nats, or name another --cluster`,
      remark: remarkOn,
    }),
  ],
]);

/** That all nodes are frozen, and by whom. */
function freezeRemark(zones: readonly ZoneReport[]): string | null {
  const { frozenBy } = zones.find((zone) => zone.frozenBy !== undefined) ?? {};
  return frozenBy === undefined ? null : `all nodes are frozen by ${frozenBy}; vigil get freezes says until when`;
}

const ZONES_BESIDE = ": Vigil works beside upstream, whose controllers keep zones and their rates";

function allOf<R>(rows: readonly R[], watchHealth?: WatchHealthReport): WatchAnswer<R> {
  return { rows, total: rows.length, blind: blindIn(watchHealth) };
}

async function askZones(wanted: Wanted, host: Host): Promise<WatchAnswer<ZoneReport>> {
  const { zones, watchHealth, isBeside } = await getFromConsole<Overview>(wanted, "/api/overview", host);
  const why = isBeside === true && zones.length === 0 ? { why: ZONES_BESIDE } : {};
  return { ...allOf(zones, watchHealth), ...why };
}

async function askPolicies(wanted: Wanted, host: Host): Promise<WatchAnswer<PolicyReport>> {
  type Policies = { policies: PolicyReport[]; watchHealth?: WatchHealthReport };
  const { policies, watchHealth } = await getFromConsole<Policies>(wanted, "/api/policies", host);
  return allOf(policies, watchHealth);
}

async function askFreezes(wanted: Wanted, host: Host): Promise<WatchAnswer<FreezeRow>> {
  const { rows, blind } = await askPolicies(wanted, host);
  const freezes = freezeRows(rows);
  return { rows: freezes, total: freezes.length, blind };
}

async function askNodes(wanted: Wanted, host: Host): Promise<WatchAnswer<NodeReport>> {
  const { limit, readiness, zone, policy, names } = wanted;
  const query = new URLSearchParams({ limit: String(limit) });
  for (const name of names) query.append("name", name);
  if (readiness !== ANY) query.set("readiness", readiness);
  if (zone !== "") query.set("zone", zone);
  if (policy !== "") query.set("policy", policy);
  type Nodes = { total: number; nodes: NodeReport[]; watchHealth?: WatchHealthReport };
  const { total, nodes, watchHealth } = await getFromConsole<Nodes>(wanted, `/api/nodes?${query.toString()}`, host);
  const missing = names.find((name) => !nodes.some((node) => node.name === name));
  const isWhole = readiness === ANY && zone === "" && policy === "" && nodes.length === total;
  if (missing !== undefined && isWhole && !wanted.watch) {
    throw new Failure(`node ${missing}: not found; vigil get nodes lists all`);
  }
  return { rows: nodes, total, blind: blindIn(watchHealth) };
}

async function askTimers(wanted: Wanted, host: Host): Promise<WatchAnswer<PendingEviction>> {
  type Timers = { count: number; next: PendingEviction[]; watchHealth?: WatchHealthReport };
  const path = `/api/evictions?limit=${wanted.limit}`;
  const { count, next, watchHealth } = await getFromConsole<Timers>(wanted, path, host);
  return { rows: next, total: count, blind: blindIn(watchHealth) };
}

function showOf<R>(topic: Topic<R>): Show {
  return async (wanted, host, clock) => {
    const { watch, output, outputWatchEvents: events, readiness } = wanted;
    const { table } = topic;
    const single = wanted.names.length === 1;
    const form: Form<R> = { table, output, events, single, gone: readiness === ANY ? "gone" : `not ${readiness}` };
    const note = (answer: WatchAnswer<R>): void => {
      for (const line of notesOn(answer, topic, wanted)) host.warn(line);
    };
    let source: Source<R> | null = null;
    try {
      source = await topic.open(wanted, host, clock);
      const ask = source.ask;
      if (watch)
        return await watchRows({ table, ask, report: changePrinter(form, host), begun: note }, { clock, host });
      const answer = await ask();
      printWhole(answer.rows, form, host);
      note(answer);
    } catch (problem) {
      // An interruption is the normal end of a watch, not a failure.
      if (!watch || !host.stopped.aborted) throw problem;
    } finally {
      await source?.close?.();
    }
  };
}

/** Notes on an answer that is empty, cut short by the limit, or possibly stale. */
function notesOn<R>(
  { rows, total, blind, why }: WatchAnswer<R>,
  { name, where, remark }: Topic<R>,
  wanted: Wanted,
): string[] {
  const kind = wanted.readiness === ANY ? name : `${wanted.readiness} ${name}`;
  const more = total > LIMIT_MAX ? `the largest limit is --limit=${LIMIT_MAX}` : `--limit=${total} shows all`;
  const shown = `${rows.length} of ${total} ${name} ${rows.length === 1 ? "is" : "are"} shown`;
  const remarked = remark?.(rows) ?? null;
  return [
    ...(remarked === null ? [] : [`vigil: ${remarked}\n`]),
    ...(total === 0 ? [`vigil: there are no ${kind}${why ?? where?.(wanted) ?? ""}\n`] : []),
    ...(rows.length < total ? [`vigil: ${shown}; ${more}\n`] : []),
    ...(blind === null ? [] : [blindLine(blind)]),
  ];
}
