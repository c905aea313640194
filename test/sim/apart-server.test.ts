/** What an API server with a clock that differs creates, and from when a pod counts that it stamped. */
import { expect, test } from "vitest";
import type { CheckedPod } from "./invariants.ts";
import { BrokenInvariant } from "./invariants.ts";
import { drawSwarm } from "./swarm.ts";
import { World } from "./world.ts";

const S = 1000;

/** A world whose pods all come through a server that is so many seconds ahead, and one of them. */
function podStampedAhead(seconds: number) {
  const world = new World({ ...drawSwarm(1), zones: [], faults: new Set() });
  world.apart.begin(seconds * S, () => 0);
  world.addPod("n", "p");
  const [pod] = world.objects<CheckedPod>("pods");
  if (pod === undefined) throw new Error("no pod");
  const stampOf = ({ metadata }: CheckedPod): number => Date.parse(metadata.creationTimestamp);
  return { world, pod, stampOf, cameAt: world.clock.wallMs() };
}

test.each([60, -60])("creation and binding of a pod are stamped %i s ahead", (seconds) => {
  const { world, pod, stampOf, cameAt } = podStampedAhead(seconds);
  const scheduled = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
  expect(stampOf(pod)).toBe(cameAt + seconds * S);
  expect(Date.parse(scheduled?.lastTransitionTime ?? "")).toBe(stampOf(pod));
  expect(world.apart.ways(pod).map(stampOf)).toEqual([stampOf(pod), cameAt]);
});

test.each([
  ["a pod whose stamp is behind may go by its stamp", -60, -60, true],
  ["but not before", -60, -61, false],
  ["a pod whose stamp is ahead may go by when it came", 60, 0, true],
  ["and not before", 60, -1, false],
])("%s", (_what, aheadS, fromS, isRight) => {
  const { world, pod, stampOf, cameAt } = podStampedAhead(aheadS);
  const check = (): void =>
    world.apart.check(pod, (way) => {
      if (stampOf(way) > cameAt + fromS * S) throw new BrokenInvariant("early");
    });
  if (isRight) expect(check).not.toThrow();
  else expect(check).toThrow("early");
});
