/** The ledger's streams on a real nats-server: whose history they store, and what happens when they are full. */
import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { afterEach, expect, test } from "vitest";
import type { AnyMessage, BodyOf, MessageType } from "../../../protocols/messages.ts";
import { storeNames } from "../../../services/ledger/record/ledger.store.streams.ts";
import { metricValue } from "../../support/metric-value.ts";
import { describeWithEachNats } from "../../support/nats-programs.ts";
import { until } from "../../support/until.ts";
import { judgedPod } from "../ledger-world.ts";
import { join, type Member, saysNoHistory, serve, stopAll, timeline, UID, unknown } from "./store-world.ts";

const OTHER_UID = "0b9d2c1e-5a44-4c1b-8a0e-93d7f6e21a55";
const { states: bucket } = storeNames({ cluster: "test", clusterUid: UID });
/** From this level of JetStream's API on a single message can expire (ADR-44). */
const EXPIRES_MESSAGES = 1;
afterEach(stopAll);

/** A message as a ledger stores it. */
function stated(type: MessageType, body: BodyOf<MessageType>): AnyMessage {
  return { v: 1, id: "node@m-0:1:x.0:1", type, source: "node@m-0", at: 0, cause: null, body } as AnyMessage;
}

/** The level of JetStream's API at a member's server; servers before 2.11 report none. */
function apiLevel({ transport }: Member): unknown {
  const info: Record<string, unknown> = { api_lvl: 0, ...transport.connection.info };
  return info.api_lvl;
}

/** Writes of last states by result. */
function writes({ metrics }: Member, result: string): Promise<number> {
  return metricValue(metrics, "vigil_ledger_store_writes_total", { bucket: "states", result });
}

describeWithEachNats("the ledger's streams", () => {
  test("separate clusters of one name", async () => {
    const server = await serve(true);
    const first = await join(server);
    await until("the store is ready", () => first.store.ready());
    first.judge.publish("judged.node", unknown("n-1"), null);
    await until("the ledger heard it", () => timeline(first, "n-1").length === 1);
    await first.transport.flush();
    await first.stop();

    const second = await join(server, {}, { clusterUid: OTHER_UID });
    await until("the store is ready", () => second.store.ready());
    second.judge.publish("judged.node", unknown("n-2"), null);
    await until("the ledger heard it", () => timeline(second, "n-2").length === 1);
    await second.transport.flush();
    await second.stop();

    const third = await join(server, {}, { clusterUid: OTHER_UID });
    await until("the history is back", () => timeline(third, "n-2").length > 0);
    expect(timeline(third, "n-1")).toEqual([]);
  });

  test("replace those of an earlier cluster", async () => {
    const server = await serve(true);
    const first = await join(server);
    await until("the store is ready", () => first.store.ready());
    await first.stop();
    const second = await join(server, {}, { clusterUid: OTHER_UID });
    await until("the store is ready", () => second.store.ready());
    const names = storeNames({ cluster: "test", clusterUid: OTHER_UID });
    const streams = await jetstreamManager(second.transport.connection);
    const expected = [`KV_${names.compared}`, `KV_${names.states}`, names.stream];
    expect((await streams.streams.names().next()).toSorted()).toEqual(expected.toSorted());
  });

  test("leave a foreign stream alone", async () => {
    const server = await serve(true);
    const audit = await join(server, {}, { clusterUid: null });
    const { streams } = await jetstreamManager(audit.transport.connection);
    await streams.add({ name: "VIGIL_HISTORY_test_audit", subjects: ["vigil.v1.test.judged.>"] });
    const member = await join(server);
    await until("it says that it keeps nothing", () => saysNoHistory(member));
    expect(await streams.names().next()).toEqual(["VIGIL_HISTORY_test_audit"]);
  });

  test("need the uid of the cluster", async () => {
    const server = await serve(true);
    const member = await join(server, {}, { clusterUid: null });
    member.judge.publish("judged.node", unknown("n-1"), null);
    await until("the ledger explains", () => timeline(member, "n-1").length === 1);
    expect(saysNoHistory(member)).toBe(true);
    expect(await metricValue(member.metrics, "vigil_ledger_store_ready")).toBe(0);
    const streams = await jetstreamManager(member.transport.connection);
    expect(await streams.streams.names().next()).toEqual([]);
  });

  test("accept every write when they are full", async () => {
    const [pods, statesBytes] = [1000, 64 * 1024];
    const member = await join(await serve(true), { statesBytes });
    await until("the store is ready", () => member.store.ready());
    const done = async () => (await writes(member, "written")) + (await writes(member, "failed"));
    const keys = Array.from({ length: pods }, (_, index) => `judged.pod.default.p-${index}`);
    for (const key of keys) member.store.keep(key, stated("judged.pod", judgedPod({ name: key, uid: key })));
    await until("all are kept", async () => (await done()) === pods);
    for (const key of keys) member.store.forget(key);
    await until("all are forgotten", async () => (await done()) === 2 * pods);
    member.store.keep("judged.node.n-1", stated("judged.node", unknown("n-1")));
    await until("the last is kept", async () => (await done()) === 2 * pods + 1);
    expect(await writes(member, "failed")).toBe(0);
    const states = await new Kvm(member.transport.connection).open(bucket);
    expect((await states.get("judged.node.n-1"))?.operation).toBe("PUT");
    expect((await states.status()).streamInfo.state.bytes).toBeLessThanOrEqual(statesBytes);
  });

  test("keep no delete marker where it can expire", async () => {
    const member = await join(await serve(true), { tombstoneMs: 1000 });
    await until("the store is ready", () => member.store.ready());
    member.store.forget("judged.pod.default.web");
    await until("it is written", async () => (await writes(member, "written")) === 1);
    const { streams } = await jetstreamManager(member.transport.connection);
    const left = async () => (await streams.info(`KV_${bucket}`)).state.messages;
    const canExpire = Number(apiLevel(member)) >= EXPIRES_MESSAGES;
    await until("only what cannot expire is left", async () => (await left()) === (canExpire ? 0 : 1));
  });
});
