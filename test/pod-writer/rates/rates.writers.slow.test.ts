/** Pod-writers whose shards overlap or move while the pods of these shards wait for a rate. */
import { expect, test } from "vitest";
import { SHARD_COUNT } from "../../../protocols/subjects.ts";
import { podWriterService } from "../../../services/pod-writer/pod-writer.service.ts";
import type { Call } from "../../../services/sandbox/apiserver/routes.ts";
import { EVICTING, EvictionWorld } from "../../support/eviction-world.ts";
import { HandFleet } from "../../support/hand-fleet.ts";
import { HandPolicies } from "../../support/hand-policies.ts";
import { mostInAMinute } from "./evictions-per-minute.ts";

const S = 1000;
const { "pod-writer": _writer, ...OTHERS } = EVICTING;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };

const isPodWrite = ({ verb, resource }: Call): boolean =>
  resource.plural === "pods" && verb !== "list" && verb !== "watch";

/** Zone a under a policy of one eviction a minute, with so many pods, and no pod-writer yet. */
function ratedWorld(pods: number, method: "Delete" | "Evict" = "Delete") {
  const world = new EvictionWorld();
  const policies = new HandPolicies({ evictions: { method, maxPerMinute: 1 } });
  world.addZone("a", 3);
  for (let index = 0; index < pods; index++) world.addTolerantPod(`a-${index % 3}`, `pod-${index}`);
  world.start(OTHERS, { member: "rest", policies });
  /** A pod-writer whose shards are set by hand. Shard 0 decides about the rates. */
  const writer = (member: string) => {
    const fleet = new HandFleet(member);
    world.start({ "pod-writer": podWriterService }, { member, fleet, policies });
    return {
      ownRates: () => fleet.set("pod-writer", 0, true),
      own: (isOwned: boolean) => {
        for (let shard = 1; shard < SHARD_COUNT; shard++) fleet.set("pod-writer", shard, isOwned);
      },
    };
  };
  return { world, writer };
}

test.each([
  [0, 600],
  [50, 600],
  [150, 600],
  [50, 3],
])("two writers of one shard exceed no rate, at %i ms latency and for %i s", (answerMs, bothS) => {
  const { world, writer } = ratedWorld(6);
  const [rates, before, after] = [writer("rates"), writer("before"), writer("after")];
  rates.ownRates();
  before.own(true);
  after.own(true);
  world.advance(100 * S);
  world.api.faults.add({ fault: { kind: "latency", answerMs }, when: isPodWrite });
  for (const node of ["a-0", "a-1", "a-2"]) world.taint(node, [MAINTENANCE]);
  world.advance(bothS * S);
  before.own(false);
  world.advance(600 * S);
  expect(world.deleted).toHaveLength(6);
  expect(mostInAMinute(world.deleted)).toBe(1);
});

test.each([1000, 4000, 5500, 6500, 8000])(
  "a shard regained during a read of %i ms leaves no pod behind",
  (answerMs) => {
    const { world, writer } = ratedWorld(1, "Evict");
    const { ownRates, own } = writer("writer");
    ownRates();
    own(true);
    // The owner of the rates permits nobody yet.
    world.advance(10 * S);
    const isPodRead = ({ verb, name }: Call): boolean => verb === "get" && name === "pod-0";
    const isEviction = ({ subresource }: Call): boolean => subresource === "eviction";
    world.api.faults.add({ fault: { kind: "latency", answerMs }, when: isPodRead, times: 1 });
    world.api.faults.add({ fault: { kind: "status", code: 500 }, when: isEviction, times: 1 });
    world.taint("a-0", [MAINTENANCE]);
    world.advance(100);
    own(false);
    own(true);
    world.advance(600 * S);
    expect(world.deleted).toHaveLength(1);
  },
);

test.each([0, 100, 1000])("of two writers %i ms after a takeover one is refused", (ownedMs) => {
  const { world, writer } = ratedWorld(2, "Evict");
  const [rates, before, after] = [writer("rates"), writer("before"), writer("after")];
  rates.ownRates();
  before.own(true);
  world.advance(100 * S);
  after.own(true);
  world.advance(ownedMs);
  let evictions = 0;
  const isSlow = ({ subresource }: Call): boolean => subresource === "eviction" && ++evictions === 2;
  const isRefused = ({ subresource }: Call): boolean => subresource === "eviction" && evictions === 1;
  world.api.faults.add({ fault: { kind: "latency", requestMs: 300 }, when: isSlow });
  world.api.faults.add({ fault: { kind: "status", code: 429 }, when: isRefused });
  for (const node of ["a-0", "a-1"]) world.taint(node, [MAINTENANCE]);
  world.advance(250);
  before.own(false);
  world.advance(600 * S);
  expect(world.deleted).toHaveLength(2);
  expect(mostInAMinute(world.deleted)).toBe(1);
});
