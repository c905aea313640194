/**
 * Guards how cost grows with size. Only CPU times and counts of the same run are compared. A bound lies halfway between
 * the expected cost and that of a plain mistake, because on a shared machine other processes may evict the caches of
 * the larger size.
 */
import { describe, expect, test } from "vitest";
import { nodeService } from "../../services/node/node.service.ts";
import { observerService } from "../../services/observer/observer.service.ts";
import { memoryTransport } from "../../services/platform/bus/memory.ts";
import { scanLease } from "../../services/platform/kube/watch/lease-scan.ts";
import { projectLease } from "../../services/platform/kube/watch/projection.ts";
import { Deadlines } from "../../services/structures/deadlines.ts";
import { Interner } from "../../services/structures/interner.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { Heartbeats } from "./heartbeats.ts";
import { quantile } from "./measurements.ts";

const S = 1000;
const FEW = 2_000;
const MANY = 20_000;
const GROWTH = MANY / FEW;
const RUNS = 5;

/** CPU time of a function, in microseconds. */
function cpuMicros(run: () => void): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/**
 * The ratio of two CPU costs: the median of several pairs. A slow machine slows both of a pair, and a garbage
 * collection affects only a few pairs.
 */
function timesAsMuch(much: () => number, little: () => number): number {
  return quantile(
    Array.from({ length: RUNS }, () => much() / little()),
    0.5,
  );
}

/** Counts callbacks, so work on a tick shows even where it is fast. */
class CountingClock extends VirtualClock {
  callbacks = 0;

  override after(delayMs: number, fire: () => void): ReturnType<VirtualClock["after"]> {
    return super.after(delayMs, () => {
      this.callbacks += 1;
      fire();
    });
  }
}

describe("an observer with a node service", () => {
  const worlds = new Map([FEW, MANY].map((nodes) => [nodes, steadyWorld(nodes)]));
  const world = (nodes: number) => worlds.get(nodes) ?? steadyWorld(nodes);

  function steadyWorld(nodes: number) {
    const clock = new CountingClock();
    const services = { observer: observerService, node: nodeService };
    const heartbeats = new Heartbeats({ clock, transport: memoryTransport(clock), services, nodes });
    heartbeats.list();
    clock.advance(1 * S);
    return { clock, heartbeats };
  }

  /** Ten seconds in which every node renews its lease once, evenly spread. */
  function beat({ clock, heartbeats }: ReturnType<typeof steadyWorld>): void {
    const batch = heartbeats.nodes / 100;
    for (let from = 0; from < heartbeats.nodes; from += batch) {
      heartbeats.renew(from, from + batch);
      clock.advance(S / 10);
    }
  }

  test("handles heartbeats as cheaply for ten times more", () => {
    // Both get as many heartbeats, over several times the grace, so deadlines have ended and been moved.
    const few = () => {
      for (let turn = 0; turn < GROWTH; turn++) beat(world(FEW));
    };
    const many = () => beat(world(MANY));
    const ratio = timesAsMuch(
      () => cpuMicros(many),
      () => cpuMicros(few),
    );
    expect(ratio).toBeLessThan(3);
  });

  test("idles with little more CPU and no more callbacks", () => {
    const callbacks = new Map<number, number>();
    const idleMicros = (nodes: number) => () => {
      const { clock } = world(nodes);
      beat(world(nodes));
      clock.advance(2 * S);
      const before = clock.callbacks;
      const micros = cpuMicros(() => clock.advance(10 * S));
      callbacks.set(nodes, clock.callbacks - before);
      return micros;
    };
    expect(timesAsMuch(idleMicros(MANY), idleMicros(FEW))).toBeLessThan(GROWTH / 2);
    const [few = 0, many = 0] = [FEW, MANY].map((nodes) => callbacks.get(nodes));
    expect(few).toBeGreaterThan(0);
    expect(many).toBeLessThan(few * 2);
  });
});

test("ten times the deadlines cost far less than a hundred times as much", () => {
  const setAndFire = (count: number): void => {
    const clock = new VirtualClock();
    let fired = 0;
    const deadlines = new Deadlines<number>({ clock, fire: () => fired++ });
    for (let item = 0; item < count; item++) deadlines.set(deadlines.add(item), 300 * S + (item % 1000));
    clock.advance(400 * S);
    expect(fired).toBe(count);
  };
  const few = () => {
    for (let turn = 0; turn < GROWTH; turn++) setAndFire(10 * FEW);
  };
  const ratio = timesAsMuch(
    () => cpuMicros(() => setAndFire(10 * MANY)),
    () => cpuMicros(few),
  );
  expect(ratio).toBeLessThan(GROWTH / 2);
});

test("finding a lease in a watch line costs clearly less than the plain path", () => {
  const metadata = { name: "n-1", namespace: "kube-node-lease", uid: "0d3c", resourceVersion: "42" };
  const renewTime = "2026-01-01T00:00:10.000001Z";
  const fieldsV1 = { "f:spec": { "f:holderIdentity": {}, "f:leaseDurationSeconds": {}, "f:renewTime": {} } };
  const apiVersion = "coordination.k8s.io/v1";
  const managedFields = [{ manager: "kubelet", operation: "Update", apiVersion, time: renewTime, fieldsV1 }];
  const spec = { holderIdentity: "n-1", leaseDurationSeconds: 40, renewTime };
  const object = { kind: "Lease", apiVersion, metadata: { ...metadata, managedFields }, spec };
  const line = new TextEncoder().encode(JSON.stringify({ type: "MODIFIED", object }));
  const projection = { interner: new Interner(), problem: () => {} };
  const plain = () => projectLease(JSON.parse(Buffer.from(line).toString()).object, projection);
  expect({ ...scanLease(line)?.object, ownerUid: null }).toEqual(plain());
  const oftenMicros = (read: () => unknown) => () =>
    cpuMicros(() => {
      for (let turn = 0; turn < 100_000; turn++) read();
    });
  const scan = () => scanLease(line);
  expect(timesAsMuch(oftenMicros(scan), oftenMicros(plain))).toBeLessThan(3 / 4);
});
