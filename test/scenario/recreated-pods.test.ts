/** Pods that their controller creates again on the tainted node as soon as they are deleted. */
import { describe, expect, test } from "vitest";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
const HELLO = { key: "hello", effect: "NoExecute" };
const FOR_10_S = { ...HELLO, operator: "Exists", tolerationSeconds: 10 };

/** Keeps one pod of an owner on a-0, as a DaemonSet does; returns when each was deleted, in seconds. */
function deletionsS(tolerations: readonly object[], forS: number): number[] {
  const world = new EvictionWorld();
  world.addZone("a", 3);
  const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "agent", uid: "uid-agent", controller: true };
  let made = 0;
  const create = (): void => {
    world.addPod("a-0", `agent-${made++}`, { spec: { tolerations }, metadata: { ownerReferences: [owner] } });
  };
  create();
  world.run();
  world.advance(30 * S);
  world.taint("a-0", [HELLO]);
  const startMs = world.clock.monotonicMs();
  for (let passed = 0; passed < forS * 10; passed++) {
    world.advance(100);
    const isGone = world.deletedAt(`agent-${made - 1}`) !== undefined;
    if (isGone) {
      world.removePod(`agent-${made - 1}`);
      create();
    }
  }
  return world.deleted.map(({ atMs }) => (atMs - startMs) / S);
}

describe("recreated pods of one owner", () => {
  test("are deleted with growing pauses up to a minute", () => {
    const at = deletionsS([], 300);
    const pausesS = at.slice(1).map((atS, index) => Math.round(atS - (at[index] ?? 0)));
    expect(pausesS.slice(0, 7)).toEqual([0, 1, 2, 4, 8, 16, 32]);
    expect(at.length).toBeLessThan(14);
  });

  test("have a countdown each, if that is longer", () => {
    const at = deletionsS([FOR_10_S], 45);
    const pausesS = at.slice(1).map((atS, index) => Math.round(atS - (at[index] ?? 0)));
    expect(pausesS.slice(0, 3)).toEqual([10, 10, 10]);
  });
});

test("thirty pods of one owner on a lost node go at once", () => {
  const world = new EvictionWorld();
  world.addZone("a", 3);
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "uid-web", controller: true };
  for (let number = 0; number < 30; number++) {
    world.addPod("a-0", `web-${number}`, { metadata: { ownerReferences: [owner] } });
  }
  world.run();
  world.advance(30 * S);
  world.taint("a-0", [HELLO]);
  world.advance(S);
  expect(world.deleted).toHaveLength(30);
});
