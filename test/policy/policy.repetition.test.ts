/** How often the policies are published again, and that a process which joins gets them all. */
import { expect, test } from "vitest";
import { policyService } from "../../services/policy/policy.service.ts";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
const MINUTE = 60 * S;

function run(count: number) {
  const world = new EvictionWorld({});
  const policies = Array.from({ length: count }, (_, index) => ({ name: `p${index}`, spec: { selector: {} } }));
  world.start({ policy: policyService(policies) }, { member: "vigil" });
  const during = (ms: number): string[] => {
    const before = world.published("judged.policy").length;
    world.advance(ms);
    return world
      .published("judged.policy")
      .slice(before)
      .map(({ body }) => body.policy);
  };
  return { world, during };
}

test("new policies are published each time for a while, then a few in turn", () => {
  const { during } = run(20);
  expect(during(2 * S)).toHaveLength(20);
  expect(during(10 * S)).toHaveLength(40);
  during(MINUTE);
  const again = during(50 * S);
  expect(again).toHaveLength(20);
  expect(new Set(again).size).toBe(20);
});

test("up to two are published each time", () => {
  const { during } = run(2);
  during(MINUTE);
  expect(during(10 * S)).toHaveLength(4);
});

test("a process that joins makes all be published", () => {
  const { world, during } = run(20);
  during(MINUTE);
  world
    .busOf("zone", "new")
    .publish("pulse.member", { member: "new", services: ["zone"], since: 1, leaving: false }, null);
  expect(new Set(during(1 * S)).size).toBe(20);
});
