/** `vigil get`: what a running fleet knows of zones, nodes, countdowns and of itself. */
import { readinessSchema } from "../../../protocols/judged.ts";
import type { Clock } from "../../../protocols/ports.ts";
import { shownNatsAddress } from "../../platform/bus/nats.address.ts";
import { formatDuration } from "../../platform/config/duration.ts";
import { NATS_SETTINGS } from "../../platform/config/settings.ts";
import { nearest } from "../../platform/config/suggest.ts";
import { ConfigProblem, type Setting, type ValuesOf } from "../../platform/config/value.ts";
import { CONSOLE_SETTINGS } from "../console-client.ts";
import { OUTPUTS, type Output } from "../get-printer.ts";
import { ANY, LIMIT_MAX, TOPICS } from "../get-topics.ts";
import { defineVerb, type Verb } from "../verb.ts";
import { WATCH_PERIOD_MS } from "../watch-rows.ts";

const SETTINGS = {
  output: {
    unit: "choice",
    flag: "output",
    standard: "table",
    choices: OUTPUTS,
    meaning: "How it is printed.",
  } as Setting<Output>,
  watch: {
    unit: "switch",
    flag: "watch",
    standard: false,
    meaning:
      `Go on until interrupted: ask again every ${formatDuration(WATCH_PERIOD_MS)}, and print each row that changed; in ` +
      "JSON and YAML as a document of its own, where only --output-watch-events tells of rows that are gone.",
  } as Setting<boolean>,
  outputWatchEvents: {
    unit: "switch",
    flag: "output-watch-events",
    standard: false,
    meaning: "With --watch: tell of each row whether it was ADDED, MODIFIED or DELETED.",
  } as Setting<boolean>,
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
  nats: { ...NATS_SETTINGS.nats, meaning: "For get fleet: NATS servers, over which its processes talk." },
} as const;
type Values = Readonly<ValuesOf<typeof SETTINGS>>;

/** The flags that mean nothing to some of the topics, and those that take them. */
const TAKEN_BY: Readonly<Partial<Record<keyof Values, readonly string[]>>> = {
  readiness: ["nodes"],
  limit: ["nodes", "timers"],
  ...Object.fromEntries(Object.keys(CONSOLE_SETTINGS).map((name) => [name, ["zones", "nodes", "timers"]])),
  ...Object.fromEntries(Object.keys(NATS_SETTINGS).map((name) => [name, ["fleet"]])),
};

/** Throws a ConfigProblem when a flag was given that would change nothing, or more was asked for than is answered. */
function refuseUnusedFlags(topic: string, values: Values): void {
  for (const [name, { flag, standard }] of Object.entries(SETTINGS)) {
    const value = values[name as keyof Values];
    const takers = TAKEN_BY[name as keyof Values];
    if (takers === undefined || takers.includes(topic) || String(value) === String(standard)) continue;
    const whose = takers.map((taker) => `get ${taker}`);
    const last = whose.pop();
    const who = whose.length === 0 ? `${last} takes` : `${whose.join(", ")} and ${last} take`;
    const shown = name === "nats" ? values.nats.map(shownNatsAddress) : value;
    throw new ConfigProblem(`get ${topic} --${flag}=${String(shown)}: only ${who} it`);
  }
  const { limit, watch, outputWatchEvents } = values;
  if (limit > LIMIT_MAX) throw new ConfigProblem(`get ${topic} --limit=${limit}: must be at most ${LIMIT_MAX}`);
  if (outputWatchEvents && !watch) throw new ConfigProblem("--output-watch-events: has a meaning only with --watch");
}

function unknownTopic(word: string): ConfigProblem {
  const names = [...TOPICS.keys()];
  const meant = nearest(word, names);
  const asked = `get ${word}`.trim();
  return new ConfigProblem(
    `${asked}: ${meant === null ? `name one of ${names.join(", ")}` : `did you mean get ${meant}?`}`,
  );
}

/** The verb that shows what is known; on this clock it waits before it asks again. */
export const getVerb = (clock: Clock): Verb =>
  defineVerb({
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
      { command: "vigil get nodes -w", does: "the nodes, and each again when it is judged otherwise" },
      { command: "vigil get timers --limit=20 -o yaml", does: "the twenty pods to be evicted next, and when" },
      { command: "vigil get fleet --nats=nats://127.0.0.1:4222", does: "the processes on this NATS and their shards" },
    ],
    run: async (values, [name = ""], host) => {
      const show = TOPICS.get(name);
      if (show === undefined) throw unknownTopic(name);
      refuseUnusedFlags(name, values);
      await show(values, host, clock);
      return 0;
    },
  });
