/** The lease keeper against the embedded API. */
import { beforeEach, describe, expect, it } from "vitest";
import { ENSURE_RETRIES, jittered, renewPeriodMs } from "../../services/agent/lease.policy.ts";
import { LeaseKeeper } from "../../services/agent/lease.ts";
import { retryPauseMs } from "../../services/structures/retry-schedule.ts";
import { VirtualApi } from "./virtual-api.ts";

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const LEASE = `${LEASES}/node-1`;

let api: VirtualApi;
let uid: string | null;
let failures: number;
let keeper: LeaseKeeper;
let results: boolean[];

beforeEach(() => {
  api = new VirtualApi();
  uid = "uid-1";
  failures = 0;
  results = [];
  keeper = new LeaseKeeper({
    clock: api.clock,
    kube: api.kube,
    log: api.log,
    nodeName: "node-1",
    leaseSeconds: 40,
    owner: (done) => api.clock.soon(() => done(uid)),
    onRepeatedFailure: () => failures++,
  });
});

function renew(withinMs = 0): void {
  keeper.renew((renewed) => results.push(renewed));
  api.clock.advance(withinMs);
}

function failing(verb: "get" | "update", times: number): void {
  api.server.faults.add({ fault: { kind: "status", code: 500 }, when: (call) => call.verb === verb, times });
}

describe("a lease", () => {
  it("is created with holder, duration, renew time and owner (R9.28)", () => {
    renew();
    expect(api.sent()).toEqual([`GET ${LEASE}`, `POST ${LEASES}`]);
    expect(api.lease()).toMatchObject({
      metadata: {
        name: "node-1",
        namespace: "kube-node-lease",
        ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "node-1", uid: "uid-1" }],
      },
      spec: { holderIdentity: "node-1", leaseDurationSeconds: 40, renewTime: "2026-01-01T00:00:00.000000Z" },
    });
    expect(results).toEqual([true]);
  });

  it("is updated without a read once it is known (R9.29)", () => {
    renew();
    api.clock.advance(10_000);
    api.forget();
    renew();
    expect(api.sent()).toEqual([`PUT ${LEASE}`]);
    expect(api.lease()).toMatchObject({ spec: { renewTime: "2026-01-01T00:00:10.000000Z" } });
  });

  it("that exists is read, then updated with owner and duration (R9.29, R9.33)", () => {
    api.send("POST", LEASES, { metadata: { name: "node-1" }, spec: { leaseDurationSeconds: 5, leaseTransitions: 3 } });
    renew();
    expect(api.sent()).toEqual([`GET ${LEASE}`, `PUT ${LEASE}`]);
    expect(api.lease()).toMatchObject({
      metadata: { ownerReferences: [{ uid: "uid-1" }] },
      spec: { leaseDurationSeconds: 40, leaseTransitions: 3 },
    });
  });

  it("is not created while its owner is unknown (R9.31)", () => {
    uid = null;
    renew();
    expect(results).toEqual([false]);
    expect(api.lease()).toBeUndefined();
  });

  it("is renewed even if its owner cannot be read (better than R9.31, L50)", () => {
    api.send("POST", LEASES, { metadata: { name: "node-1" }, spec: {} });
    uid = null;
    renew();
    expect(results).toEqual([true]);
    expect(api.lease()).toMatchObject({ spec: { holderIdentity: "node-1" } });
    uid = "uid-1";
    renew();
    expect(api.lease()).toMatchObject({ metadata: { ownerReferences: [{ uid: "uid-1" }] } });
  });

  it("in conflict is read and updated, and the connection kept (R9.32)", () => {
    renew();
    api.send("PATCH", LEASE, { metadata: { labels: { other: "1" } } });
    api.forget();
    renew();
    expect(api.sent()).toEqual([`PUT ${LEASE}`, `GET ${LEASE}`, `PUT ${LEASE}`]);
    expect(api.lease()).toMatchObject({ metadata: { labels: { other: "1" } } });
    expect(failures).toBe(0);
  });

  it("that was deleted is created again at once (R9.32)", () => {
    renew();
    api.send("DELETE", LEASE);
    api.forget();
    renew();
    expect(api.sent()).toEqual([`PUT ${LEASE}`, `GET ${LEASE}`, `POST ${LEASES}`]);
    expect([results, failures]).toEqual([[true, true], 0]);
  });

  it.each([
    [1, 0],
    [2, 1],
    [4, 3],
  ])("is updated at once after %d failures, %d of the connection (R9.32)", (times, calls) => {
    renew();
    api.forget();
    failing("update", times);
    renew();
    expect(api.sent()).toEqual(Array.from({ length: times + 1 }, () => `PUT ${LEASE}`));
    expect([results, failures]).toEqual([[true, true], calls]);
  });

  it.each([
    [2, 2_000],
    [60, 10_000],
  ])("whose update is throttled for %d s is retried after %d ms", (seconds, pauseMs) => {
    renew();
    api.forget();
    const fault = { kind: "status", code: 429, retryAfterSeconds: seconds } as const;
    api.server.faults.add({ fault, when: ({ verb }) => verb === "update", times: 2 });
    renew(2 * pauseMs);
    expect(api.requests.map(({ method, atMs }) => [method, atMs])).toEqual([
      ["PUT", 0],
      ["PUT", pauseMs],
      ["PUT", 2 * pauseMs],
    ]);
    expect(results).toEqual([true, true]);
  });

  it("is read after five failed updates and fails after five more (R9.29)", () => {
    renew();
    api.forget();
    failing("update", 10);
    renew();
    expect(api.sent("PUT")).toHaveLength(10);
    expect(api.sent("GET")).toHaveLength(1);
    expect([results, failures]).toEqual([[true, false], 8]);
    renew();
    expect(results).toEqual([true, false, true]);
  });

  it("is read with backoff until the API answers (R9.30)", () => {
    failing("get", 9);
    renew(60_000);
    const times = api.requests.map(({ atMs }) => atMs);
    expect(times.slice(1, 10).map((at, index) => at - (times[index] ?? 0))).toEqual([
      200, 400, 800, 1600, 3200, 6400, 7000, 7000, 7000,
    ]);
    expect(results).toEqual([true]);
  });

  it("is not read any more after stop", () => {
    failing("get", 9);
    renew(1000);
    keeper.stop();
    api.forget();
    api.clock.advance(60_000);
    expect([api.sent(), results]).toEqual([[], []]);
  });

  it("is deleted on request (R9.34)", () => {
    renew();
    let removed = 0;
    keeper.remove(() => removed++);
    api.clock.advance(0);
    expect([removed, api.lease()]).toEqual([1, undefined]);
  });
});

describe("the period of a lease", () => {
  it("is a quarter of its duration, lengthened by up to 4 %", () => {
    const periodMs = renewPeriodMs(40);
    expect([periodMs, jittered(periodMs, () => 0), jittered(periodMs, () => 0.999)]).toEqual([
      10_000, 10_000, 10_399.6,
    ]);
  });

  it("has a longest pause of 7 s (R9.30)", () => {
    expect([1, 2, 6, 7, 31].map((tries) => retryPauseMs(tries, ENSURE_RETRIES))).toEqual([200, 400, 6400, 7000, 7000]);
  });
});
