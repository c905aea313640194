/** The Events of a NodePolicy object: which changes of its status have one. */
import { describe, expect, test } from "vitest";
import { policyEvents, policyState } from "../../services/policy/policy-events.policy.ts";

const BREAKER = { circuitBreaker: { maxNodes: 1, duration: "10m", resetAfter: "30m" } };

/** The reasons of the Events while an object shows one after the other. */
function reasonsOf(...shown: readonly { readonly uid?: string; readonly spec?: unknown; readonly status: unknown }[]) {
  let before: ReturnType<typeof policyState> | null = null;
  return shown.flatMap(({ uid = "u", spec = BREAKER, status }) => {
    const object = { name: "gpu", uid, resourceVersion: "1", generation: 1, changedAt: null, spec, status };
    const after = policyState(object, before);
    const events = before === null ? [] : policyEvents("gpu", before, after);
    before = after;
    return events.map(({ reason }) => reason);
  });
}

const OPEN = { status: { breaker: "Open" } };
const CLOSED = { status: { breaker: "Closed" } };
const UNKNOWN = { status: {} };

describe("Events of a policy", () => {
  test("have a breaker opened once though its state is lost meanwhile", () => {
    expect(reasonsOf(CLOSED, OPEN, UNKNOWN, OPEN, UNKNOWN, CLOSED)).toEqual([
      "CircuitBreakerOpened",
      "CircuitBreakerReset",
    ]);
  });

  test("begin with the first change that is seen", () => {
    expect(reasonsOf(OPEN, OPEN)).toEqual([]);
    expect(reasonsOf(UNKNOWN, OPEN)).toEqual(["CircuitBreakerOpened"]);
  });

  test("have a breaker reset that is removed", () => {
    expect(reasonsOf(OPEN, { spec: {}, status: {} })).toEqual(["CircuitBreakerReset"]);
  });

  test("have none for another object of that name", () => {
    expect(reasonsOf(OPEN, { ...CLOSED, uid: "other" })).toEqual([]);
  });

  test("take any status and have messages that the API accepts", () => {
    for (const status of [null, 7, "x", { conditions: 3, frozenBy: {} }, { conditions: [null, "x"] }]) {
      expect(reasonsOf({ status }, { status })).toEqual([]);
    }
    const quiet = { uid: "u", isOpen: null, frozenBy: null, conflict: null };
    const [event] = policyEvents("gpu", quiet, { ...quiet, frozenBy: "x".repeat(2048) });
    expect(event?.message).toHaveLength(1024);
  });
});
