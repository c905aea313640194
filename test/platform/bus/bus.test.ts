/** The typed bus beyond the transport contract: event loop, mailbox, failures, sizes and restarts. */
import { expect, test } from "vitest";
import type { Clock, Transport } from "../../../protocols/ports.ts";
import { EPOCH_AHEAD_MAX_MS } from "../../../services/platform/bus/admission.ts";
import { type TypedBusOptions, typedBus } from "../../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../../services/platform/bus/memory.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { metricValue } from "../../support/metric-value.ts";
import { recordingLog } from "../../support/recording-log.ts";

/** Buses of several services on one memory transport, with their log and metrics. */
function world(transportOn: (clock: Clock) => Transport = memoryTransport) {
  const clock = new VirtualClock();
  const log = recordingLog();
  const metrics = createMetrics();
  const transport = transportOn(clock);
  const bus = (service: string, options: Partial<TypedBusOptions> = {}) =>
    typedBus({
      transport,
      clock,
      cluster: "c",
      service,
      member: "m",
      log,
      metrics,
      mailboxMessagesMax: 100,
      ...options,
    });
  return { clock, log, metrics, transport, bus };
}

const gone = (uid: string) => ({ node: "n", uid });
const beat = (shard: number) => ({ shard, heartbeats: [] });

test("an id names its source, its stream and its position", () => {
  const { bus, clock } = world();
  const observer = bus("observer");
  const ids = [observer.publish("observed.lease", beat(3), null), observer.publish("observed.lease", beat(3), null)];
  expect(ids).toEqual([1, 2].map((sequence) => `observer@m:${clock.wallMs()}:observed.lease.3:${sequence}`));
  expect(observer.publish("observed.lease", beat(4), null)).toBe(`observer@m:${clock.wallMs()}:observed.lease.4:1`);
});

test("a message published by a handler is handled after those that wait", () => {
  const { bus, clock } = world();
  const [observer, node] = [bus("observer"), bus("node")];
  const handled: string[] = [];
  node.subscribe("observed.gone", "all", ({ body }) => {
    handled.push(`start ${body.uid}`);
    if (body.uid === "1") observer.publish("observed.gone", gone("3"), null);
    handled.push(`end ${body.uid}`);
  });
  observer.publish("observed.gone", gone("1"), null);
  observer.publish("observed.gone", gone("2"), null);
  clock.advance(0);
  expect(handled).toEqual(["start 1", "end 1", "start 2", "end 2", "start 3", "end 3"]);
});

test("a flood is handled in batches, so other work runs in between", () => {
  const { bus, clock } = world();
  const [observer, node] = [bus("observer"), bus("node", { mailboxMessagesMax: 10_000 })];
  let handled = 0;
  const handledAtTurns: number[] = [];
  const watchTurns = (): void => {
    handledAtTurns.push(handled);
    if (handled < 1000) clock.soon(watchTurns);
  };
  node.subscribe("observed.gone", "all", () => handled++);
  for (let index = 0; index < 1000; index++) observer.publish("observed.gone", gone(String(index)), null);
  clock.soon(watchTurns);
  clock.advance(0);
  const steps = handledAtTurns.slice(1).map((count, index) => count - (handledAtTurns[index] ?? 0));
  expect(handled).toBe(1000);
  expect(Math.max(...steps)).toBe(128);
});

test("a full mailbox drops and counts heartbeats first, and the reader gets the gap", async () => {
  const { bus, clock, metrics } = world();
  const [observer, node] = [bus("observer"), bus("node", { mailboxMessagesMax: 10 })];
  const gaps: string[] = [];
  let heartbeats = 0;
  let departures = 0;
  node.onGap((type, shard) => gaps.push(`${type} ${shard}`));
  node.subscribe("observed.lease", "all", () => heartbeats++);
  node.subscribe("observed.gone", "all", () => departures++);
  observer.publish("observed.lease", beat(1), null);
  clock.advance(0);
  for (let index = 0; index < 8; index++) observer.publish("observed.lease", beat(1), null);
  for (let index = 0; index < 8; index++) observer.publish("observed.gone", gone(String(index)), null);
  clock.advance(0);
  expect([heartbeats, departures]).toEqual([1 + 2, 8]);
  expect(await metricValue(metrics, "vigil_bus_dropped_total", { reason: "mailbox" })).toBe(6);
  expect(gaps).toEqual(["observed.lease 1"]);
});

test("an exception in a handler is reported, and the next message is handled", async () => {
  const { bus, clock, metrics } = world();
  const failures: unknown[] = [];
  const [observer, node] = [bus("observer"), bus("node", { failed: (error) => failures.push(error) })];
  const handled: string[] = [];
  node.subscribe("observed.gone", "all", ({ body }) => {
    if (body.uid === "bad") throw new Error("cannot");
    handled.push(body.uid);
  });
  for (const uid of ["bad", "good"]) observer.publish("observed.gone", gone(uid), null);
  clock.advance(0);
  expect(failures).toEqual([new Error("cannot")]);
  expect(handled).toEqual(["good"]);
  expect(await metricValue(metrics, "vigil_actor_failures_total", { service: "node" })).toBe(1);
});

