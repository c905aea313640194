/** The contract of the transport, as one suite that every adapter runs. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Clock, Transport } from "../../protocols/ports.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { metricValue } from "../support/metric-value.ts";

/** A network that connects transports. */
export interface TransportWorld {
  readonly clock: Clock;
  /** Connects one more transport to this network. */
  connect(): Promise<Transport>;
  /** Resolves when everything that was sent has been handled. */
  settle(): Promise<void>;
  /** Breaks every connection and resolves when the transports know it. */
  cut?(): Promise<void>;
  /** Repairs what `cut` broke and resolves when the transports know it. */
  mend?(): Promise<void>;
  close(): Promise<void>;
}

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (payload: Uint8Array) => new TextDecoder().decode(payload);

/** The suite; `cuttable` is whether the world can `cut` and `mend`. */
export function transportContract(name: string, create: () => Promise<TransportWorld>, cuttable: boolean): void {
  describe(name, () => {
    let world: TransportWorld;
    beforeEach(async () => {
      world = await create();
    });
    afterEach(() => world.close());

    deliveryTests(() => world);
    typedTests(() => world);
    if (cuttable) cutTests(() => world);
  });
}

function deliveryTests(the: () => TransportWorld): void {
  test("one publisher's messages arrive in the order they were sent", async () => {
    const [sender, reader] = [await the().connect(), await the().connect()];
    const heard: string[] = [];
    reader.subscribe("a.*", (payload) => heard.push(text(payload)));
    await the().settle();
    const sent = Array.from({ length: 2000 }, (_, index) => String(index));
    for (const [index, content] of sent.entries()) sender.publish(`a.${index % 7}`, bytes(content));
    await the().settle();
    expect(heard).toEqual(sent);
  });

  test.each([
    ["a.b.c", true],
    ["a.*.c", true],
    ["a.>", true],
    ["*.*.*", true],
    [">", true],
    ["a.b", false],
    ["a.b.c.*", false],
    ["a.b.c.>", false],
    ["a.*.d", false],
    ["b.>", false],
  ])("a subscription to %s receives a.b.c: %s", async (pattern, hears) => {
    const transport = await the().connect();
    const heard: string[] = [];
    transport.subscribe(pattern, (_payload, subject) => heard.push(subject));
    await the().settle();
    transport.publish("a.b.c", bytes("x"));
    await the().settle();
    expect(heard).toEqual(hears ? ["a.b.c"] : []);
  });

  test("every subscription gets its own copy, also on the transport that published", async () => {
    const [sender, reader] = [await the().connect(), await the().connect()];
    const heard: string[] = [];
    sender.subscribe("a.b", () => heard.push("sender"));
    reader.subscribe("a.b", () => heard.push("reader"));
    reader.subscribe("a.*", () => heard.push("reader by pattern"));
    await the().settle();
    sender.publish("a.b", bytes("x"));
    await the().settle();
    expect(heard.sort()).toEqual(["reader", "reader by pattern", "sender"]);
  });

  test("nothing is received inside publish or after a subscription has ended", async () => {
    const transport = await the().connect();
    const heard: string[] = [];
    const stop = transport.subscribe("a.*", (_payload, subject) => heard.push(subject));
    await the().settle();
    transport.publish("a.b", bytes("x"));
    expect(heard).toEqual([]);
    await the().settle();
    stop();
    stop();
    transport.publish("a.c", bytes("x"));
    await the().settle();
    expect(heard).toEqual(["a.b"]);
  });

  test("payloads arrive byte for byte: none, all values, 64 KiB", async () => {
    const transport = await the().connect();
    const heard: Uint8Array[] = [];
    transport.subscribe("a", (payload) => heard.push(payload));
    await the().settle();
    const sent = [0, 256, 64 * 1024].map((length) => Uint8Array.from({ length }, (_, index) => index % 256));
    for (const payload of sent) transport.publish("a", payload);
    await the().settle();
    expect(heard.map((payload) => Buffer.from(payload).toString("hex"))).toEqual(
      sent.map((payload) => Buffer.from(payload).toString("hex")),
    );
  });
}

/** Typed buses of several services on one world, with their metrics. */
function busesOn(world: TransportWorld) {
  const metrics = createMetrics();
  return {
    dropped: (reason: string) => metricValue(metrics, "vigil_bus_dropped_total", { reason }),
    received: () => metricValue(metrics, "vigil_bus_received_total"),
    bus: (transport: Transport, service: string) => {
      const identity = { cluster: "test", service, member: "m1" };
      const { clock } = world;
      return typedBus({ transport, clock, ...identity, log: silentLog, metrics, mailboxMessagesMax: 100_000 });
    },
  };
}

