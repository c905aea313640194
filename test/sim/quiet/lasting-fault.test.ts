/** What a fault that lasts makes impossible. */
import { expect, test } from "vitest";
import { drawSwarm } from "../swarm.ts";
import { World } from "../world.ts";
import { isPartOfSwap } from "./lasting-fault.ts";

const NOT_READY = "node.kubernetes.io/not-ready";
const UNREACHABLE = "node.kubernetes.io/unreachable";

/** Whether the NoSchedule taints of a node with this status and this NoExecute taint change with that. */
function isSwapped(status: string, key: string | null, evictionMode: "taint" | "direct" = "taint"): boolean {
  const drawn = drawSwarm(1, { quiet: true });
  const world = new World({ ...drawn, zones: [], profile: { ...drawn.profile, evictionMode } });
  const { name } = world.join({ name: "zone-1", labels: "none", nodes: 0 }, 1, 0);
  const taints = [{ key: NOT_READY, effect: "NoSchedule" }, ...(key === null ? [] : [{ key, effect: "NoExecute" }])];
  world.edit("nodes", name, (node) => ({ ...node, spec: { taints } }));
  world.editStatus(name, () => [{ type: "Ready", status }]);
  return isPartOfSwap({ kind: "noSchedule", node: name, pod: null, text: "" }, world);
}

test("a NoSchedule taint waits with the NoExecute taint that is replaced", () => {
  expect(isSwapped("Unknown", NOT_READY)).toBe(true);
  expect(isSwapped("False", UNREACHABLE)).toBe(true);
});

test("it does not wait where no NoExecute taint is replaced", () => {
  expect(isSwapped("Unknown", null)).toBe(false);
  expect(isSwapped("Unknown", UNREACHABLE)).toBe(false);
  expect(isSwapped("True", NOT_READY)).toBe(false);
  expect(isSwapped("Unknown", NOT_READY, "direct")).toBe(false);
});
