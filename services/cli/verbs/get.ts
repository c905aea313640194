/** `vigil get`: shows the zones, nodes, policies, evictions and members of a running fleet, and stuck pods. */
import { LIMIT_MAX } from "../../../protocols/bounds.ts";
import { readinessSchema } from "../../../protocols/judged.ts";
import type { Clock } from "../../../protocols/ports.ts";
import { formatDuration } from "../../domain/duration.ts";
import { listText } from "../../domain/format.ts";
import { nearest } from "../../domain/suggest.ts";
import { shownNatsAddress } from "../../platform/bus/nats.address.ts";
import { choiceSetting, switchSetting, textSetting } from "../../platform/config/setting-builders.ts";
import { KUBE_SETTINGS, NATS_SETTINGS } from "../../platform/config/settings.ts";
import { ConfigProblem, type Setting, type ValuesOf } from "../../platform/config/value.ts";
import { CONSOLE_SETTINGS } from "../connect/console-client.ts";
import { refuseMixedSources } from "../connect/mixed-sources.ts";
import { documentOrder } from "../get/document-paths.ts";
import { OUTPUTS, type Output } from "../get/get-printer.ts";
import { ANY, TOPIC_ALIASES, TOPICS } from "../get/get-topics.ts";
import { WATCH_PERIOD_MS } from "../get/watch-rows.ts";
import { defineVerb, ExitCode, type Verb } from "../verb.ts";

const forApi = ({ meaning }: Setting<string>): string => `For get stuck and --selector: ${meaning}`;

const SETTINGS = {
  output: choiceSetting<Output>(
    "output",
    OUTPUTS,
    "table",
    "Output format. Several objects are a list in json and yaml, with its rows in items.",
  ),
  noHeaders: switchSetting("no-headers", false, "Print columns without a heading."),
  sortBy: textSetting("sort-by", ".since", "Order rows by the value at this JSONPath of their JSON."),
  namespace: textSetting("namespace", "shop", "Only pods of this namespace."),
  allNamespaces: switchSetting(
    "all-namespaces",
    false,
    "Pods of every namespace, as without --namespace; it wins over that flag.",
  ),
  selector: textSetting(
    "selector",
    "pool=gpu",
    "Only objects with these labels. The API server of the kubeconfig is asked for them.",
  ),
  watch: switchSetting(
    "watch",
    false,
    `Run until interrupted: query again every ${formatDuration(WATCH_PERIOD_MS)} and print each row that changed. ` +
      "JSON and YAML print a document per row, and deleted rows only with --output-watch-events.",
  ),
  outputWatchEvents: switchSetting(
    "output-watch-events",
    false,
    "With --watch: print with each row whether it was ADDED, MODIFIED or DELETED.",
  ),
  readiness: choiceSetting<string>(
    "readiness",
    [ANY, ...readinessSchema.options],
    ANY,
    "Only nodes with this readiness.",
  ),
  zone: textSetting("zone", "eu-west-1b", "Only nodes of this zone."),
  policy: textSetting("policy", "gpu", "Only nodes that have this node policy."),
  limit: {
    unit: "count",
    flag: "limit",
    standard: 1000,
    meaning: "Most nodes, timers or stuck pods to show.",
    example: "100",
  } as Setting<number>,
  ...CONSOLE_SETTINGS,
  kubeconfig: { ...KUBE_SETTINGS.kubeconfig, meaning: forApi(KUBE_SETTINGS.kubeconfig) },
  context: { ...KUBE_SETTINGS.context, meaning: forApi(KUBE_SETTINGS.context) },
  allowTokenOverHttp: {
    ...CONSOLE_SETTINGS.allowTokenOverHttp,
    meaning: "Send the token to an http:// console or API server too, where it can be read on the way.",
  },
  ...NATS_SETTINGS,
  nats: { ...NATS_SETTINGS.nats, meaning: "For get fleet: NATS servers of the fleet, in place of a console." },
} as const;
type Values = Readonly<ValuesOf<typeof SETTINGS>>;

const CONSOLE_TOPICS: readonly string[] = [...TOPICS.keys()].filter((topic) => topic !== "stuck");

/** The topics whose rows are pods. */
const POD_TOPICS: readonly string[] = ["timers", "stuck"];

/** The topics that accept a flag, for flags that not all topics accept. */
const TOPICS_BY_FLAG: Readonly<Partial<Record<keyof Values, readonly string[]>>> = {
  namespace: POD_TOPICS,
  selector: ["nodes", "policies", ...POD_TOPICS],
  readiness: ["nodes"],
  zone: ["nodes"],
  policy: ["nodes"],
  limit: ["nodes", "timers", "stuck"],
  ...Object.fromEntries(Object.keys(CONSOLE_SETTINGS).map((name) => [name, CONSOLE_TOPICS])),
  ...Object.fromEntries(Object.keys(KUBE_SETTINGS).map((name) => [name, ["stuck"]])),
  allowTokenOverHttp: [...TOPICS.keys()],
  ...Object.fromEntries(Object.keys(NATS_SETTINGS).map((name) => [name, ["fleet"]])),
};

