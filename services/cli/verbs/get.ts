/** `vigil get`: what a running fleet knows of zones, nodes, countdowns and of itself. */
import { readinessSchema } from "../../../protocols/judged.ts";
import type { NodeReport, PendingEviction, ZoneReport } from "../../../protocols/status.ts";
import { NATS_SETTINGS } from "../../runtime/config.settings.ts";
import { ConfigProblem, type Setting, type ValuesOf } from "../../runtime/config.value.ts";
import { askConsole, CONSOLE_SETTINGS } from "../console-client.ts";
import { fleetTable, hearFleet } from "../fleet-roll.ts";
import { nodesTable, timersTable, zonesTable } from "../get-tables.ts";
import { defineVerb, type Host, type Verb } from "../verb.ts";

const ANY = "any";

const SETTINGS = {
  output: {
    unit: "choice",
    flag: "output",
    standard: "table",
    choices: ["table", "json"],
    meaning: "How it is printed.",
  } as Setting<string>,
  readiness: {
    unit: "choice",
    flag: "readiness",
    standard: ANY,
    choices: [ANY, ...readinessSchema.options],
    meaning: "Only nodes judged so.",
  } as Setting<string>,
  limit: {
    unit: "count",
    flag: "limit",
    standard: 1000,
    meaning: "How many nodes or timers are shown at most.",
    example: "100",
  } as Setting<number>,
  ...CONSOLE_SETTINGS,
  ...NATS_SETTINGS,
} as const;
type Values = Readonly<ValuesOf<typeof SETTINGS>>;

/** What can be got: the answer and how much there is, and the answer as a table. */
interface Topic<R> {
  readonly ask: (values: Values, host: Host) => Promise<{ readonly rows: readonly R[]; readonly total: number }>;
  readonly table: (rows: readonly R[], nowMs: number) => string;
  /** Where it was looked for, told when there is nothing. */
  readonly where?: (values: Values) => string;
}

/** More than so many are not answered at once. */
const LIMIT_MAX = 10_000;

const topic = <R>(
  name: string,
  { ask, table, where }: Topic<R>,
): { show(values: Values, host: Host): Promise<void> } => ({
  show: async (values, host) => {
    const { rows, total } = await ask(values, host);
    host.print(values.output === "json" ? `${JSON.stringify(rows, null, 2)}\n` : table(rows, host.wallMs()));
    const kind = values.readiness === ANY ? name : `${values.readiness} ${name}`;
    if (total === 0) host.warn(`vigil: there are no ${kind}${where?.(values) ?? ""}\n`);
    if (rows.length >= total) return;
    const more = total > LIMIT_MAX ? `--limit=${LIMIT_MAX} shows the most` : `--limit=${total} shows all`;
    host.warn(`vigil: ${rows.length} of ${total} ${name} ${rows.length === 1 ? "is" : "are"} shown; ${more}\n`);
  },
});

const whole = <R>(rows: readonly R[]) => ({ rows, total: rows.length });

async function askNodes({ server, limit, readiness }: Values, host: Host) {
  const judged = readiness === ANY ? "" : `&readiness=${readiness}`;
  const path = `/api/nodes?limit=${limit}${judged}`;
  const { counts, nodes } = await askConsole<{ counts: Record<string, number>; nodes: NodeReport[] }>(
    server,
    path,
    host,
  );
  const counted = Object.entries(counts).filter(([name]) => readiness === ANY || readiness === name);
  return { rows: nodes, total: counted.reduce((sum, [, count]) => sum + count, 0) };
}

async function askTimers({ server, limit }: Values, host: Host) {
  const path = `/api/evictions?limit=${limit}`;
  const { count, next } = await askConsole<{ count: number; next: PendingEviction[] }>(server, path, host);
  return { rows: next, total: count };
}

const TOPICS = new Map([
  [
    "zones",
    topic("zones", {
      ask: async ({ server }, host) => whole(await askConsole<ZoneReport[]>(server, "/api/zones", host)),
      table: zonesTable,
    }),
  ],
  ["nodes", topic("nodes", { ask: askNodes, table: nodesTable })],
  ["timers", topic("timers", { ask: askTimers, table: timersTable })],
  [
    "fleet",
    topic("members", {
      ask: async (values, host) => whole(await hearFleet(values, host)),
      table: fleetTable,
      where: ({ cluster }) => ` of --cluster=${cluster}; start vigil run with the same --nats, or name its --cluster`,
    }),
  ],
]);

/** The flags that mean nothing to some of the topics, and those that take them. */
const TAKEN_BY: Readonly<Partial<Record<keyof Values, readonly string[]>>> = {
  readiness: ["nodes"],
  limit: ["nodes", "timers"],
  server: ["zones", "nodes", "timers"],
  ...Object.fromEntries(Object.keys(NATS_SETTINGS).map((name) => [name, ["fleet"]])),
};

/** Throws a ConfigProblem when a flag was given that would change nothing, or more was asked for than is answered. */
function refuseStray(topic: string, values: Values): void {
  for (const [name, { flag, standard }] of Object.entries(SETTINGS)) {
    const value = values[name as keyof Values];
    const takers = TAKEN_BY[name as keyof Values];
    if (takers === undefined || takers.includes(topic) || String(value) === String(standard)) continue;
    const whose = takers.map((taker) => `get ${taker}`);
    const last = whose.pop();
    const who = whose.length === 0 ? `${last} takes` : `${whose.join(", ")} and ${last} take`;
    throw new ConfigProblem(`get ${topic} --${flag}=${String(value)}: only ${who} it`);
  }
  const { limit } = values;
  if (limit > LIMIT_MAX) throw new ConfigProblem(`get ${topic} --limit=${limit}: must be at most ${LIMIT_MAX}`);
}

/** The verb that shows what is known. */
export const getVerb: Verb = defineVerb({
  name: "get",
  summary: "show zones, nodes, running countdowns, or the members of the fleet",
  words: `<${[...TOPICS.keys()].join("|")}>`,
  firstWords: [...TOPICS.keys()],
  wordsMax: 1,
  settings: SETTINGS,
  examples: [
    { command: "vigil get zones", does: "state, pace and queue of every zone" },
    {
      command: "vigil get nodes --readiness=unknown",
      does: "the nodes that fell silent, and when they were last heard",
    },
    { command: "vigil get timers --limit=20", does: "the twenty pods to be evicted next, and when" },
    { command: "vigil get fleet --nats=nats://127.0.0.1:4222", does: "the processes on this NATS and their shards" },
  ],
  run: async (values, [name = ""], host: Host) => {
    const found = TOPICS.get(name);
    if (found === undefined)
      throw new ConfigProblem(`${`get ${name}`.trim()}: name one of ${[...TOPICS.keys()].join(", ")}`);
    refuseStray(name, values);
    await found.show(values, host);
    return 0;
  },
});
