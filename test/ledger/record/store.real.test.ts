/** The ledger's store on a real nats-server: with JetStream, without it, and when it comes and goes. */
import { jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { afterEach, expect, test } from "vitest";
import { decodeRecord } from "../../../protocols/comparison-record.ts";
import { decode } from "../../../protocols/wire.ts";
import { startLedger } from "../../../services/ledger/ledger.service.ts";
import { storeNames } from "../../../services/ledger/record/ledger.store.streams.ts";
import { openLedgerStore } from "../../../services/ledger/record/ledger.store.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { metricValue } from "../../support/metric-value.ts";
import { describeWithEachNats } from "../../support/nats-programs.ts";
import { observedNode } from "../../support/observed-objects.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { until } from "../../support/until.ts";
import { doneNode, judgedNode, judgedPod, ledgerWorld } from "../ledger-world.ts";
import {
  join,
  type Member,
  saysNoHistory,
  serve,
  stopAll,
  timeline,
  timelineOfPod,
  UID,
  unknown,
} from "./store-world.ts";

const { stream, states: bucket, compared } = storeNames({ cluster: "test", clusterUid: UID });
const STATES_WRITTEN = { bucket: "states", result: "written" };
const STREAMS = [`KV_${compared}`, `KV_${bucket}`, stream].toSorted().join();
afterEach(stopAll);

const compareNames = (left: { node: string }, right: { node: string }) => left.node.localeCompare(right.node);

/** A node that the API shows as Unknown since an instant, epoch milliseconds. */
function unknownSince(node: string, transitionAt: number) {
  const known = observedNode(node, { ready: "Unknown" });
  return { ...known, conditions: known.conditions.map((each) => ({ ...each, transitionAt })) };
}

describeWithEachNats("the ledger's store", () => {
  test("restores history for a new ledger", async () => {
    const server = await serve(true);
    const first = await join(server);
    await until("the store is ready", () => first.store.ready());
    first.judge.publish("judged.node", unknown("n.1"), null);
    await until("the ledger heard it", () => timeline(first, "n.1").length === 1);
    await first.transport.flush();
    await first.stop();

    const second = await join(server);
    await until("the history is back", () => timeline(second, "n.1").length > 0);
    expect(timeline(second, "n.1")).toMatchObject([{ text: "judged unknown: silent for 0 ms", type: "judged.node" }]);
    expect(await metricValue(second.metrics, "vigil_ledger_store_ready")).toBe(1);
  });

  test("restores history for a restarted ledger", async () => {
    const server = await serve(true);
    const member = await join(server);
    await until("the store is ready", () => member.store.ready());
    member.judge.publish("judged.node", unknown("n-1"), null);
    await until("the ledger heard it", () => timeline(member, "n-1").length === 1);
    member.ledger.stop();
    const { io } = ledgerWorld();
    const anew = startLedger({ ...io, bus: member.busOf("ledger") }, { store: member.store });
    await until("the history is restored", () => anew.reader.explainNode("n-1") !== null);
    anew.stop();
  });

  test("restores no Event, count or node", async () => {
    const server = await serve(true);
    const first = await join(server);
    await until("the store is ready", () => first.store.ready());
    first.judge.publish("judged.node", unknown("n-1"), null);
    await until("the ledger heard it", () => timeline(first, "n-1").length === 1);
    await first.stop();

    const second = await join(server);
    await until("the history is back", () => timeline(second, "n-1").length === 1);
    expect(second.ledger.reader.nodes()).toEqual([]);
    expect(await metricValue(second.metrics, "vigil_events_total")).toBe(0);
  });

  test("stores last states until their pods may stay", async () => {
    const server = await serve(true);
    const member = await join(server);
    await until("the store is ready", () => member.store.ready());
    const states = await new Kvm(member.transport.connection).open(bucket);
    const written = () => metricValue(member.metrics, "vigil_ledger_store_writes_total", STATES_WRITTEN);
    const untilWritten = (count: number) => until(`${count} are written`, async () => (await written()) >= count);
    for (const since of [1, 2]) member.judge.publish("judged.node", unknown("n.1", since), null);
    const taintManager = member.busOf("taint-manager");
    taintManager.publish("judged.pod", judgedPod(), null);
    await untilWritten(2);
    const entry = await states.get("judged.node.n=002e1");
    expect(entry && decode(entry.value)).toMatchObject({ type: "judged.node", body: { node: "n.1", since: 1 } });
    expect(await states.get("judged.pod.default.web")).toMatchObject({ operation: "PUT" });
    taintManager.publish("judged.pod", judgedPod({ eviction: "none" }), null);
    await untilWritten(3);
    expect((await states.get("judged.pod.default.web"))?.operation).not.toBe("PUT");
  });

  test("restores which pods are pending", async () => {
    const server = await serve(true);
    const first = await join(server);
    await until("the store is ready", () => first.store.ready());
    const taintManager = first.busOf("taint-manager");
    const deadlineAt = Date.now() + 300_000;
    for (const name of ["waits", "spared"]) {
      taintManager.publish("judged.pod", judgedPod({ name, uid: name, deadlineAt }), null);
    }
    taintManager.publish("judged.pod", judgedPod({ name: "spared", uid: "spared", eviction: "none" }), null);
    await until("the ledger heard it", () => timelineOfPod(first, "spared").length === 2);
    await first.stop();

    const second = await join(server);
    await until("the history is back", () => timelineOfPod(second, "waits").length > 0);
    await until("it is complete", () => second.ledger.reader.pendingEvictions(10).length === 1);
    expect(second.ledger.reader.pendingEvictions(10)).toMatchObject([{ name: "waits", deadlineAt }]);
  });

  test("restores what was compared, and goes on with what lasts", async () => {
    const server = await serve(true);
    const first = await join(server);
    await until("the store is ready", () => first.store.ready());
    const [observer, writer] = [first.busOf("observer"), first.busOf("node-writer")];
    const unknownAt = Date.now();
    const byNode = (member: Member) => member.ledger.reader.compare(0).nodes.toSorted(compareNames);
    const failed = (member: Member) => byNode(member).map(({ node, to }) => [node, to !== null]);
    for (const node of ["over", "lasts"]) {
      writer.publish("done.write", doneNode("asked.condition", node, { outcome: "shadowed" }), null);
      observer.publish("observed.node", unknownSince(node, unknownAt), null);
    }
    observer.publish("observed.node", observedNode("over"), null);
    await until("one is over", () => failed(first).join() === "lasts,false,over,true");
    const before = byNode(first);
    const kept = await new Kvm(first.transport.connection).open(compared);
    const stored = async ({ node, from }: (typeof before)[number]) => {
      const record = decodeRecord((await kept.get(`node.${node}.${from}`))?.value ?? new Uint8Array());
      return record?.kind === "node" ? [record.to, record.unknown.others?.at] : [];
    };
    const wanted = before.map(({ to, unknown }) => [to, unknown.others?.at]).join(" ");
    await until("both are written", async () => (await Promise.all(before.map(stored))).join(" ") === wanted);
    await first.stop();

    const second = await join(server);
    await until("it is back", () => failed(second).length === 2);
    expect(byNode(second)).toEqual(before);
    expect(second.ledger.reader.compare(0).isKept).toBe(true);
    const observerOfSecond = second.busOf("observer");
    observerOfSecond.publish("observed.node", unknownSince("lasts", unknownAt), null);
    observerOfSecond.publish("observed.node", observedNode("lasts"), null);
    await until("both are over", () => failed(second).join() === "lasts,true,over,true");
  });

  test("keeps and updates its limits", async () => {
    const server = await serve(true);
    const member = await join(server, { messagesPerSubject: 3 });
    await until("the store is ready", () => member.store.ready());
    for (let since = 0; since < 10; since++) member.judge.publish("judged.node", unknown("n-1", since), null);
    const streams = await jetstreamManager(member.transport.connection);
    const state = async () => (await streams.streams.info(stream)).state;
    await until("the stream has taken all ten", async () => (await state()).last_seq === 10);
    expect((await state()).messages).toBe(3);
    await member.stop();
    const strict = await join(server, { messagesPerSubject: 2 });
    await until("the store is ready", () => strict.store.ready());
    const { config } = await (await jetstreamManager(strict.transport.connection)).streams.info(stream);
    expect(config.max_msgs_per_subject).toBe(2);
  });

  test("is optional: without JetStream the rest works", async () => {
    const server = await serve(false);
    const member = await join(server);
    await until("it says so", () => saysNoHistory(member));
    member.judge.publish("judged.node", unknown("n-1"), null);
    await until("the ledger explains", () => timeline(member, "n-1").length === 1);
    expect(member.store.ready()).toBe(false);
    expect(member.log.lines.filter(({ level }) => level === "error")).toEqual([]);
  });

  test("uses JetStream when it comes later", async () => {
    const server = await serve(false);
    const storeClock = new VirtualClock();
    const member = await join(server, {}, { storeClock });
    await until("it says that there is none", () => saysNoHistory(member));
    await server.stop();
    const port = new URL(server.url).port;
    await serve(true, Number(port));
    await until("the bus is back", () => member.transport.connected());
    await until("the store is ready", () => {
      storeClock.advance(60_000);
      return member.store.ready();
    });
  });

  test("is ready 3 s after two refusals", async () => {
    const storeClock = new VirtualClock();
    const member = await join(await serve(true), {}, { storeClock, failures: 2 });
    for (const pauseMs of [1000, 2000]) {
      await until("it waits for its next try", () => storeClock.pendingTimers === 1);
      storeClock.advance(pauseMs);
    }
    await until("the store is ready", () => member.store.ready());
  });

  test("recovers within a second of JetStream's return", async () => {
    const server = await serve(true);
    const { port } = server;
    const storeClock = new VirtualClock();
    const member = await join(server, {}, { storeClock });
    await until("the store is ready", () => member.store.ready());
    await server.stop();
    const without = await serve(false, port);
    await until("the bus is back", () => member.transport.connected());
    member.judge.publish("judged.node", unknown("n-1"), null);
    await until("stream and buckets could not be re-created", () => storeClock.pendingTimers === 1);
    await without.stop();
    await serve(true, port);
    await until("the bus is back", () => member.transport.connected());
    storeClock.advance(1000);
    const streams = await jetstreamManager(member.transport.connection);
    const names = async () => (await streams.streams.names().next()).toSorted();
    await until("all are there", async () => (await names()).join() === STREAMS);
  });

  test("retries a failed replay with backoff", async () => {
    const storeClock = new VirtualClock();
    const member = await join(await serve(true), {}, { storeClock });
    await until("the store is ready", () => member.store.ready());
    const { streams } = await jetstreamManager(member.transport.connection);
    const { config } = await streams.info(stream);
    await streams.delete(stream);
    const { io } = ledgerWorld();
    const second = startLedger({ ...io, bus: member.busOf("ledger") }, { store: member.store });
    const isWarned = () => member.log.lines.some(({ message }) => message.includes("could not be read back"));
    await until("history could not be read", isWarned);
    second.stop();
    await streams.add(config);
    member.judge.publish("judged.node", unknown("n-1"), null);
    await until("the stream holds it", async () => (await streams.info(stream)).state.messages === 1);
    expect(second.reader.explainNode("n-1")).toBeNull();
    storeClock.advance(1000);
    await until("the history is back", () => second.reader.explainNode("n-1") !== null);
  });

  test("reads all back where the server stood still meanwhile", async () => {
    const [clock, log, server] = [new VirtualClock(), recordingLog(), await serve(true)];
    const { store, ledger, transport, judge, metrics } = await join(server);
    await until("the store is ready", () => store.ready());
    // Without a ledger nothing keeps the last states, and only the stream holds them.
    ledger.stop();
    const { streams } = await jetstreamManager(transport.connection);
    const names = Array.from({ length: 2000 }, (_, index) => `n-${index}`);
    for (const name of names) judge.publish("judged.node", unknown(name), null);
    const isStored = async () => (await streams.info(stream)).state.messages === names.length;
    await until("the stream holds them", isStored);
    const read = new Set<string>();
    let isAllRead = false;
    const connect = async () => transport.connection;
    const later = openLedgerStore({ connect, cluster: "test", clusterUid: UID, clock, log, metrics });
    later.restore({
      message({ id }) {
        if (read.size === 0) server.pause();
        read.add(id);
      },
      compared: () => {
        isAllRead = true;
      },
    });
    let before = -1;
    await until("nothing more comes", () => {
      const isSame = before === read.size && before > 0;
      before = read.size;
      return isSame;
    });
    clock.advance(10_000);
    server.resume();
    await until("the replay ends", () => isAllRead || log.lines.some(({ message }) => message.includes("retrying")));
    clock.advance(1000);
    await until("the history is back", () => isAllRead);
    later.close();
    expect(read.size).toBe(names.length);
  });

  test("recovers from lost storage", async () => {
    const server = await serve(true);
    const storeClock = new VirtualClock();
    const member = await join(server, {}, { storeClock });
    await until("the store is ready", () => member.store.ready());
    await server.stop();
    await serve(true, Number(new URL(server.url).port));
    await until("the bus is back", () => member.transport.connected());
    const streams = await jetstreamManager(member.transport.connection);
    const names = async () => (await streams.streams.names().next()).toSorted();
    let since = 0;
    await until("all are there", async () => {
      member.judge.publish("judged.node", unknown("n-1", since++), null);
      member.judge.publish("judged.node", judgedNode("n-1", { since: since++ }), null);
      storeClock.advance(60_000);
      return (await names()).join() === STREAMS;
    });
    const written = () => metricValue(member.metrics, "vigil_ledger_store_writes_total", STATES_WRITTEN);
    const before = await written();
    member.judge.publish("judged.node", unknown("n-1", since), null);
    await until("a last state is kept again", async () => (await written()) > before);
  });
});
