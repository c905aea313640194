/** Explain says that an eviction waits for an API server whose clock is behind the clock that people read. */
import { expect, test } from "vitest";
import { EVICTING } from "../../support/eviction-world.ts";
import { ExplainedWorld } from "../../support/explained-world.ts";

const S = 1000;
const MINUTE = 60 * S;

/** A pod that has to go in 5 min less 10 s, on a machine whose clock is ahead of the API server's. */
function waiting(aheadMs: number): ExplainedWorld {
  const world = new ExplainedWorld([], {}, aheadMs);
  world.addZone("a", 3);
  world.addTolerantPod("a-0", "p", [
    { key: "maintenance", operator: "Exists", tolerationSeconds: 300, effect: "NoExecute" },
  ]);
  world.start(EVICTING, { member: "vigil" });
  world.advance(10 * S);
  world.taint("a-0", [{ key: "maintenance", effect: "NoExecute" }]);
  world.advance(10 * S);
  return world;
}

test("a clock that is ten minutes behind is named where an eviction waits", () => {
  const [due = "", clocks] = waiting(10 * MINUTE).sentencesOfPod("p");
  const at = Date.parse(/deleted at (\S+),/.exec(due)?.[1] ?? "");
  const found =
    /^The API server's clock counts, and is 10 min behind this machine's, by which its deadline is at (\S+):/;
  const shownAt = Date.parse(found.exec(clocks ?? "")?.[1] ?? "");
  expect(Math.abs(shownAt - at - 10 * MINUTE)).toBeLessThanOrEqual(2 * S);
});

test.each([5 * S, -10 * MINUTE])("a difference of %i ms keeps no eviction waiting", (aheadMs) => {
  expect(waiting(aheadMs).sentencesOfPod("p").join(" ")).not.toContain("clock");
});
