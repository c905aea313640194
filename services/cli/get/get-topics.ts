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
import { unknownNameText } from "../../domain/suggest.ts";
import { namesZoneOf } from "../../domain/zone-key.ts";
import type { KUBE_SETTINGS, NATS_SETTINGS } from "../../platform/config/settings.ts";
import type { ValuesOf } from "../../platform/config/value.ts";
import { printable } from "../../platform/process/printable.ts";
import { type ConsoleAddress, getFromConsole } from "../connect/console-client.ts";
import { STUCK } from "../stuck/stuck-table.ts";
import { openStuckPods } from "../stuck/stuck-topic.ts";
import { ExitCode, Failure, type Host } from "../verb.ts";
import { openFleetListener } from "./fleet-listener.ts";
import { MEMBERS, type MemberReport, remarkOn } from "./fleet-members.ts";
import { type Form, type Output, printerOf } from "./get-printer.ts";
import { FREEZES, type FreezeRow, freezeRows, NODES, POLICIES, TIMERS, ZONES } from "./get-tables.ts";
import { openLabels } from "./labelled-names.ts";
import { type Selected, type Selection, selectedRows } from "./selection.policy.ts";
import { blindnessOf, type WatchAnswer } from "./watch.policy.ts";
import { blindLine, watchRows } from "./watch-rows.ts";

/** The value of --readiness for all nodes. */
export const ANY = "any";

/** The flags of `vigil get`. */
export interface Wanted
  extends Readonly<ValuesOf<typeof NATS_SETTINGS>>,
    Readonly<ValuesOf<typeof KUBE_SETTINGS>>,
    ConsoleAddress,
    Selection {
  readonly output: Output;
  readonly noHeaders: boolean;
  readonly watch: boolean;
  readonly outputWatchEvents: boolean;
  readonly readiness: string;
  readonly zone: string;
  readonly policy: string;
  /** A label selector; empty for all. */
  readonly selector: string;
}

/** Shows a topic: once, or with --watch until the process is stopped. Returns the exit code. */
export type Show = (wanted: Wanted, host: Host, clock: Clock) => Promise<number>;

interface Source<R> {
  readonly read: () => Promise<WatchAnswer<R>>;
  readonly close?: () => Promise<void>;
}

interface Topic<R> extends Selected<R> {
  readonly open: (wanted: Wanted, host: Host, clock: Clock) => Source<R> | Promise<Source<R>>;
  /** Appended to the note that there are no rows: where they were searched for. */
  readonly where?: (wanted: Wanted) => string;
  /** A remark about all rows, in one line; null for none. */
  readonly remark?: (rows: readonly R[]) => string | null;
}

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
  ["zones", showOf({ name: "zones", table: ZONES, open: openZones, remark: freezeRemark })],
  ["nodes", showOf({ name: "nodes", table: NODES, open: openNodes, isByName: true })],
  [
    "policies",
    showOf({
      name: "policies",
      table: POLICIES,
      open: consoleSource<PolicyReport>("policies", () => "/api/policies"),
    }),
  ],
  ["freezes", showOf({ name: "freezes", table: FREEZES, open: openFreezes })],
  [
    "timers",
    showOf({
      name: "timers",
      table: TIMERS,
      open: consoleSource<PendingEviction>("next", (wanted) => `/api/evictions?limit=${limitOf(wanted)}`, "count"),
      absent: "no eviction of it is pending",
    }),
  ],
  [
    "stuck",
    showOf({
      name: "stuck pods",
      table: STUCK,
      open: (wanted, host) => openStuckPods({ ...wanted, limit: limitOf(wanted) }, host),
      where: () => ": none is Terminating past its grace on a node that is not Ready or gone",
      absent: "not stuck",
    }),
  ],
  [
    "fleet",
    showOf({
      name: "members",
      table: MEMBERS,
      open: async (wanted, host, clock) => {
        if (wanted.nats.length === 0) {
          return { read: async () => allOf(await getFromConsole<MemberReport[]>(wanted, "/api/fleet", host)) };
        }
        const listener = await openFleetListener(wanted, { clock, host });
        return { read: async () => allOf(await listener.members()), close: () => listener.close() };
      },
      where: ({ cluster }) =>
        ` of --cluster=${cluster}; start vigil run with the same --nats, or name another --cluster`,
      remark: remarkOn,
    }),
  ],
]);

