/** Candidates for one Lease on virtual time: conflicts, lost renewals, stolen leases and an API that fails. */
import { beforeEach, describe, expect, test } from "vitest";
import { Urgency } from "../../../../protocols/ports.ts";
import { WORK_ELECTION } from "../../../../services/platform/kube/election/leader-election.ts";
import type { Call } from "../../../../services/sandbox/apiserver/routes.ts";
import { StandbyWorld } from "../../../support/standby-world.ts";

const S = 1_000;
const LEASE_MS = 15 * S;
const DEADLINE_MS = 10 * S;
const RETRY_MS = 2 * S;

let world: StandbyWorld;
beforeEach(() => {
  world = new StandbyWorld();
});

const isLease = ({ resource, namespace }: Call): boolean => resource.plural === "leases" && namespace === "kube-system";
const isUpdate = (call: Call): boolean => isLease(call) && call.verb === "update";
const elapsedMs = (fromMs: number): number => world.clock.monotonicMs() - fromMs;

/** Advances until something is true; returns how long that took. */
function until(isTrue: () => boolean, withinMs: number): number {
  const fromMs = world.clock.monotonicMs();
  while (!isTrue() && elapsedMs(fromMs) < withinMs) world.advance(10);
  expect(isTrue()).toBe(true);
  return elapsedMs(fromMs);
}

describe("of two candidates", () => {
  test("the first leads at once, and the other stands by", () => {
    const first = world.join("a");
    world.advance(0);
    const second = world.join("b");
    world.advance(60 * S);
    expect(world.holders.map(({ member }) => member)).toEqual(["a"]);
    expect([first, second].map(({ election }) => election.report().leads)).toEqual([true, false]);
    expect(second.election.report().holder).toMatch(/^a_/);
    expect([first, second].map(({ process }) => process.metrics.gaugeValue(WORK_ELECTION.gauge.name))).toEqual([1, 0]);
  });

  test("one leads when both begin at once", () => {
    world.join("a");
    world.join("b");
    world.advance(60 * S);
    expect(world.holders).toHaveLength(1);
  });

  test("the other follows a killed one 15 s after its renewal", () => {
    const first = world.join("a");
    world.join("b");
    world.advance(30.5 * S);
    first.kill();
    expect(until(() => world.holder === "b", LEASE_MS)).toBeGreaterThan(LEASE_MS - RETRY_MS);
  });

  test("the other leads at once, when the first leaves", () => {
    const first = world.join("a");
    const second = world.join("b");
    world.advance(31 * S);
    first.election.release(() => {});
    world.advance(0);
    expect(world.holders.map(({ member }) => member)).toEqual(["a", "", "b"]);
    expect(second.election.report().leads).toBe(true);
  });

  test("the other reads the Lease itself while its watch shows nothing", () => {
    const first = world.join("a");
    world.join("b");
    world.advance(5 * S);
    world.api.faults.silenceWatches("leases.coordination.k8s.io");
    world.advance(60 * S);
    expect(world.holders).toHaveLength(1);
    first.kill();
    until(() => world.holder === "b", LEASE_MS + 2.2 * RETRY_MS);
  });

  test("the other begins its wait again when it sees a renewal late", () => {
    const first = world.join("a");
    const second = world.join("b");
    world.advance(30 * S);
    const repair = second.path.sever("silent");
    world.advance(14 * S);
    first.kill();
    repair("break");
    world.advance(LEASE_MS - S);
    expect(world.holder).toBe("a");
    until(() => world.holder === "b", 3.2 * RETRY_MS);
  });
});

