/** What the pod-writer knows of outages by the pulses that reach it. */
import { expect, test } from "vitest";
import type { Message } from "../../protocols/messages.ts";
import type { Bus } from "../../protocols/ports.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { ObservedOutages } from "../../services/pod-writer/observed-outages.ts";
import { pulse } from "../ledger/ledger-world.ts";
import { VirtualClock } from "../support/clock.virtual.ts";

const S = 1000;
const NODE = "worker-7";
const PROFILE = { nodeMonitorGraceMs: 40 * S, pulsePeriodMs: 6 * S, pulseTimeoutMs: 60 * S, watchBlindMs: 40 * S };

/** The pulses of a node's shard and of shard 0, heard as of now; then those of the node's shard are lost. */
function heard() {
  const clock = new VirtualClock();
  const handlers = new Map<number, (message: Message<"observed.pulse">) => void>();
  const bus = {
    subscribe: (_type: string, shard: number, handler: (message: Message<"observed.pulse">) => void) => {
      handlers.set(shard, handler);
      return () => {};
    },
    publish: () => "",
  };
  const outages = new ObservedOutages(clock, PROFILE);
  outages.followHeard(bus as unknown as Bus);
  outages.follow(bus as unknown as Bus, shardOf(NODE));
  const receive = (shard: number, heardAt?: number): void => {
    const body = pulse(shard, heardAt === undefined ? {} : { heard: { at: heardAt } });
    const [at, id] = [clock.wallMs(), `observer@a:1:observed.pulse.${shard}:1`];
    handlers.get(shard)?.({ type: "observed.pulse", id, source: "observer@a", at, cause: null, body });
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
