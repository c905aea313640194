/** Pods that were marked for eviction and stay: their condition DisruptionTarget is taken back. */
import { expect, test } from "vitest";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
const HELLO = { key: "hello", effect: "NoExecute" };
const FOR_10_S = { key: "hello", operator: "Exists", effect: "NoExecute", tolerationSeconds: 10 };
const POD = { kind: "Pod", namespace: "default", name: "pod" } as const;

/** A pod that tolerates its taint for ten seconds, and a webhook that denies its deletion. */
function deniedWorld(): EvictionWorld {
  const world = new EvictionWorld();
  world.addZone("a", 3);
  world.addTolerantPod("a-0", "pod", [FOR_10_S]);
  world.run();
  world.advance(30 * S);
  const isDeletion = ({ verb, name }: Call): boolean => verb === "delete" && name === "pod";
  world.api.faults.add({ fault: { kind: "status", code: 403 }, when: isDeletion });
  world.taint("a-0", [HELLO]);
  world.advance(70 * S);
  return world;
}

function mark(world: EvictionWorld): unknown {
  const { status } = world.read(POD) as { status?: { conditions?: { type: string; status: string }[] } };
  return status?.conditions?.find(({ type }) => type === "DisruptionTarget")?.status;
}

test("the condition is False within two minutes after the taint is gone", () => {
  const world = deniedWorld();
  expect(mark(world)).toBe("True");
  world.taint("a-0", []);
  world.advance(120 * S);
  expect(mark(world)).toBe("False");
  expect(world.deleted).toEqual([]);
});

test("the condition is taken back after a restart of Vigil too", () => {
  const world = deniedWorld();
  world.crash(5 * S);
  world.advance(30 * S);
  world.taint("a-0", []);
  world.advance(120 * S);
  expect(mark(world)).toBe("False");
});

test("the condition stays True while the taint is there", () => {
  const world = deniedWorld();
  world.advance(600 * S);
  expect(mark(world)).toBe("True");
});

test("the condition is taken back when the pod tolerates the taint for ever by now", () => {
  const world = deniedWorld();
  world.patch(POD, { spec: { tolerations: [{ key: "hello", operator: "Exists" }, FOR_10_S] } });
  world.advance(120 * S);
  expect(mark(world)).toBe("False");
});