test("an exception in an unsupervised handler is logged", () => {
  const { bus, clock, log } = world();
  const [observer, node] = [bus("observer"), bus("node")];
  node.subscribe("observed.gone", "all", () => {
    throw new Error("cannot");
  });
  observer.publish("observed.gone", gone("1"), null);
  clock.advance(0);
  expect(log.lines.map(({ level, message }) => `${level} ${message}`)).toEqual(["error node failed on a message"]);
});

test("a message too large to send is logged and counted, and leaves no gap", async () => {
  const { bus, clock, log, metrics } = world();
  const [observer, node] = [bus("observer"), bus("node")];
  const handled: number[] = [];
  const gaps: unknown[] = [];
  node.subscribe("observed.gone", "all", ({ body }) => handled.push(body.uid.length));
  node.onGap((type) => gaps.push(type));
  for (const length of [1, 70_000, 2]) observer.publish("observed.gone", gone("x".repeat(length)), null);
  clock.advance(0);
  expect([handled, gaps]).toEqual([[1, 2], []]);
  expect(log.lines[0]?.message).toMatch(/^message not sent: observed.gone .* at most 65536 are allowed$/);
  expect(await metricValue(metrics, "vigil_bus_dropped_total", { reason: "oversize" })).toBe(1);
});

test("a flood of malformed messages is one log line a second with their number", () => {
  const { bus, clock, log, transport } = world();
  bus("node").subscribe("observed.gone", "all", () => {});
  const flood = (count: number) => {
    for (let index = 0; index < count; index++) transport.publish("vigil.v1.c.observed.gone.1.n", Uint8Array.of(1));
    clock.advance(1000);
  };
  flood(50);
  flood(1);
  expect(log.lines.map(({ message, fields }) => [message, fields.unlogged])).toEqual([
    ["message dropped: not JSON in UTF-8", undefined],
    ["message dropped: not JSON in UTF-8", 49],
  ]);
});

test("a disconnected transport gets no messages, and the stream shows a gap later", async () => {
  let connected = true;
  const { bus, clock, metrics } = world((clock) => ({ ...memoryTransport(clock), connected: () => connected }));
  const [observer, node] = [bus("observer"), bus("node")];
  const handled: string[] = [];
  const gaps: unknown[] = [];
  node.subscribe("observed.gone", "all", ({ body }) => handled.push(body.uid));
  node.onGap((type) => gaps.push(type));
  observer.publish("observed.gone", gone("1"), null);
  connected = false;
  expect(observer.connected()).toBe(false);
  observer.publish("observed.gone", gone("2"), null);
  connected = true;
  observer.publish("observed.gone", gone("3"), null);
  clock.advance(0);
  expect([handled, gaps]).toEqual([["1", "3"], ["observed.gone"]]);
  expect(await metricValue(metrics, "vigil_bus_dropped_total", { reason: "unsent" })).toBe(1);
});

test("a stopped subscription receives nothing that waited for it", () => {
  const { bus, clock } = world();
  const [observer, node] = [bus("observer"), bus("node")];
  const handled: string[] = [];
  const subscribe = () => node.subscribe("observed.gone", "all", ({ body }) => handled.push(body.uid));
  const stop = subscribe();
  observer.publish("observed.gone", gone("1"), null);
  clock.soon(stop);
  clock.advance(0);
  expect(handled).toEqual([]);
  subscribe();
  observer.publish("observed.gone", gone("2"), null);
  clock.advance(0);
  expect(handled).toEqual(["2"]);
});

test("a message from a start in the future is dropped and hides no true one", async () => {
  const { bus, clock, metrics, log } = world();
  const received: string[] = [];
  const senderAhead = (ms: number) => {
    const ahead: Clock = {
      monotonicMs: () => clock.monotonicMs(),
      wallMs: () => clock.wallMs() + ms,
      soon: (run) => clock.soon(run),
      after: (delayMs, fire) => clock.after(delayMs, fire),
    };
    return bus("observer", { clock: ahead });
  };
  bus("node").subscribe("observed.gone", "all", ({ body }) => received.push(body.uid));
  senderAhead(EPOCH_AHEAD_MAX_MS + 1).publish("observed.gone", gone("forged"), null);
  bus("observer").publish("observed.gone", gone("true"), null);
  clock.advance(0);
  senderAhead(EPOCH_AHEAD_MAX_MS).publish("observed.gone", gone("of a wrong clock"), null);
  clock.advance(0);
  expect(received).toEqual(["true", "of a wrong clock"]);
  expect(await metricValue(metrics, "vigil_bus_dropped_total", { reason: "malformed" })).toBe(1);
  expect(log.lines[0]?.message).toContain("names a start in the future");
});
