/** `vigil watch`: prints what happens, as it happens: from the messages of a fleet, or from a console. */
import type { AnyMessage } from "../../../protocols/messages.ts";
import type { Clock } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { instantText } from "../../console/documents.ts";
import { apiTime } from "../../domain/api-time.ts";
import { objectText } from "../../domain/format.ts";
import { nearest } from "../../domain/suggest.ts";
import { typedBus } from "../../platform/bus/bus.ts";
import { choiceSetting, textSetting } from "../../platform/config/setting-builders.ts";
import { NATS_SETTINGS } from "../../platform/config/settings.ts";
import { ConfigProblem, type ValuesOf } from "../../platform/config/value.ts";
import { printable, printableJson } from "../../platform/process/printable.ts";
import { CONSOLE_SETTINGS } from "../connect/console-client.ts";
import { refuseMixedSources } from "../connect/mixed-sources.ts";
import { BUS_TOPICS, type BusSentence, BusSentences, type BusTopic, typesOf } from "../listen/bus-sentences.ts";
import { listenToConsole } from "../listen/console-listener.ts";
import { type NatsListener, openListener } from "../listen/nats-listener.ts";
import { defineVerb, Failure, type Host, untilStopped, type Verb } from "../verb.ts";

const OUTPUTS = ["text", "json"] as const;

const SETTINGS = {
  node: textSetting("node", "worker-7", "Only what is about this node and its pods."),
  output: choiceSetting<(typeof OUTPUTS)[number]>(
    "output",
    OUTPUTS,
    "text",
    "Output format; json is one object on each line, with the ids of the message and of its cause.",
  ),
  ...CONSOLE_SETTINGS,
  ...NATS_SETTINGS,
  nats: { ...NATS_SETTINGS.nats, meaning: "NATS servers of the fleet, to listen to in place of a console." },
} as const;
type Values = Readonly<ValuesOf<typeof SETTINGS>>;

const TOPIC_ALIASES: ReadonlyMap<string, BusTopic> = new Map([
  ["node", "nodes"],
  ["no", "nodes"],
  ["zone", "zones"],
  ["pod", "pods"],
  ["po", "pods"],
  ["write", "writes"],
]);

/** The verb that prints the sentences of a fleet's messages until it is stopped. */
export const watchVerb = (clock: Clock): Verb =>
  defineVerb({
    name: "watch",
    summary: "print what happens to nodes, zones and pods, as it happens",
    words: `[${BUS_TOPICS.join("|")}]…`,
    firstWords: BUS_TOPICS,
    liveNames: new Map([["--node", "nodes"]]),
    settings: SETTINGS,
    examples: [
      { command: "vigil watch", does: "everything that happens, from the console of a process with a ledger" },
      { command: "vigil watch --nats=nats://127.0.0.1:4222", does: "the same from the messages of a fleet" },
      { command: "vigil watch nodes zones --nats=nats.vigil-system", does: "verdicts, taints and disruption of zones" },
      { command: "vigil watch --node=worker-7 --nats=nats.vigil-system", does: "one node, its pods and their writes" },
      { command: "vigil watch writes -o json --nats=nats.vigil-system", does: "requests and outcomes, for jq" },
    ],
    run: async (values, words, host) => {
      const topics = words.map(topicOf);
      refuseMixedSources("watch", values);
      const formatted = values.output === "json" ? jsonLine : textLine;
      const print = (sentence: BusSentence): void => host.print(formatted(sentence));
      const listen = values.nats.length === 0 ? watchConsole : watchNats;
      await listen({ values, topics, clock, host, print });
      return 0;
    },
  });

interface Watching {
  readonly values: Values;
  readonly topics: readonly BusTopic[];
  readonly clock: Clock;
  readonly host: Host;
  readonly print: (sentence: BusSentence) => void;
}

/** A console sends decisions of every topic, of which those of no message are shown without topics alone. */
async function watchConsole({ values, topics, clock, host, print }: Watching): Promise<void> {
  const types: readonly string[] = typesOf(topics);
  await listenToConsole(values, { clock, host }, (decision) => {
    const matchesNode = values.node === "" || decision.node === values.node;
    if (matchesNode && (topics.length === 0 || types.includes(decision.type))) print(decision);
  });
}

async function watchNats({ values, topics, clock, host, print }: Watching): Promise<void> {
  const { node, ...nats } = values;
  const listener = await openListener(nats, {
    clock,
    host,
    verb: "watch",
    interrupted: "interrupted before NATS was reached",
  });
  const sentences = new BusSentences(node === "" ? null : node);
  const onMessage = (message: AnyMessage): void => {
    const sentence = sentences.onMessage(message);
    if (sentence !== null) print(sentence);
  };
  try {
    follow(listener, { clock, cluster: nats.cluster, topics, host, onMessage: onMessage });
    await listener.transport.flush();
    listener.checkRefusals();
    host.warn(`vigil: listening to --cluster=${nats.cluster} on ${listener.where}\n`);
    const lost = listener.transport.closed.then((error) => {
      if (error !== undefined) throw new Failure(`${listener.where} has ended the connection: ${error.message}`);
    });
    await Promise.race([untilStopped(host), lost]);
  } finally {
    await listener.transport.close();
  }
}

interface FollowIo {
  readonly clock: Clock;
  readonly cluster: string;
  readonly topics: readonly BusTopic[];
  readonly host: Pick<Host, "warn" | "stopped">;
  readonly onMessage: (message: AnyMessage) => void;
}

function follow(
  { transport, where, log, metrics }: NatsListener,
  { clock, cluster, topics, host, onMessage: take }: FollowIo,
): void {
  const { mailboxMessagesMax } = STANDARD_PROFILE;
  const names = { service: "cli", member: "cli", cluster, mailboxMessagesMax };
  const bus = typedBus({ transport, clock, log, metrics, ...names });
  for (const type of typesOf(topics)) bus.subscribe(type, "all", (message) => take(message as AnyMessage));
  bus.onGap((type, shard) => host.warn(`vigil: some messages ${type} of shard ${shard} were missed\n`));
  transport.onConnection((connected) => {
    if (host.stopped.aborted) return;
    host.warn(connected ? "vigil: connected again\n" : `vigil: ${where} is lost; waiting for it\n`);
  });
}

function topicOf(word: string): BusTopic {
  const topic = BUS_TOPICS.find((name) => name === word) ?? TOPIC_ALIASES.get(word);
  if (topic !== undefined) return topic;
  const meant = nearest(word, BUS_TOPICS);
  const fix = meant === null ? `name some of ${BUS_TOPICS.join(", ")}` : `did you mean watch ${meant}?`;
  throw new ConfigProblem(`watch ${word}: ${fix}`);
}

function textLine({ at, object, text }: BusSentence): string {
  return `${printable(`${apiTime(at)}  ${objectText(object)} ${text}`)}\n`;
}

function jsonLine({ at, object, text, type, id, cause }: BusSentence): string {
  const line = { at: instantText(at), object: objectText(object), text, type, id, cause };
  return `${printableJson(JSON.stringify(line))}\n`;
}
