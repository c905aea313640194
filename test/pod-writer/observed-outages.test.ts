/** What the pod-writer knows of outages by the pulses that reach it. */
import { expect, test } from "vitest";
import type { ServiceName } from "../../protocols/ports.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../services/platform/bus/memory.ts";
import { uncounted } from "../../services/platform/process/metrics.ts";
import { ObservedOutages } from "../../services/pod-writer/observed-outages.ts";
import { pulse } from "../ledger/ledger-world.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { recordingLog } from "../support/recording-log.ts";

const S = 1000;
const NODE = "worker-7";
const PROFILE = { nodeMonitorGraceMs: 40 * S, pulsePeriodMs: 6 * S, pulseTimeoutMs: 60 * S, watchBlindMs: 40 * S };

/** The pulses of a node's shard and of shard 0, heard as of now; then those of the node's shard are lost. */
function heard() {
  const clock = new VirtualClock();
  const shared = { transport: memoryTransport(clock), clock, cluster: "c", member: "m", mailboxMessagesMax: 100 };
  const busOf = (service: ServiceName) => typedBus({ ...shared, service, log: recordingLog(), metrics: uncounted });
  const [observer, writer] = [busOf("observer"), busOf("pod-writer")];
  const outages = new ObservedOutages(clock, PROFILE);
  outages.followHeard(writer);
  outages.follow(writer, shardOf(NODE));
  const receive = (shard: number, heardAt?: number): void => {
    observer.publish("observed.pulse", pulse(shard, heardAt === undefined ? {} : { heard: { at: heardAt } }), null);
    clock.advance(0);
  };
  receive(shardOf(NODE));
  return { clock, receive, blindness: () => outages.about(NODE).blindness };
}

test("an outage whose first pulse was lost is not known, and nothing is evicted", () => {
  const { clock, receive, blindness } = heard();
  receive(0, clock.wallMs());
  clock.advance(26 * S);
  expect(blindness()).toBeNull();
  clock.advance(1);
  expect(blindness()).toBe("no pulse says that any node has been heard lately");
});

test("pulses of shard 0 that say when nodes were heard keep evictions going", () => {
  const { clock, receive, blindness } = heard();
  for (let pulses = 0; pulses < 5; pulses++) {
    receive(0, clock.wallMs());
    clock.advance(6 * S);
  }
  expect(blindness()).toBeNull();
});

test("a machine was suspended with its monotonic clock: nodes may not have been heard", () => {
  const { clock, receive, blindness } = heard();
  receive(0, clock.wallMs());
  clock.stepWall(27 * S);
  expect(blindness()).toBe("no pulse says that any node has been heard lately");
});