function typedTests(the: () => TransportWorld): void {
  test("a typed message arrives whole, on its shard only, with its cause", async () => {
    const { bus } = busesOn(the());
    const [sender, reader] = [bus(await the().connect(), "observer"), bus(await the().connect(), "node")];
    const heard: unknown[] = [];
    const elsewhere: unknown[] = [];
    // Its dots must not become tokens of the subject.
    const node = "ip-10-0-0-1.ec2.internal";
    for (let shard = 0; shard < 64; shard++) {
      reader.subscribe("observed.gone", shard, ({ id, source, cause, body }) => {
        heard.push({ id, source, cause, body });
      });
    }
    reader.subscribe("observed.pulse", "all", (message) => elsewhere.push(message));
    await the().settle();
    const body = { node, uid: "u1" };
    const id = sender.publish("observed.gone", body, "the cause");
    await the().settle();
    expect(heard).toEqual([{ id, source: "observer@m1", cause: "the cause", body }]);
    expect(elsewhere).toEqual([]);
  });

  test("a payload that is no message is dropped, counted by reason, and harmless", async () => {
    const { bus, dropped } = busesOn(the());
    const [raw, reader] = [await the().connect(), bus(await the().connect(), "node")];
    const heard: string[] = [];
    reader.subscribe("observed.gone", "all", ({ body }) => heard.push(body.node));
    await the().settle();
    const subject = "vigil.v1.test.observed.gone.3.a";
    const frame = { v: 1, type: "observed.gone", source: "observer@m1", at: 0, cause: null };
    const body = { node: "n", uid: "u" };
    const junk = ["", "{", "[]", "null", JSON.stringify({ ...frame, v: 2, id: "x", body })];
    junk.push(JSON.stringify({ ...frame, id: "observer@m1:1:observed.gone.3:1", body: { node: 7 } }));
    junk.push(JSON.stringify({ ...frame, id: "someone@else:1:observed.gone.3:1", body }));
    junk.push(" ".repeat(65 * 1024));
    for (const content of junk) raw.publish(subject, bytes(content));
    raw.publish(subject, Uint8Array.of(0xff, 0xfe));
    bus(raw, "observer").publish("observed.gone", { node: "good", uid: "u" }, null);
    await the().settle();
    expect(heard).toEqual(["good"]);
    expect(await dropped("malformed")).toBe(junk.length + 1);
  });

  test("a message with a wrong subject or from a wrong service is dropped", async () => {
    const { bus, dropped } = busesOn(the());
    const [raw, writer] = [await the().connect(), bus(await the().connect(), "node-writer")];
    const heard: unknown[] = [];
    writer.subscribe("asked.label", "all", (message) => heard.push(message));
    await the().settle();
    const ask = { node: "n", uid: "u", resourceVersion: "1", labels: {} };
    const captured: Uint8Array[] = [];
    raw.subscribe("vigil.v1.test.observed.gone.>", (payload) => captured.push(payload));
    await the().settle();
    bus(raw, "observer").publish("observed.gone", { node: "n", uid: "u" }, null);
    bus(raw, "ledger").publish("asked.label", ask, null);
    await the().settle();
    for (const payload of captured) raw.publish("vigil.v1.test.asked.label.3.n", payload);
    await the().settle();
    expect(captured.length).toBe(1);
    expect(heard).toEqual([]);
    expect(await dropped("forbidden")).toBe(1);
    expect(await dropped("malformed")).toBe(1);
  });

  test("a reader gets increasing sequences of each stream, and a report of each gap", async () => {
    const { bus, dropped, received } = busesOn(the());
    const [raw, reader] = [await the().connect(), bus(await the().connect(), "node")];
    const heard: string[] = [];
    const gaps: string[] = [];
    reader.subscribe("observed.gone", "all", ({ body }) => heard.push(body.uid));
    reader.onGap((type, shard) => gaps.push(`${type} ${shard}`));
    await the().settle();
    const frames = ["1", "2", "3", "4", "5"].map((uid) => {
      const id = `observer@m9:1000:observed.gone.${SHARD_OF_A}:${uid}`;
      const frame = { v: 1, type: "observed.gone", id, source: "observer@m9", at: 0, cause: null };
      return bytes(JSON.stringify({ ...frame, body: { node: "a", uid } }));
    });
    for (const index of [0, 1, 1, 0, 4, 3, 2, 4]) {
      raw.publish(`vigil.v1.test.observed.gone.${SHARD_OF_A}.a`, frames[index] ?? bytes(""));
    }
    await the().settle();
    expect(heard).toEqual(["1", "2", "5"]);
    expect(gaps).toEqual([`observed.gone ${SHARD_OF_A}`]);
    expect([await received(), await dropped("duplicate"), await dropped("out-of-order")]).toEqual([3, 2, 3]);
  });
}

/** FNV-1a of "a" modulo 64, computed by hand: (2166136261 ^ 97) * 16777619 mod 2^32 mod 64. */
const SHARD_OF_A = 44;

function cutTests(the: () => TransportWorld): void {
  test("a lost connection is reported; it sends nothing and its subscriptions survive", async () => {
    const [sender, reader] = [await the().connect(), await the().connect()];
    const heard: string[] = [];
    const reported: boolean[] = [];
    reader.subscribe("a", (payload) => heard.push(text(payload)));
    sender.onConnection((connected) => reported.push(connected));
    await the().settle();
    await the().cut?.();
    expect([sender.connected(), reader.connected()]).toEqual([false, false]);
    for (let index = 0; index < 100; index++) sender.publish("a", bytes("lost"));
    await the().mend?.();
    expect([sender.connected(), reader.connected()]).toEqual([true, true]);
    expect(reported).toEqual([false, true]);
    sender.publish("a", bytes("kept"));
    await the().settle();
    expect(heard).toEqual(["kept"]);
  });

  test("messages lost while cut off are counted, and readers see the gap afterwards", async () => {
    const { bus, dropped } = busesOn(the());
    const [sender, reader] = [bus(await the().connect(), "observer"), bus(await the().connect(), "node")];
    const heard: string[] = [];
    const gaps: string[] = [];
    reader.subscribe("observed.gone", "all", ({ body }) => heard.push(body.uid));
    reader.onGap((type) => gaps.push(type));
    await the().settle();
    sender.publish("observed.gone", { node: "a", uid: "before" }, null);
    await the().settle();
    await the().cut?.();
    for (let index = 0; index < 3; index++) sender.publish("observed.gone", { node: "a", uid: "lost" }, null);
    await the().mend?.();
    expect(gaps).toEqual([]);
    sender.publish("observed.gone", { node: "a", uid: "after" }, null);
    await the().settle();
    expect(heard).toEqual(["before", "after"]);
    expect(gaps).toEqual(["observed.gone"]);
    expect(await dropped("unsent")).toBe(3);
  });
}
