/** Scenarios on virtual time: a Ready condition with a status that Kubernetes does not define counts as missing. */
import { expect, test } from "vitest";
import type { ConditionStatus } from "../../../protocols/objects.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { EVICTING, EvictionWorld } from "../../support/eviction-world.ts";
import { metricValue } from "../../support/metric-value.ts";

const MAYBE = "Maybe" as ConditionStatus;
const LATER_THAN_ANY_DEADLINE_MS = 900_000;

/** Two nodes with a pod each, under Vigil; the Ready status of one is an unknown word. */
function withOddNode(profile: Partial<Profile> = {}) {
  const world = new EvictionWorld(profile);
  for (const name of ["odd", "even"]) {
    world.register(name);
    world.addTolerantPod(name, `on-${name}`);
  }
  const process = world.start(EVICTING);
  world.advance(1000);
  world.kubelet("odd").report("Ready", MAYBE);
  return { world, process };
}

test.each(["taint", "direct"] as const)("its node keeps its pods and gets no taint (%s)", (evictionMode) => {
  const { world } = withOddNode({ evictionMode });
  world.advance(LATER_THAN_ANY_DEADLINE_MS);
  expect(world.conditions("odd")).toContain("Ready=Maybe");
  expect(world.taints("odd")).toEqual([]);
  expect(world.podReady("on-odd")).toBe("True");
  expect(world.deleted).toEqual([]);
});

test("it is no verdict: a node that falls silent is found after the startup grace", () => {
  const { world } = withOddNode();
  world.advance(10_000);
  world.silence(["odd"]);
  world.advance(world.profile.nodeStartupGraceMs - 1000);
  expect(world.conditions("odd")).toContain("Ready=Maybe");
  world.advance(2000);
  expect(world.conditions("odd")).toContain("Ready=Unknown");
});

test("one log line names node, field and value, and each one is counted", async () => {
  const { world, process } = withOddNode();
  world.advance(5000);
  world.kubelet("odd").post();
  world.advance(10_000);
  expect(process.log.lines.filter(({ level }) => level === "warn")).toEqual([
    {
      level: "warn",
      message:
        'node odd: status.conditions: Ready is "Maybe", which is none of True, False, Unknown: counts as not posted',
      fields: {},
    },
  ]);
  const labels = { resource: "nodes", field: "status.conditions.status" };
  expect(await metricValue(process.metrics, "vigil_kube_unreadable_total", labels)).toBe(2);
});
