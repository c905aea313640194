/**
 * The history on a real server under the deployed roles: the ledger stores it; its account cannot reach the writers.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DeliverPolicy, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import { describe, expect, test } from "vitest";
import { makeKeys } from "../../deploy/nats/make-keys.ts";
import { rolesConfig } from "../../deploy/nats/roles.ts";
import type { MessageType } from "../../protocols/messages.ts";
import { subjectOf } from "../../protocols/subjects.ts";
import { openBus } from "../../services/cli/run/open-bus.ts";
import { storeNames } from "../../services/ledger/record/ledger.store.streams.ts";
import { parseRun } from "../../services/platform/config/config.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { ReaderTurns } from "../../services/platform/process/reader-turns.ts";
import { metricValue } from "../support/metric-value.ts";
import { atEnd, clock, folder, hear, link, say, serve } from "../support/nats-links.ts";
import { describeWithEachNats } from "../support/nats-programs.ts";
import { recordingLog } from "../support/recording-log.ts";
import { until } from "../support/until.ts";

/** What the pod-writer receives and accepts as the request of a taint-manager or a node. */
const EVICTION = "vigil.v1.prod.asked.eviction.7.default.web";
const FORGED = '{"type":"asked.eviction","source":"taint-manager@forged"}';

/** A server with the deployed roles, and connections under their seeds. */
async function natsWithRoles() {
  const keys = folder();
  makeKeys(keys);
  const files = { "keys.conf": readFileSync(join(keys, "keys.conf"), "utf8"), "roles.conf": rolesConfig() };
  const server = await serve({ config: 'include "roles.conf"', files, jetstream: true });
  const seed = (role: string) => join(keys, `${role}.nk`);
  return { server, seed, as: (role: string) => link(server.url, { nkeyFile: seed(role) }) };
}

/** The bus of a process that runs the ledger, as `vigil run` opens it with these flags, and what it logs. */
async function ledgerProcess(flags: readonly string[]) {
  const { config } = parseRun([...flags, "--services=ledger", "--cluster=prod"], () => "");
  const [log, metrics] = [recordingLog(), createMetrics()];
  const bus = await openBus(config.process, {
    clock,
    log,
    metrics,
    member: "m-0",
    turns: new ReaderTurns(clock),
    waitsFor: () => {},
  });
  atEnd(() => bus.close());
  const store = bus.openStore("uid");
  if (store === null) throw new Error("a process with NATS and the ledger has a store");
  const says = (text: string) => log.lines.some(({ message }) => message.includes(text));
  return { bus, store, says, metrics };
}

const SAID: [role: string, type: MessageType, keys: string[]][] = [
  ["node", "judged.node", ["n"]],
  ["zone", "asked.taint", ["n"]],
  ["node-writer", "done.write", ["n"]],
];

/** Longer than a server takes to answer, and short because one that forbids the request never does. */
const ANSWER_MS = 400;

/** A connection as an attacker uses it, who waits until a request has had its effect before the next. */
class Attacker {
  readonly #connection: NatsConnection;

  constructor(connection: NatsConnection) {
    this.#connection = connection;
  }

  /** Publishes something, its answer going to `reply`; without one it waits for the answer. */
  async says(subject: string, body: string, reply?: string): Promise<void> {
    if (reply === undefined) await this.#connection.request(subject, body, { timeout: ANSWER_MS }).catch(() => null);
    else this.#connection.publish(subject, body, { reply });
  }

  /** Makes a stream that takes in what a ledger may publish. */
  makesStream(settings: object = {}): Promise<void> {
    const stream = { name: "loot", subjects: ["$KV.loot.>"], storage: "memory", allow_direct: true, ...settings };
    return this.says("$JS.API.STREAM.CREATE.loot", JSON.stringify(stream));
  }
}

/** Ways from JetStream to a subject that the role itself may not publish on. */
const PATHS: [string, (attacker: Attacker) => Promise<void>][] = [
  [
    "the answer to a direct get",
    async (attacker) => {
      await attacker.makesStream();
      await attacker.says("$KV.loot.x", FORGED);
      await attacker.says("$JS.API.DIRECT.GET.loot", JSON.stringify({ last_by_subj: "$KV.loot.x" }), EVICTION);
    },
  ],
  ["the answer to any other request", (attacker) => attacker.says("$JS.API.STREAM.NAMES", "{}", EVICTION)],
  [
    "a stream that republishes",
    async (attacker) => {
      await attacker.makesStream({ republish: { src: "$KV.loot.x", dest: EVICTION } });
      await attacker.says("$KV.loot.x", FORGED);
    },
  ],
  [
    "a consumer that delivers",
    async (attacker) => {
      await attacker.makesStream();
      await attacker.says("$KV.loot.x", FORGED);
      const config = { deliver_subject: EVICTION, ack_policy: "none" };
      await attacker.says("$JS.API.CONSUMER.CREATE.loot", JSON.stringify({ stream_name: "loot", config }));
    },
  ],
  [
    "the acknowledgement of a stream",
    async (attacker) => {
      await attacker.makesStream();
      await attacker.says("$KV.loot.x", FORGED, EVICTION);
    },
  ],
  ["a message of its own", (attacker) => attacker.says(EVICTION, FORGED)],
];

