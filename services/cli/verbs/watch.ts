/** `vigil watch`: prints what the messages of a running fleet say, as they happen. It asks no process for anything. */

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
import { ConfigProblem } from "../../platform/config/value.ts";
import { printable, printableJson } from "../../platform/process/printable.ts";
import { BUS_TOPICS, type BusSentence, BusSentences, type BusTopic, typesOf } from "../listen/bus-sentences.ts";
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
  ...NATS_SETTINGS,
} as const;

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
    summary: "print what happens to nodes, zones and pods, from the messages on NATS",
    words: `[${BUS_TOPICS.join("|")}]…`,
    firstWords: BUS_TOPICS,
    liveNames: new Map([["--node", "nodes"]]),
    settings: SETTINGS,
    examples: [
      { command: "vigil watch --nats=nats://127.0.0.1:4222", does: "everything that happens in this fleet" },
      { command: "vigil watch nodes zones --nats=nats.vigil-system", does: "verdicts, taints and disruption of zones" },
      { command: "vigil watch --node=worker-7 --nats=nats.vigil-system", does: "one node, its pods and their writes" },
      { command: "vigil watch writes -o json --nats=nats.vigil-system", does: "requests and outcomes, for jq" },
    ],
    run: async ({ node, output, ...nats }, words, host) => {
      const topics = words.map(topicOf);
      const interrupted = "interrupted before NATS was reached";
      const listener = await openListener(nats, { clock, host, verb: "watch", interrupted });
      const sentences = new BusSentences(node === "" ? null : node);
      const lineOf = output === "json" ? jsonLine : textLine;
      const take = (message: AnyMessage): void => {
        const sentence = sentences.take(message);
        if (sentence !== null) host.print(lineOf(sentence));
      };
      try {
        follow(listener, { clock, cluster: nats.cluster, topics, host, take });
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
      return 0;
    },
  });

interface Followed {
  readonly clock: Clock;
  readonly cluster: string;
  readonly topics: readonly BusTopic[];
  readonly host: Pick<Host, "warn" | "stopped">;
  readonly take: (message: AnyMessage) => void;
}

function follow(
  { transport, where, log, metrics }: NatsListener,
  { clock, cluster, topics, host, take }: Followed,
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
