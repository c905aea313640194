/** Static pods on a node with a NoExecute taint: the API shows mirrors, which the kubelet creates again at once. */
import { expect, test } from "vitest";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };
const MIRROR = { annotations: { "kubernetes.io/config.mirror": "5b1d" } };

function staticWorld(): { readonly world: EvictionWorld; readonly deletes: string[] } {
  const world = new EvictionWorld();
  world.addZone("a", 3);
  world.addPod("a-0", "static", { metadata: MIRROR });
  world.addPod("a-0", "other", {});
  world.run();
  world.advance(10 * S);
  const deletes: string[] = [];
  const note = ({ verb, name }: Call): boolean => {
    if (verb === "delete") deletes.push(name);
    return false;
  };
  world.api.faults.add({ fault: { kind: "stall" }, when: note });
  return { world, deletes };
}

test("the mirror of a static pod is never deleted, and one message says so", () => {
  const { world, deletes } = staticWorld();
  world.taint("a-0", [MAINTENANCE]);
  world.advance(300 * S);
  expect(deletes).toEqual(["other"]);
  const kept = world.published("judged.pod").filter(({ body }) => body.kept === "mirror");
  expect(kept.map(({ body }) => [body.name, body.eviction, body.taint])).toEqual([["static", "none", MAINTENANCE]]);
});

test("a watched and a restarted Vigil know the mirror", () => {
  const { world, deletes } = staticWorld();
  world.addPod("a-0", "later", { metadata: MIRROR });
  world.taint("a-0", [MAINTENANCE]);
  world.crash(5 * S);
  world.advance(60 * S);
  expect(deletes).toEqual(["other"]);
});