describe("a leader", () => {
  test.each([
    ["every 2 s", {}, 10],
    ["less often where its times say so", { renewPeriodMs: 4 * S }, 5],
  ])("renews %s", (_often, more, expected) => {
    world.join("a", { leaseDurationMs: 15 * S, renewDeadlineMs: 10 * S, retryPeriodMs: 2 * S, ...more });
    let renewals = 0;
    world.api.faults.add({
      fault: { kind: "latency" },
      when: (call) => {
        if (isUpdate(call)) renewals += 1;
        return false;
      },
    });
    world.advance(20 * S);
    expect(renewals).toBe(expected);
  });

  test("ends 10 s after its last renewal, and writes nothing from then on", () => {
    const first = world.join("a");
    world.advance(0);
    first.path.sever("silent");
    world.advance(DEADLINE_MS - 1);
    expect(first.lost()).toBeNull();
    world.advance(1);
    expect(first.lost()).toBe("the Lease was not renewed within 10 s");
    expect(first.process.metrics.gaugeValue(WORK_ELECTION.gauge.name)).toBe(0);
  });

  test.each([
    ["refused", { kind: "status", code: 503 }],
    ["broken off", { kind: "lostRequest" }],
    ["carried out without an answer", { kind: "lostReply" }],
    ["taken for outdated", { kind: "status", code: 409 }],
  ] as const)("goes on when renewals are %s for 6 s", (_how, fault) => {
    const first = world.join("a");
    world.advance(5 * S);
    const mend = world.api.faults.add({ fault, when: isUpdate });
    world.advance(6 * S);
    mend();
    world.advance(60 * S);
    expect(first.lost()).toBeNull();
    expect(world.holders).toHaveLength(1);
  });

  test("takes an edit of the Lease's metadata for what it is", () => {
    const first = world.join("a");
    world.advance(5 * S);
    world.patch({ kind: "Lease", namespace: "kube-system", name: "vigil" }, { metadata: { labels: { by: "hand" } } });
    world.advance(20 * S);
    expect(first.lost()).toBeNull();
  });

  test("ends as soon as another holds its Lease", () => {
    const first = world.join("a");
    world.advance(5.5 * S);
    world.editLease({ holderIdentity: "thief_1" });
    world.advance(10);
    expect(first.lost()).toBe("thief_1 holds the Lease");
  });

  test("takes a Lease again that somebody else released", () => {
    const first = world.join("a");
    world.advance(5.5 * S);
    world.editLease({ holderIdentity: "" });
    world.advance(5 * S);
    expect(first.lost()).toBeNull();
    expect(first.election.report().leads).toBe(true);
  });

  test("creates a Lease again that somebody deleted", () => {
    const first = world.join("a");
    world.advance(5.5 * S);
    world.write({
      verb: "delete",
      ref: { kind: "Lease", namespace: "kube-system", name: "vigil" },
      urgency: Urgency.status,
    });
    world.advance(30 * S);
    expect(first.lost()).toBeNull();
    expect(world.holders.map(({ member }) => member)).toEqual(["a"]);
  });

  test("that leaves during a renewal releases the Lease after it", () => {
    const first = world.join("a");
    world.advance(1_900);
    world.api.faults.add({ fault: { kind: "latency", answerMs: 500 }, when: isUpdate, times: 1 });
    world.advance(200);
    let isReleased = false;
    first.election.release(() => {
      isReleased = true;
    });
    world.advance(0);
    expect(isReleased).toBe(false);
    world.advance(500);
    expect(isReleased).toBe(true);
    expect(world.holder).toBe("");
  });
});

test("a candidate that was stopped does not lead by an answer that it reads too late", () => {
  const isCreation = (call: Call): boolean => isLease(call) && call.verb === "create";
  world.api.faults.add({ fault: { kind: "latency", answerMs: 100 }, when: isCreation, times: 1 });
  const first = world.join("a");
  world.advance(50);
  first.standstill.begin();
  const second = world.join("b");
  world.advance(60 * S);
  expect(world.holder).toBe("b");
  first.standstill.end();
  expect(first.election.report().leads).toBe(false);
  world.advance(60 * S);
  expect([first, second].map(({ election }) => election.report().leads)).toEqual([false, true]);
});

test("without the right to the Lease nobody leads, and the log says why once", () => {
  const only = world.join("a");
  world.api.faults.add({ fault: { kind: "status", code: 403 }, when: isLease });
  world.advance(20 * S);
  expect(world.holders).toEqual([]);
  const lines = only.process.log.lines.filter(({ message }) => message.startsWith("the Lease"));
  expect(lines.map(({ message }) => message)).toEqual(["the Lease of the leader election cannot be read"]);
});