/** The limit of a query: rows that are selected after it may be anywhere among all. */
function limitOf({ limit, names, namespace, selector }: Wanted): number {
  return names.length === 0 && namespace === "" && selector === "" ? limit : LIMIT_MAX;
}

/** That all nodes are frozen, and by which users. */
function freezeRemark(zones: readonly ZoneReport[]): string | null {
  const { frozenBy } = zones.find((zone) => zone.frozenBy !== undefined) ?? {};
  return frozenBy === undefined ? null : `all nodes are frozen by ${frozenBy}; vigil get freezes says until when`;
}

const ZONES_BESIDE = ": Vigil works beside upstream, whose controllers keep zones and their rates";

function allOf<R>(rows: readonly R[]): WatchAnswer<R> {
  return { rows, total: rows.length, blind: null };
}

const blindIn = (watchHealth?: WatchHealthReport) => (watchHealth === undefined ? null : blindnessOf(watchHealth));

/** An answer of the console. One that does not report its watch health counts as synced. */
type ConsoleAnswer = Readonly<Record<string, unknown>> & { readonly watchHealth?: WatchHealthReport };

/** A source whose rows are in a field of the answer to a path; `total` names the field with their number, if any. */
function consoleSource<R>(field: string, path: (wanted: Wanted) => string, total?: string): Topic<R>["open"] {
  return (wanted, host) => ({
    read: async () => {
      const answer = await getFromConsole<ConsoleAnswer>(wanted, path(wanted), host);
      const rows = answer[field] as readonly R[];
      return {
        rows,
        total: total === undefined ? rows.length : Number(answer[total]),
        blind: blindIn(answer.watchHealth),
      };
    },
  });
}

/** The zones; beside upstream there may be none for that reason. */
async function openZones(wanted: Wanted, host: Host): Promise<Source<ZoneReport>> {
  return {
    read: async () => {
      const { zones, watchHealth, isBeside } = await getFromConsole<Overview>(wanted, "/api/overview", host);
      const why = isBeside === true && zones.length === 0 ? { why: ZONES_BESIDE } : {};
      return { rows: zones, total: zones.length, blind: blindIn(watchHealth), ...why };
    },
  };
}

async function openFreezes(wanted: Wanted, host: Host, clock: Clock): Promise<Source<FreezeRow>> {
  const { read: ask } = await consoleSource<PolicyReport>("policies", () => "/api/policies")(wanted, host, clock);
  return {
    read: async () => {
      const { rows, blind } = await ask();
      const freezes = freezeRows(rows);
      return { rows: freezes, total: freezes.length, blind };
    },
  };
}

async function openNodes(wanted: Wanted, host: Host, clock: Clock): Promise<Source<NodeReport>> {
  const { read: ask } = await consoleSource<NodeReport>("nodes", nodesPath, "total")(wanted, host, clock);
  let isChecked = false;
  return {
    read: async () => {
      const answer = await ask();
      if (answer.rows.length === 0 && answer.blind === null && !isChecked) await refuseUnknown(wanted, host);
      isChecked = true;
      return answer;
    },
  };
}

function nodesPath(wanted: Wanted): string {
  const { readiness, zone, policy, names, selector, limit } = wanted;
  const query = new URLSearchParams({ limit: String(selector === "" ? limit : LIMIT_MAX) });
  for (const name of names) query.append("name", name);
  if (readiness !== ANY) query.set("readiness", readiness);
  if (zone !== "") query.set("zone", zone);
  if (policy !== "") query.set("policy", policy);
  return `/api/nodes?${query.toString()}`;
}

