/**
 * The eviction rate as a property on virtual time: no window exceeds it, across crashes, takeovers and double owners
 * (P5, P6). Example: at 0.1 nodes a second and a burst of 1, no window of 60 s has more than 7 taints.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { EVICTING, EvictionWorld, type Seen } from "../support/eviction-world.ts";

const S = 1000;
const RATE = Math.fround(0.1);

/** Fails when more nodes were tainted in some window than the burst and the rate allow. */
function expectRate(tainted: readonly Seen[], burst: number): void {
  const at = tainted.map(({ atMs }) => atMs);
  for (const [first, fromMs] of at.entries()) {
    for (const [last, untilMs] of at.entries()) {
      if (last < first) continue;
      expect(last - first + 1).toBeLessThanOrEqual(burst + (RATE * (untilMs - fromMs)) / S + 1e-6);
    }
  }
}

/** A zone of 30 nodes, 12 of which fall silent at 30 s, beside a healthy zone. */
function illZone(): EvictionWorld {
  const world = new EvictionWorld();
  const nodes = world.addZone("a", 30);
  world.addZone("b", 2);
  world.run();
  world.advance(30 * S);
  world.silence(nodes.slice(0, 12));
  return world;
}

test("across crashes every window has at most 1 + rate × window taints (P5)", () => {
  const crash = fc.record({
    afterMs: fc.integer({ min: 0, max: 25 * S }),
    downMs: fc.integer({ min: 0, max: 15 * S }),
  });
  fc.assert(
    fc.property(fc.array(crash, { minLength: 1, maxLength: 6 }), (crashes) => {
      const world = illZone();
      world.advance(50 * S);
      for (const { afterMs, downMs } of crashes) {
        world.advance(afterMs);
        world.crash(downMs);
      }
      // A start gives every node that is not Unknown yet its full grace again. Twelve grants follow.
      world.advance(50 * S + 12 * 10 * S + 10 * S);
      expectRate(world.tainted, 1);
      expect(world.tainted).toHaveLength(12);
    }),
    { numRuns: 12 },
  );
});

test("two owners of one zone keep its rate together, but for one grant when they meet", () => {
  const world = illZone();
  world.advance(65 * S);
  const second = world.start(EVICTING, { member: "second" });
  world.advance(70 * S);
  second.kill();
  world.advance(60 * S);
  expectRate(world.tainted, 2);
  expect(world.tainted).toHaveLength(12);
});

test("a grant that the API refuses is granted again, and refused grants never pile up", () => {
  const world = illZone();
  const isGrant = ({ verb, body }: { verb: string; body: string | null }): boolean =>
    verb === "patch" && body?.includes('"NoExecute"') === true;
  const mend = world.api.faults.add({ fault: { kind: "status", code: 429, retryAfterSeconds: 1 }, when: isGrant });
  world.advance(140 * S);
  expect(world.tainted).toEqual([]);
  mend();
  world.advance(400 * S);
  expectRate(world.tainted, 1);
  expect(world.tainted).toHaveLength(12);
});
