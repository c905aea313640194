/** What a preview records of the messages of its services. */
import { expect, test } from "vitest";
import { PreviewRecord } from "../../../services/cli/preview/preview-record.ts";
import { DirectBus } from "../../../services/sandbox/virtual/direct-bus.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { judgedNode, noExecute, observedNode } from "../../support/observed-objects.ts";

const S = 1000;
const UNREACHABLE = noExecute("node.kubernetes.io/unreachable");

/** A record that begins after ten seconds, and the bus that it hears. */
function fixture() {
  const clock = new VirtualClock();
  const bus = new DirectBus(clock, "m");
  const record = new PreviewRecord(bus.of("record"), clock, clock.wallMs() + 10 * S);
  const service = bus.of("service");
  const at = (seconds: number, say: () => void): void => {
    clock.advance((10 + seconds) * S - clock.monotonicMs());
    say();
    clock.advance(0);
  };
  const evicted = (outcome: "throttled" | "shadowed") => {
    const about = { ask: "asked.eviction", kind: "Pod", namespace: "shop", name: "web", uid: "u", node: "n" } as const;
    const done = { outcome, retrying: false, latencyMs: 0, change: "", detail: "", resourceVersion: null };
    service.publish("done.write", { ...about, ...done }, null);
  };
  return { record, service, at, evicted, beganAt: clock.wallMs() + 10 * S };
}

test("a node has become Unknown, and was tainted, when it was shown so first", () => {
  const { record, service, at } = fixture();
  const show = (ready: "True" | "Unknown", taints = [UNREACHABLE]) =>
    service.publish("observed.node", observedNode("n", { ready, taints }), null);
  at(-5, () => show("True", []));
  at(20, () => show("Unknown", []));
  at(25, () => show("Unknown"));
  at(40, () => show("Unknown", []));
  at(50, () => show("Unknown"));
  expect(record.nodes.get("n")).toMatchObject({ unknownMs: 20 * S, admittedMs: 25 * S });
});

test("a node that was Unknown and tainted before has not become so", () => {
  const { record, service, at } = fixture();
  for (const seconds of [-5, -1, 5]) {
    at(seconds, () => {
      service.publish("observed.node", observedNode("n", { ready: seconds < -1 ? "True" : "Unknown" }), null);
    });
  }
  expect(record.nodes.get("n")).toMatchObject({ unknownMs: null, admittedMs: null });
});

test("the first request and the first refusal of a pod count, and its deletion", () => {
  const { record, service, at, evicted } = fixture();
  const target = { namespace: "shop", name: "web", uid: "u", node: "n" };
  const ask = { ...target, mode: "taint", taint: UNREACHABLE, deadlineAt: 0, policy: "gpu" } as const;
  for (const seconds of [30, 60]) at(seconds, () => service.publish("asked.eviction", ask, null));
  for (const seconds of [61, 70]) at(seconds, () => evicted("throttled"));
  expect(record.changedMs).toBe(0);
  at(80, () => evicted("shadowed"));
  expect(record.pod("u")).toEqual({ requestedMs: 30 * S, refusedMs: 61 * S, deletedMs: 80 * S });
  expect(record.changedMs).toBe(80 * S);
});

test("what a node waits for ends at instants that are known", () => {
  const { record, service, at, beganAt } = fixture();
  const taint = { key: "disk", effect: "NoExecute" };
  const conditions = [{ type: "DiskOk", status: "True", taint, state: "waiting", untilAt: beganAt + 7 } as const];
  const waits = { evictionFromAt: beganAt + 5, unhealthyDelay: { untilAt: beganAt + 6 }, conditions };
  at(1, () => service.publish("observed.node", observedNode("n"), null));
  at(2, () => service.publish("judged.node", judgedNode("n", waits), null));
  const instants = [...record.waitsUntilAt()].flatMap((instant) => (instant == null ? [] : [instant - beganAt]));
  expect(instants).toEqual([5, 6, 7]);
});