/** Throws a Failure for a --zone or --policy that does not exist: no node has it, whatever the other flags. */
async function refuseUnknown(wanted: Wanted, host: Host): Promise<void> {
  const { zone, policy } = wanted;
  if (zone !== "") {
    const { zones } = await getFromConsole<Overview>(wanted, "/api/overview", host);
    const isKnown = zones.some((known) => namesZoneOf(zone, known.zone));
    // Beside upstream no zone is judged, although nodes are in zones.
    if (zones.length > 0 && !isKnown) {
      throw new Failure(`--zone=${zone}: ${unknownNameText("zones", zones.map(ZONES.nameOf))}`);
    }
  }
  if (policy === "") return;
  const { policies } = await getFromConsole<{ policies: PolicyReport[] }>(wanted, "/api/policies", host);
  const names = policies.flatMap(({ name }) => (name === "" ? [] : [name]));
  if (!names.includes(policy)) throw new Failure(`--policy=${policy}: ${unknownNameText("policies", names)}`);
}

function showOf<R>(topic: Topic<R>): Show {
  return async (wanted, host, clock) => {
    const { watch, output, outputWatchEvents: events, readiness, noHeaders, names } = wanted;
    const { table } = topic;
    const gone = readiness === ANY ? "gone" : `not ${readiness}`;
    const form: Form<R> = { table, output, events, single: names.length === 1, noHeaders, gone };
    const printer = printerOf(form, host);
    const note = (answer: WatchAnswer<R>): void => {
      for (const line of notesOn(answer, topic, wanted)) host.warn(line);
    };
    let source: Source<R> | null = null;
    try {
      source = await openSelected(topic, wanted, host, clock);
      const { read: ask } = source;
      if (watch) {
        await watchRows({ table, read: ask, report: printer.changes, begun: note }, { clock, host });
        return ExitCode.ok;
      }
      const answer = await ask();
      if (answer.rows.length > 0 || names.length === 0) printer.all(answer.rows);
      note(answer);
      return (answer.missing ?? []).length === 0 ? ExitCode.ok : ExitCode.failed;
    } catch (problem) {
      // An interruption is the normal end of a watch, not a failure.
      if (!watch || !host.stopped.aborted) throw problem;
      return ExitCode.ok;
    } finally {
      await source?.close?.();
    }
  };
}

/** The source of a topic, which answers with the wanted rows alone. */
async function openSelected<R>(topic: Topic<R>, wanted: Wanted, host: Host, clock: Clock): Promise<Source<R>> {
  const { table } = topic;
  const { selector } = wanted;
  const labels =
    selector === "" || table.labelled === undefined ? null : await openLabels(table.labelled, wanted, host);
  const source = await topic.open(wanted, host, clock);
  return {
    read: async () => selectedRows(await source.read(), wanted, topic, (await labels?.names()) ?? null),
    close: async () => {
      labels?.close();
      await source.close?.();
    },
  };
}

/** Notes on an answer that is empty, cut short by the limit, lacks wanted names, or is possibly stale. */
function notesOn<R>(
  { rows, total, blind, why, missing = [] }: WatchAnswer<R>,
  { name, where, remark }: Topic<R>,
  wanted: Wanted,
): string[] {
  const kind = wanted.readiness === ANY ? name : `${wanted.readiness} ${name}`;
  const more = total > LIMIT_MAX ? `the largest limit is --limit=${LIMIT_MAX}` : `--limit=${total} shows all`;
  const shown = `${rows.length} of ${total} ${name} ${rows.length === 1 ? "is" : "are"} shown`;
  const remarked = remark?.(rows) ?? null;
  return [
    ...missing.map((each) => `vigil: ${printable(each)}\n`),
    ...(remarked === null ? [] : [`vigil: ${remarked}\n`]),
    ...(total === 0 && missing.length === 0 ? [`vigil: there are no ${kind}${why ?? where?.(wanted) ?? ""}\n`] : []),
    ...(rows.length < total ? [`vigil: ${shown}; ${more}\n`] : []),
    ...(blind === null ? [] : [blindLine(blind)]),
  ];
}
