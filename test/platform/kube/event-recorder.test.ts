/** How Events reach the API: in the background, and dropped when too many wait. */
import { describe, expect, test } from "vitest";
import { Urgency, type WriteReply } from "../../../protocols/ports.ts";
import type { Occurrence } from "../../../services/platform/kube/events/event-correlator.ts";
import {
  EventRecorder,
  RETRY_MS,
  TRIES_MAX,
  WAITING_MAX,
} from "../../../services/platform/kube/events/event-recorder.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { LedgerKube } from "../../ledger/ledger-world.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { metricValue } from "../../support/metric-value.ts";

function setup() {
  const clock = new VirtualClock();
  const kube = new LedgerKube(clock);
  const metrics = createMetrics();
  const recorder = new EventRecorder({ clock, kube, metrics, log: silentLog });
  const results = (result: string) => metricValue(metrics, "vigil_events_total", { result });
  return { clock, kube, recorder, results };
}

const about = (name: string): Occurrence => ({
  involvedObject: { apiVersion: "v1", kind: "Node", namespace: "", name, uid: `uid-${name}` },
  reason: "RegisteredNode",
  type: "Normal",
  message: `Node ${name} event: Registered Node ${name} in Controller`,
  component: "node-controller",
});

describe("an Event", () => {
  test("is written after every more urgent request", async () => {
    const { clock, kube, recorder, results } = setup();
    recorder.record(about("n-1"));
    clock.advance(0);
    expect(kube.requests).toMatchObject([
      { verb: "create", urgency: Urgency.event, ref: { kind: "Event", namespace: "default" } },
    ]);
    expect(await results("written")).toBe(1);
  });

  test("that repeats patches the existing one, or is created when that is gone", () => {
    const { clock, kube, recorder } = setup();
    recorder.record(about("n-1"));
    clock.advance(0);
    kube.answer = ({ verb }) => (verb === "patch" ? { outcome: "gone", detail: "expired" } : okReply);
    recorder.record(about("n-1"));
    clock.advance(0);
    expect(kube.requests.slice(1)).toMatchObject([
      { verb: "patch", patch: "strategic", body: { count: 2 } },
      { verb: "create", body: { count: 2 } },
    ]);
  });

  test.each<WriteReply["outcome"]>(["denied", "conflict"])(
    "that the API refuses is not retried: %s",
    async (outcome) => {
      const { clock, kube, recorder, results } = setup();
      kube.answer = () => ({ outcome, detail: "no" }) as WriteReply;
      recorder.record(about("n-1"));
      clock.advance(10 * RETRY_MS);
      expect(kube.requests).toHaveLength(1);
      expect(await results("rejected")).toBe(1);
    },
  );

  test("that fails is tried twelve times, ten seconds apart (R12.2)", async () => {
    const { clock, kube, recorder, results } = setup();
    kube.answer = () => ({ outcome: "failed", detail: "no route to host" });
    recorder.record(about("n-1"));
    clock.advance(RETRY_MS - 1);
    expect(kube.requests).toHaveLength(1);
    clock.advance(1);
    expect(kube.requests).toHaveLength(2);
    clock.advance(100 * RETRY_MS);
    expect(kube.requests).toHaveLength(TRIES_MAX);
    expect(await results("rejected")).toBe(1);
  });

  test("whose reply was lost is written once: the second attempt finds it", async () => {
    const { clock, kube, recorder, results } = setup();
    kube.answer = () => ({ outcome: "unknown", detail: "connection reset" });
    recorder.record(about("n-1"));
    clock.advance(0);
    kube.answer = () => ({ outcome: "exists", detail: "already exists" });
    clock.advance(RETRY_MS);
    expect(await results("written")).toBe(1);
  });

  test("waits as long as the API server asks", () => {
    const { clock, kube, recorder } = setup();
    kube.answer = () => ({ outcome: "throttled", detail: "slow down", retryAfterMs: 3000 });
    recorder.record(about("n-1"));
    clock.advance(0);
    kube.answer = null;
    clock.advance(2999);
    expect(kube.requests).toHaveLength(1);
    clock.advance(1);
    expect(kube.requests).toHaveLength(2);
  });

  test("in shadow is counted as such", async () => {
    const { clock, kube, recorder, results } = setup();
    kube.answer = () => ({ outcome: "shadowed", detail: "" });
    recorder.record(about("n-1"));
    clock.advance(0);
    expect(await results("shadowed")).toBe(1);
  });
});

describe("many Events", () => {
  test("are requested eight at a time, and all written in the end", async () => {
    const { clock, kube, recorder, results } = setup();
    for (let index = 0; index < 50; index++) recorder.record(about(`n-${index}`));
    expect(kube.requests).toHaveLength(8);
    clock.advance(0);
    expect(await results("written")).toBe(50);
  });

  test("wait in a bounded queue; further ones are dropped and counted", async () => {
    const { clock, kube, recorder, results } = setup();
    kube.answer = () => ({ outcome: "failed", detail: "down" });
    for (let index = 0; index < WAITING_MAX + 5; index++) recorder.record(about(`n-${index}`));
    expect(await results("dropped")).toBe(5);
    clock.advance(0);
    recorder.record(about("another"));
    expect(await results("dropped")).toBe(6);
  });

  test("about one object beyond its burst are suppressed and counted", async () => {
    const { clock, recorder, results } = setup();
    for (let index = 0; index < 27; index++) recorder.record(about("n-1"));
    clock.advance(0);
    expect(await results("suppressed")).toBe(2);
  });

  test("end with the recorder: nothing is written afterwards", () => {
    const { clock, kube, recorder } = setup();
    kube.answer = () => ({ outcome: "failed", detail: "down" });
    for (let index = 0; index < 20; index++) recorder.record(about(`n-${index}`));
    clock.advance(1);
    recorder.stop();
    const { length } = kube.requests;
    clock.advance(10 * RETRY_MS);
    expect(kube.requests).toHaveLength(length);
    expect(clock.pendingTimers).toBe(0);
  });
});

const okReply: WriteReply = { outcome: "ok", object: { metadata: { name: "n" } } };