/** Throws a ConfigProblem for a flag that would have no effect, and for a limit above the console's. */
function refuseUnusedFlags(topic: string, values: Values): void {
  for (const [name, { flag, standard }] of Object.entries(SETTINGS)) {
    const value = values[name as keyof Values];
    const topics = TOPICS_BY_FLAG[name as keyof Values];
    const isForLabels = name in KUBE_SETTINGS && values.selector !== "";
    if (topics === undefined || topics.includes(topic) || isForLabels || String(value) === String(standard)) continue;
    const shown = name === "nats" ? values.nats.map(shownNatsAddress) : value;
    const commands = listText(topics.map((taker) => `get ${taker}`));
    throw new ConfigProblem(
      `get ${topic} --${flag}=${String(shown)}: only ${commands} take${topics.length === 1 ? "s" : ""} it`,
    );
  }
  if (topic === "fleet") refuseMixedSources("get fleet", values);
  const { limit, watch, outputWatchEvents, sortBy } = values;
  if (sortBy !== "") documentOrder(sortBy);
  if (limit > LIMIT_MAX) throw new ConfigProblem(`get ${topic} --limit=${limit}: must be at most ${LIMIT_MAX}`);
  if (outputWatchEvents && !watch) throw new ConfigProblem("--output-watch-events: has no effect without --watch");
}

/** The topic and the names of `nodes n1 n2` or `node/n1 node/n2`. Throws a ConfigProblem. */
function subjectsOf(words: readonly string[]): { readonly topic: string; readonly names: readonly string[] } {
  const [first = "", ...rest] = words;
  if (!first.includes("/")) return { topic: topicOf(first), names: rest };
  const pairs = words.map((word) => word.split(/\/(.*)/, 2));
  const topics = [...new Set(pairs.map(([kind = ""]) => topicOf(kind)))];
  if (topics.length > 1 || pairs.some(([, name = ""]) => name === "")) {
    throw new ConfigProblem(`get ${words.join(" ")}: name objects of one kind, as in get node/worker-7 node/worker-8`);
  }
  return { topic: topics[0] ?? "", names: pairs.map(([, name = ""]) => name) };
}

function topicOf(word: string): string {
  const topic = TOPIC_ALIASES.get(word) ?? word;
  const names = [...TOPICS.keys()];
  if (names.includes(topic)) return topic;
  const meant = nearest(word, names);
  const fix = meant === null ? `name one of ${names.join(", ")}` : `did you mean get ${meant}?`;
  throw new ConfigProblem(`${`get ${word}`.trim()}: ${fix}`);
}

/** The verb that shows a topic; with --watch it pauses on this clock. */
export const getVerb = (clock: Clock): Verb =>
  defineVerb({
    name: "get",
    summary: "show zones, nodes, node policies, pending evictions, stuck pods, or the members of the fleet",
    words: `<${[...TOPICS.keys(), "pods"].join("|")}> [NAME…]`,
    firstWords: [...TOPICS.keys(), "pods"],
    liveNames: new Map([
      ...["zones", "nodes", "policies", "pods"].flatMap((topic): [string, string][] => [
        [topic, topic],
        [topic.replace(/ies$/, "y").replace(/s$/, ""), topic],
      ]),
      ["--zone", "zones"],
      ["--policy", "policies"],
    ]),
    settings: SETTINGS,
    examples: [
      { command: "vigil get zones", does: "state, eviction rate and queue of every zone" },
      {
        command: "vigil get nodes --readiness=unknown",
        does: "the silent nodes, with the age of their last heartbeat",
      },
      { command: "vigil get node worker-7 -o wide", does: "one node, with more columns" },
      { command: "vigil get zones eu-west-1b eu-west-1c", does: "two zones; one that does not exist is an error" },
      { command: "vigil get nodes -l pool=gpu --sort-by=.since", does: "the nodes with a label, by their last change" },
      { command: "vigil get nodes --zone=eu-west-1b -o name", does: "the names of a zone's nodes" },
      {
        command: "vigil get nodes -o jsonpath='{.items[*].name}'",
        does: "names alone, by a JSONPath template as kubectl has them",
      },
      {
        command: "vigil get nodes -o custom-columns=NODE:.name,POLICY:.policy --no-headers",
        does: "columns of your own",
      },
      { command: "vigil get policies", does: "the nodes, limits and freezes of every node policy" },
      { command: "vigil get nodes --policy=gpu", does: "the nodes of one policy" },
      { command: "vigil get nodes -w", does: "the nodes, and each again when its readiness changes" },
      { command: "vigil get pods", does: "the pods to be evicted, and when: the same as get timers" },
      { command: "vigil get pods -n shop", does: "those of one namespace" },
      { command: "vigil get timers --limit=20 -o yaml", does: "the twenty pods to be evicted next, and when" },
      { command: "vigil get stuck -o wide", does: "the pods Terminating on dead nodes, what holds and releases them" },
      { command: "vigil get fleet", does: "the processes of the console's fleet and their shards" },
      { command: "vigil get fleet --nats=nats://127.0.0.1:4222", does: "the processes on this NATS and their shards" },
    ],
    run: async (values, words, host) => {
      const { topic, names } = subjectsOf(words);
      refuseUnusedFlags(topic, values);
      const namespace = values.allNamespaces ? "" : values.namespace;
      return (await TOPICS.get(topic)?.({ ...values, names, namespace }, host, clock)) ?? ExitCode.usage;
    },
  });
