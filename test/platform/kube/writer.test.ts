/** The writer on a scripted wire and virtual time: order, one write per object, load, timeouts and outcomes. */
import { beforeEach, describe, expect, test } from "vitest";
import { type Kube, type ObjectRef, Urgency, type WriteReply, type WriteRequest } from "../../../protocols/ports.ts";
import { type Profile, STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { createKube } from "../../../services/platform/kube/kube.ts";
import { readOnlyKube } from "../../../services/platform/kube/shadow/shadow-kube.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { ScriptedWire } from "./scripted-wire.ts";

let clock: VirtualClock;
let wire: ScriptedWire;
let kube: Kube;
let replies: WriteReply[];

const ok = { metadata: { name: "a", resourceVersion: "2" } };
const node = (name: string): ObjectRef => ({ kind: "Node", namespace: "", name });
const pod = (name: string): ObjectRef => ({ kind: "Pod", namespace: "ns", name });

function start(profile: Partial<Profile> = {}): void {
  clock = new VirtualClock();
  wire = new ScriptedWire();
  replies = [];
  kube = createKube({
    wire,
    clock,
    random: () => 0.5,
    log: silentLog,
    metrics: createMetrics(),
    profile: { ...STANDARD_PROFILE, ...profile },
  });
}

function patch(ref: ObjectRef, urgency: Urgency = Urgency.status, body: unknown = {}): void {
  kube.write({ ref, urgency, verb: "patch", patch: "strategic", body }, (reply) => replies.push(reply));
}

beforeEach(() => start());

const EVICTION_V1 = { resources: [{ name: "pods" }, { name: "pods/eviction", group: "policy", version: "v1" }] };
const BUDGET_REFUSAL = {
  kind: "Status",
  reason: "TooManyRequests",
  message: "Cannot evict pod as it would violate the pod's disruption budget.",
  details: { causes: [{ reason: "DisruptionBudget", message: "The disruption budget web needs 2 healthy pods" }] },
};

describe("an eviction", () => {
  const evict = (name: string): void =>
    kube.write({ ref: pod(name), urgency: Urgency.eviction, verb: "evict", uid: "u", resourceVersion: "7" }, (reply) =>
      replies.push(reply),
    );

  test.each(["v1", "v1beta1"])("is sent as policy/%s where the server has that version, found once", (version) => {
    evict("a");
    evict("b");
    const discovery = wire.next();
    expect(discovery).toMatchObject({ method: "GET", path: "/api/v1" });
    expect(wire.waiting).toBe(0);
    discovery.answer(200, { resources: [{ name: "pods/eviction", group: "policy", version }] });
    const sent = [wire.next(), wire.next()].map(({ method, path, request }) => {
      return { method, path, body: JSON.parse(request.body ?? "null") };
    });
    expect(sent[0]).toEqual({
      method: "POST",
      path: "/api/v1/namespaces/ns/pods/a/eviction",
      body: {
        apiVersion: `policy/${version}`,
        kind: "Eviction",
        metadata: { namespace: "ns", name: "a" },
        deleteOptions: { preconditions: { uid: "u", resourceVersion: "7" } },
      },
    });
    expect(sent[1]?.path).toBe("/api/v1/namespaces/ns/pods/b/eviction");
    evict("c");
    expect(wire.next().path).toBe("/api/v1/namespaces/ns/pods/c/eviction");
  });

  test("fails while the server hides its version, and asks again", () => {
    evict("a");
    wire.next().answer(500, {});
    expect(replies).toMatchObject([{ outcome: "failed", detail: expect.stringContaining("Eviction API") }]);
    evict("a");
    wire.next().answer(200, EVICTION_V1);
    wire.next().answer(201, { kind: "Status", status: "Success" });
    expect(replies[1]).toMatchObject({ outcome: "ok" });
  });

  test("refused by a disruption budget names it, and is no load", () => {
    const limitOf = (answer: readonly [number, unknown]): number => {
      start({ writesInFlightMax: 8 });
      evict("a");
      wire.next().answer(200, EVICTION_V1);
      wire.next().answer(...answer);
      for (let index = 0; index < 20; index++) patch(pod(`p-${index}`));
      return wire.waiting;
    };
    const unrefused = limitOf([201, { kind: "Status", status: "Success" }]);
    expect(limitOf([429, BUDGET_REFUSAL])).toBe(unrefused);
    expect(replies[0]).toMatchObject({
      outcome: "throttled",
      detail: "The disruption budget web needs 2 healthy pods",
      disruptionBudget: "The disruption budget web needs 2 healthy pods",
    });
    expect(limitOf([429, { kind: "Status", reason: "TooManyRequests" }])).toBeLessThan(unrefused);
    expect(replies[0]).not.toHaveProperty("disruptionBudget");
  });
});

describe("a write on the wire", () => {
  const sent = (request: WriteRequest) => {
    kube.write(request, () => {});
    const { method, path, request: http } = wire.next();
    return { method, path, type: http.headers["content-type"], body: JSON.parse(http.body ?? "null") };
  };
  const urgency = Urgency.taint;

  test("has the method, path and content type of its verb", () => {
    const body = { metadata: { name: "a" } };
    expect(sent({ ref: node("a"), urgency, verb: "create", body })).toEqual({
      method: "POST",
      path: "/api/v1/nodes",
      type: "application/json",
      body,
    });
    expect(sent({ ref: node("b"), urgency, verb: "update", subresource: "status", body })).toEqual({
      method: "PUT",
      path: "/api/v1/nodes/b/status",
      type: "application/json",
      body,
    });
    expect(sent({ ref: pod("c"), urgency, verb: "patch", patch: "strategic", body })).toMatchObject({
      method: "PATCH",
      path: "/api/v1/namespaces/ns/pods/c",
      type: "application/strategic-merge-patch+json",
    });
    expect(sent({ ref: pod("d"), urgency, verb: "patch", patch: "merge", body })).toMatchObject({
      type: "application/merge-patch+json",
    });
    const lease: ObjectRef = { kind: "Lease", namespace: "kube-node-lease", name: "n" };
    expect(sent({ ref: lease, urgency, verb: "update", body })).toMatchObject({
      path: "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n",
    });
  });

  test("has the body that is made when it is sent", () => {
    patch(node("a"));
    const write = { ref: node("a"), urgency, verb: "patch", patch: "strategic" } as const;
    kube.write({ ...write, bodyAtSend: () => ({ at: clock.monotonicMs() }) }, () => {});
    clock.advance(5_000);
    wire.next().answer(200, ok);
    expect(wire.next().request.body).toBe('{"at":5000}');
  });

  test("is not sent when no body is left to send", () => {
    const write = { ref: node("a"), urgency, verb: "patch", patch: "strategic", bodyAtSend: () => null } as const;
    kube.write(write, (reply) => replies.push(reply));
    clock.advance(0);
    expect(wire.waiting).toBe(0);
    expect(replies).toMatchObject([{ outcome: "failed", isLate: true }]);
  });

  test("to delete has the given preconditions and grace, no others", () => {
    const deletion = { ref: pod("a"), urgency, verb: "delete" } as const;
    expect(sent({ ...deletion, uid: "u", resourceVersion: "7", gracePeriodSeconds: 0 })).toMatchObject({
      method: "DELETE",
      path: "/api/v1/namespaces/ns/pods/a",
      body: {
        kind: "DeleteOptions",
        apiVersion: "v1",
        preconditions: { uid: "u", resourceVersion: "7" },
        gracePeriodSeconds: 0,
      },
    });
    expect(sent({ ...deletion, ref: pod("b") }).body).toEqual({ kind: "DeleteOptions", apiVersion: "v1" });
  });
});

describe("of one object", () => {
  test("only one write is in flight; others follow by urgency, then age", () => {
    patch(node("a"), Urgency.taint, { n: 1 });
    patch(node("a"), Urgency.taint, { n: 2 });
    patch(node("a"), Urgency.healing, { n: 3 });
    patch(node("a"), Urgency.taint, { n: 4 });
    patch(node("b"), Urgency.taint, { n: 5 });
    const order: unknown[] = [];
    while (wire.waiting > 0) {
      const next = wire.next();
      order.push(JSON.parse(next.request.body ?? ""));
      next.answer(200, ok);
    }
    expect(order).toEqual([{ n: 1 }, { n: 5 }, { n: 3 }, { n: 2 }, { n: 4 }]);
    expect(replies).toHaveLength(5);
  });

  test("a live read waits for no write", () => {
    patch(node("a"));
    kube.read(node("a"), () => {});
    expect(wire.requests.map(({ method }) => method)).toEqual(["PATCH", "GET"]);
  });

  test("two creates with generated names run side by side", () => {
    const event: ObjectRef = { kind: "Event", namespace: "default", name: "" };
    for (let n = 0; n < 2; n++) kube.write({ ref: event, urgency: Urgency.event, verb: "create", body: {} }, () => {});
    expect(wire.requests.map(({ path }) => path)).toEqual(Array(2).fill("/api/v1/namespaces/default/events"));
  });
});

describe("under load", () => {
  test("an urgent request overtakes earlier ones", () => {
    start({ writesInFlightMax: 1 });
    patch(node("first"), Urgency.event);
    const urgencies = [
      Urgency.event,
      Urgency.eviction,
      Urgency.readiness,
      Urgency.taint,
      Urgency.status,
      Urgency.healing,
    ];
    for (const urgency of urgencies) patch(node(`n-${urgency}`), urgency);
    kube.read(node("read"), () => {});
    const order: string[] = [];
    while (wire.waiting > 0) {
      const next = wire.next();
      order.push(next.path.slice("/api/v1/nodes/".length));
      next.answer(200, ok);
    }
    expect(order).toEqual(["first", "n-0", "read", "n-1", "n-2", "n-3", "n-4", `n-${Urgency.event}`]);
  });

  test("Events go one at a time beside other requests, else in parallel", () => {
    const event: ObjectRef = { kind: "Event", namespace: "default", name: "" };
    patch(node("a"));
    for (let n = 0; n < 3; n++) kube.write({ ref: event, urgency: Urgency.event, verb: "create", body: {} }, () => {});
    const methods = () => wire.requests.map(({ method }) => method);
    expect(methods()).toEqual(["PATCH", "POST"]);
    const [other, first] = [wire.next(), wire.next()];
    first.answer(201, ok);
    expect(methods()).toEqual(["PATCH", "POST", "POST"]);
    other.answer(200, ok);
    expect(methods()).toEqual(["PATCH", "POST", "POST", "POST"]);
  });

  test("of one urgency writes go first, then reads by steps to a write", () => {
    start({ writesInFlightMax: 1 });
    patch(node("first"), Urgency.event);
    kube.read(node("far"), () => {}, { urgency: Urgency.taint, stepsBefore: 2 });
    kube.read(node("near"), () => {}, { urgency: Urgency.taint, stepsBefore: 1 });
    patch(node("write"), Urgency.taint);
    kube.read(node("more-urgent"), () => {}, { urgency: Urgency.status, stepsBefore: 2 });
    const order: string[] = [];
    while (wire.waiting > 0) {
      const next = wire.next();
      order.push(next.path.slice("/api/v1/nodes/".length));
      next.answer(200, ok);
    }
    expect(order).toEqual(["first", "more-urgent", "write", "near", "far"]);
  });

  test("the limit is 16, and grows to its maximum while answers are quick", () => {
    start({ writesInFlightMax: 20 });
    for (let n = 0; n < 100; n++) patch(node(`n-${n}`));
    expect(wire.waiting).toBe(16);
    clock.advance(1);
    for (let n = 0; n < 30; n++) wire.next().answer(200, ok);
    expect(wire.waiting).toBe(20);
  });

  test("a 429 halves the limit, once for all requests sent before it", () => {
    for (let n = 0; n < 100; n++) patch(node(`n-${n}`));
    clock.advance(5);
    for (let n = 0; n < 16; n++) wire.next().answer(429, "", { "retry-after": "1" });
    expect(wire.waiting).toBe(8);
    expect(replies).toHaveLength(16);
    expect(replies[0]).toEqual({ outcome: "throttled", detail: "429: no message", retryAfterMs: 1000 });
  });

  test("kube-api-qps allows the burst and then that many a second", () => {
    start({ kubeApiQps: 10, kubeApiBurst: 3 });
    for (let n = 0; n < 10; n++) patch(node(`n-${n}`));
    expect(wire.waiting).toBe(3);
    clock.advance(99);
    expect(wire.waiting).toBe(3);
    clock.advance(1);
    expect(wire.waiting).toBe(4);
    clock.advance(400);
    expect(wire.waiting).toBe(8);
  });
});

describe("a missing reply", () => {
  test("is unknown after 15 s for a write, failed after 10 s for a read", () => {
    const reads: unknown[] = [];
    patch(node("a"));
    kube.read(node("b"), (reply) => reads.push(reply));
    clock.advance(10_000);
    expect(reads).toEqual([{ outcome: "failed", detail: "no answer within 10000 ms" }]);
    expect(replies).toEqual([]);
    clock.advance(5000);
    expect(replies).toEqual([{ outcome: "unknown", detail: "no answer within 15000 ms" }]);
    expect(wire.requests.every(({ aborted }) => aborted)).toBe(true);
  });

  test("is unknown if the request may have arrived, else failed", () => {
    patch(node("a"));
    patch(node("b"));
    wire.next().fail({ message: "read ECONNRESET", sent: true });
    wire.next().fail({ message: "connect ECONNREFUSED", sent: false });
    expect(replies).toEqual([
      { outcome: "unknown", detail: "read ECONNRESET" },
      { outcome: "failed", detail: "connect ECONNREFUSED" },
    ]);
  });

  test("that comes after all, or twice, changes nothing", () => {
    patch(node("a"));
    clock.advance(15_000);
    const late = wire.next();
    late.answer(200, ok);
    expect(replies).toHaveLength(1);
    patch(node("a"));
    expect(wire.waiting).toBe(1);
  });
});

describe("in shadow", () => {
  test("every write is answered as shadowed after the call, and none is sent", () => {
    const shadow = readOnlyKube(kube, (run) => clock.soon(run));
    shadow.write({ ref: node("a"), urgency: Urgency.healing, verb: "delete" }, (reply) => replies.push(reply));
    expect(replies).toEqual([]);
    clock.advance(0);
    expect(replies).toEqual([{ outcome: "shadowed", detail: "shadow mode writes nothing" }]);
    expect(wire.requests).toEqual([]);
    shadow.read(node("a"), () => {});
    expect(wire.next().method).toBe("GET");
  });
});
