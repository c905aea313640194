/**
 * A breaker counts every node that was admitted for eviction within its duration, even if a message has no room to name
 * them all.
 */
import { expect, test } from "vitest";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;

/** Of 520 nodes under a breaker of 180 an hour, 170 are tainted, and 100 others fall silent later. */
function world({ areHealed, downMs }: { readonly areHealed: boolean; readonly downMs: number }): EvictionWorld {
  const spec = { selector: {}, circuitBreaker: { maxNodes: 180, duration: "1h" } };
  const world = new EvictionWorld({ nodeEvictionsPerSecond: 10 }, [{ name: "gpu", spec }]);
  const names = world.addZone("a", 520);
  world.run();
  world.advance(150 * S);
  const first = names.slice(0, 170);
  world.silence(first);
  world.advance(120 * S);
  expect(world.tainted).toHaveLength(170);
  if (areHealed) {
    world.revive(first);
    world.advance(60 * S);
  }
  if (downMs > 0) world.crash(downMs);
  world.advance(200 * S);
  world.silence(names.slice(200, 300));
  world.advance(200 * S);
  return world;
}

test.each([0, 1])("a breaker of 180 an hour counts 170 healed nodes; restart of %i s", (downS) => {
  expect(world({ areHealed: true, downMs: downS * S }).tainted).toHaveLength(180);
});

test("it counts 170 that are still tainted once, by their names at the API server", () => {
  expect(world({ areHealed: false, downMs: S }).tainted).toHaveLength(180);
});