describeWithEachNats("under the deployed roles", () => {
  describe.each(["ledger", "writer", "history"])("the seed of %s", (role) => {
    test.each(PATHS)("sends nothing to the writers by %s", async (_path, attack) => {
      const { as } = await natsWithRoles();
      const writer = await as("pod-writer");
      const heard = hear(writer.transport, EVICTION);
      await writer.transport.flush();
      const { connection } = (await as(role)).transport;
      await attack(new Attacker(connection));
      await connection.request("$JS.API.INFO", "", { timeout: ANSWER_MS }).catch(() => null);
      const taintManager = await as("taint-manager");
      await until("the writer receives a legitimate request", () => {
        say(taintManager.transport, EVICTION, "rightful");
        return heard.includes("rightful");
      });
      expect(heard.filter((text) => text !== "rightful")).toEqual([]);
    });
  });

  test("the seed of history cannot fill the servers with streams and consumers", async () => {
    const { as } = await natsWithRoles();
    const { streams, consumers } = await jetstreamManager((await as("history")).transport.connection);
    const add = (index: number) => streams.add({ name: `loot-${index}`, subjects: [`$KV.loot-${index}.>`] });
    const consume = () => consumers.add("loot-0", { deliver_policy: DeliverPolicy.All });
    const refusals = async (attempts: readonly Promise<unknown>[]) =>
      (await Promise.allSettled(attempts)).filter(({ status }) => status === "rejected").length;
    expect(await refusals(Array.from({ length: 50 }, (_, index) => add(index)))).toBeGreaterThan(0);
    expect(await refusals(Array.from({ length: 300 }, consume))).toBeGreaterThan(0);
  });

  test("a ledger keeps in an account of its own what is judged, asked and done", async () => {
    const { server, seed, as } = await natsWithRoles();
    const flags = [`--nats=${server.url}`, `--nats-nkey=${seed("ledger")}`, `--nats-history-nkey=${seed("history")}`];
    const { store, metrics } = await ledgerProcess(flags);
    await until("the store is ready", () => store.ready());
    for (const [role, type, keys] of SAID) {
      const { transport } = await as(role);
      say(transport, subjectOf("prod", type, 7, keys), "{}");
      await transport.flush();
    }
    const { connection } = (await as("history")).transport;
    const { streams } = await jetstreamManager(connection);
    const { stream } = storeNames({ cluster: "prod", clusterUid: "uid" });
    await until("all three are kept", async () => (await streams.info(stream)).state.messages === SAID.length);
    store.keepCompared({ kind: "run", member: "m-0", from: 1, to: 2 });
    const restored: unknown[] = [];
    const restore = () => store.restore({ message: () => {}, compared: (records) => restored.push(...records) });
    await until("what was compared is kept too", () => {
      restore();
      return restored.length > 0;
    });
    expect(restored[0]).toEqual({ kind: "run", member: "m-0", from: 1, to: 2 });
    expect(await metricValue(metrics, "vigil_nats_permission_violations_total")).toBe(0);
  });

  test.each([
    ["without the history's seed", () => []],
    ["with another install's", () => [`--nats-history-nkey=${strangersSeed()}`]],
  ])("a ledger %s runs, keeps nothing and says so", async (_how, historyFlags) => {
    const { server, seed } = await natsWithRoles();
    const { bus, store, says } = await ledgerProcess([
      `--nats=${server.url}`,
      `--nats-nkey=${seed("ledger")}`,
      ...historyFlags(),
    ]);
    await until("it says so", () => says("history is kept in memory only"));
    expect([bus.transport.connected(), store.ready()]).toEqual([true, false]);
  });
});

/** A seed that the server under test does not know. */
function strangersSeed(): string {
  const other = folder();
  makeKeys(other);
  return join(other, "history.nk");
}
