/** One process more than --fleet-members-max, as in a rollout with a surge: the fleet continues as without it. */
import { expect, test } from "vitest";
import { SHARD_COUNT } from "../../protocols/subjects.ts";
import { VirtualFleet } from "../support/virtual-fleet.ts";

test.each(["c", "vigil-11", "vigil-14"])("beside two members of at most two, %s owns nothing", (third) => {
  const fleet = new VirtualFleet({ profile: { fleetMembersMax: 2 } });
  const kubelet = fleet.addNode({ name: "n1" });
  fleet.addNode({ name: "n2" });
  fleet.join("a");
  fleet.join("b");
  fleet.advance(20_000);
  fleet.join(third);
  fleet.advance(20_000);
  const owners = Array.from({ length: SHARD_COUNT }, (_, shard) => fleet.ownersOf("node", shard).length);
  const observers = fleet.ownersOf("observer", 0);
  const found: number[] = [];
  kubelet.stop();
  const stoppedMs = fleet.clock.monotonicMs();
  for (let passed = 0; passed < 180_000; passed += 1000) {
    fleet.advance(1000);
    const ready = fleet.node("n1").status.conditions?.find(({ type }) => type === "Ready");
    if (ready?.status === "Unknown") found.push(fleet.clock.monotonicMs() - stoppedMs);
  }
  expect([observers.length, Math.max(...owners)]).toEqual([1, 1]);
  expect(found[0]).toBeLessThan(60_000);
});
