/** Two fast paths: decoding once for several services, and decoding late what is taken rarely. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { isMessageType, MESSAGES, type MessageType } from "../../../protocols/messages.ts";
import { admit, admitOnce, awaitReader } from "../../../services/platform/bus/admission.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../../services/platform/bus/memory.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { readGolden } from "../../protocols/golden.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { recordingLog } from "../../support/recording-log.ts";

const FRAMES = readGolden().map(({ frame }) => JSON.stringify(frame));
/** An arrival after every golden frame. */
const ARRIVAL = { subject: "any", cluster: "c", wallMs: 1_800_000_000_000 };
const TYPES = Object.keys(MESSAGES).filter(isMessageType);

function world() {
  const clock = new VirtualClock();
  const transport = memoryTransport(clock);
  const shared = { transport, clock, cluster: "c", member: "m", metrics: createMetrics(), mailboxMessagesMax: 100 };
  const bus = (service: string) => typedBus({ ...shared, service, log: recordingLog() });
  return { clock, transport, bus };
}

const beat = (shard: number) => ({ shard, heartbeats: [] });

test("every reader gets the result of the plain path, whichever is first", () => {
  const text = fc.constantFrom(...FRAMES);
  const spoilt = fc.tuple(text, fc.nat(), fc.string()).map(([frame, at, put]) => {
    const place = at % frame.length;
    return frame.slice(0, place) + put + frame.slice(place + 1);
  });
  const types = fc.array(fc.constantFrom<MessageType>(...TYPES), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(fc.oneof(text, spoilt), types, (frame, others) => {
      const payload = new TextEncoder().encode(frame);
      const own = TYPES.filter((type) => frame.includes(`"${type}"`));
      const readers = [...own, ...others, ...own];
      for (const _reader of readers) awaitReader(payload);
      for (const type of [...readers, ...own]) {
        expect(admitOnce(payload, type, ARRIVAL)).toEqual(admit(payload, type, ARRIVAL));
      }
    }),
  );
});

test("two services of a process share one message", () => {
  const { bus, clock } = world();
  const bodies: unknown[] = [];
  for (const service of ["node", "ledger"]) {
    bus(service).subscribe("observed.lease", "all", ({ body }) => bodies.push(body));
  }
  bus("observer").publish("observed.lease", beat(3), null);
  clock.advance(0);
  expect(bodies).toHaveLength(2);
  expect(bodies[0]).toBe(bodies[1]);
});

test("the last registered reader removes the message; another reader decodes again", () => {
  const [frame = ""] = FRAMES.filter((text) => text.includes('"observed.lease"'));
  const payload = new TextEncoder().encode(frame);
  awaitReader(payload);
  awaitReader(payload);
  const [first, second, third] = [1, 2, 3].map(() => admitOnce(payload, "observed.lease", ARRIVAL));
  expect(second).toBe(first);
  expect(third).toEqual(first);
  expect(third).not.toBe(first);
});

test("the last message of each shard is kept until it is taken", () => {
  const { bus, clock } = world();
  const observer = bus("observer");
  const latest = bus("console").latest("observed.lease");
  for (const shard of [1, 2, 1]) {
    observer.publish("observed.lease", beat(shard), null);
    clock.advance(10);
  }
  const taken = latest.take().map(({ message, receivedMs }) => [message.id.split(":").slice(-2).join(), receivedMs]);
  expect(taken).toEqual([
    ["observed.lease.1,2", clock.monotonicMs() - 10],
    ["observed.lease.2,1", clock.monotonicMs() - 20],
  ]);
  expect(latest.take()).toEqual([]);
  latest.stop();
  observer.publish("observed.lease", beat(1), null);
  clock.advance(0);
  expect(latest.take()).toEqual([]);
});

test("bytes that are no message are skipped", () => {
  const { bus, clock, transport } = world();
  const latest = bus("console").latest("observed.lease");
  transport.publish("vigil.v1.c.observed.lease.1", new TextEncoder().encode("nonsense"));
  clock.advance(0);
  expect(latest.take()).toEqual([]);
});
