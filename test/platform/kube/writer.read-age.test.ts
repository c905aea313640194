/** How long a live read is valid for a write, and parallel reads, on a scripted wire. */
import { beforeEach, expect, test } from "vitest";
import { type Kube, type ObjectRef, Urgency, type WriteReply } from "../../../protocols/ports.ts";
import { type Profile, STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { createKube } from "../../../services/platform/kube/kube.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { ScriptedWire } from "./scripted-wire.ts";

let clock: VirtualClock;
let wire: ScriptedWire;
let kube: Kube;

const ok = { metadata: { name: "a", resourceVersion: "2" } };
const node = (name: string): ObjectRef => ({ kind: "Node", namespace: "", name });
const pod = (name: string): ObjectRef => ({ kind: "Pod", namespace: "ns", name });

function start(profile: Partial<Profile> = {}): void {
  clock = new VirtualClock();
  wire = new ScriptedWire();
  const io = { wire, clock, random: () => 0.5, log: silentLog, metrics: createMetrics() };
  kube = createKube({ ...io, profile: { ...STANDARD_PROFILE, ...profile } });
}

beforeEach(() => start());

/** Whether a write is sent on a read of this age; an unsent one has failed as late. */
function isSentAfter(ageMs: number): boolean {
  const replies: WriteReply[] = [];
  const readAtMs = clock.monotonicMs() - ageMs;
  kube.write({ ref: pod("a"), urgency: Urgency.eviction, readAtMs, verb: "delete" }, (reply) => replies.push(reply));
  const isSent = wire.waiting > 0;
  if (isSent) wire.next().answer(200, ok);
  clock.advance(0);
  const late = { outcome: "failed", detail: "it waited too long to be sent", isLate: true };
  expect(replies).toEqual([isSent ? { outcome: "ok", object: ok } : late]);
  return isSent;
}

function readFor(latencyMs: number): void {
  kube.read(node("a"), () => {});
  clock.advance(latencyMs);
  wire.next().answer(200, ok);
}

test("a write is sent within a second of the read it rests on", () => {
  expect([isSentAfter(1000), isSentAfter(1001)]).toEqual([true, false]);
});

test("a write is sent within three request latencies of its read", () => {
  readFor(2000);
  expect([isSentAfter(6000), isSentAfter(6001)]).toEqual([true, false]);
});

test("slow requests never extend a read beyond a node's grace period", () => {
  start({ nodeMonitorGraceMs: 20_000 });
  readFor(9000);
  expect([isSentAfter(20_000), isSentAfter(20_001)]).toEqual([true, false]);
});

test("a read ages by the wall clock if that moved on without the monotonic one", () => {
  const isSentAfterJump = (ms: number): boolean => {
    start();
    readFor(0);
    clock.stepWall(ms);
    return isSentAfter(0);
  };
  expect([isSentAfterJump(1000), isSentAfterJump(1001)]).toEqual([true, false]);
});

test("a read after a jump of the wall clock is as young as any", () => {
  readFor(0);
  clock.stepWall(60_000);
  clock.advance(1);
  readFor(0);
  expect(isSentAfter(0)).toBe(true);
});

test("a wall clock that is set back makes no read younger", () => {
  readFor(0);
  clock.stepWall(-60_000);
  expect([isSentAfter(1000), isSentAfter(1001)]).toEqual([true, false]);
});

test("slow Events and lost answers do not extend the validity of reads", () => {
  const event: ObjectRef = { kind: "Event", namespace: "default", name: "" };
  kube.write({ ref: event, urgency: Urgency.event, verb: "create", body: {} }, () => {});
  clock.advance(9000);
  wire.next().answer(201, ok);
  kube.read(node("a"), () => {});
  clock.advance(10_000);
  wire.next();
  expect(isSentAfter(1001)).toBe(false);
});

test("a second read can follow a sent one at once, before those that wait", () => {
  start({ writesInFlightMax: 1 });
  kube.write({ ref: node("first"), urgency: Urgency.status, verb: "patch", patch: "merge", body: {} }, () => {});
  const pace = { urgency: Urgency.eviction, stepsBefore: 2 } as const;
  const beside = (): void => kube.read(node("beside"), () => {}, { urgency: Urgency.eviction, stepsBefore: 1 });
  kube.read(pod("a"), () => {}, { ...pace, sent: beside });
  kube.read(pod("b"), () => {}, pace);
  expect(wire.requests).toHaveLength(1);
  while (wire.waiting > 0) wire.next().answer(200, ok);
  expect(wire.requests.map(({ path }) => path.slice(path.lastIndexOf("/") + 1))).toEqual(["first", "a", "beside", "b"]);
});
