/**
 * Requests about some objects are accepted and never answered, such as deletions that wait for an admission webhook
 * whose pods were lost with the node. Nothing else waits for them: kube-controller-manager evicts each pod in a
 * separate goroutine.
 */
import { expect, test } from "vitest";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;

/** Lets the requests about 300 pods of a-0 hang, then fails a-1: how late its twenty pods are gone, in seconds. */
function latenessS(isHooked: (call: Call) => boolean): number {
  const world = new EvictionWorld();
  world.addZone("a", 8);
  for (let number = 0; number < 300; number++) world.addTolerantPod("a-0", `hooked-${number}`);
  for (let number = 0; number < 20; number++) world.addTolerantPod("a-1", `free-${number}`);
  world.run();
  world.advance(60 * S);
  world.api.faults.add({ fault: { kind: "stall" }, when: isHooked });
  world.silence(["a-0"]);
  world.advance(420 * S);
  world.silence(["a-1"]);
  world.advance(430 * S);
  const dueMs = (world.taintedAt("a-1") ?? 0) + 300 * S;
  const late = Array.from({ length: 20 }, (_, number) => world.deletedAt(`free-${number}`) ?? Number.POSITIVE_INFINITY);
  return Math.max(...late.map((atMs) => (atMs - dueMs) / S));
}

test("evictions wait for no deletions that are never answered", () => {
  const isHooked = ({ verb, resource, name }: Call): boolean =>
    verb === "delete" && resource.plural === "pods" && name.startsWith("hooked");
  expect(latenessS(isHooked)).toBeLessThan(5);
});

test("evictions wait for no marks that are never answered", () => {
  const isHooked = ({ verb, resource, name }: Call): boolean =>
    verb === "patch" && resource.plural === "pods" && name.startsWith("hooked");
  expect(latenessS(isHooked)).toBeLessThan(5);
});

test("evictions wait for no reads of another node that are never answered", () => {
  const isHooked = ({ verb, resource, name }: Call): boolean =>
    verb === "get" && (resource.plural === "nodes" || resource.plural === "leases") && name === "a-0";
  expect(latenessS(isHooked)).toBeLessThan(5);
});

test("evictions wait for no reads of pods that are never answered", () => {
  const isHooked = ({ verb, resource, name }: Call): boolean =>
    resource.plural === "pods" && name.startsWith("hooked") && verb !== "list" && verb !== "watch";
  expect(latenessS(isHooked)).toBeLessThan(5);
});

test("a pod of the same node waits for no deletions that are never answered", () => {
  const world = new EvictionWorld();
  world.addZone("a", 8);
  for (let number = 0; number < 300; number++) world.addTolerantPod("a-0", `hooked-${number}`);
  world.addTolerantPod("a-0", "free");
  world.run();
  world.advance(60 * S);
  const isHooked = ({ verb, resource, name }: Call): boolean =>
    verb === "delete" && resource.plural === "pods" && name.startsWith("hooked");
  world.api.faults.add({ fault: { kind: "stall" }, when: isHooked });
  world.silence(["a-0"]);
  world.advance(900 * S);
  const dueMs = (world.taintedAt("a-0") ?? 0) + 300 * S;
  expect(((world.deletedAt("free") ?? Number.POSITIVE_INFINITY) - dueMs) / S).toBeLessThan(60);
});

test("pods of a webhook that works again are evicted within 90 s", () => {
  const world = new EvictionWorld();
  world.addZone("a", 8);
  for (let number = 0; number < 300; number++) world.addTolerantPod("a-0", `hooked-${number}`);
  world.run();
  world.advance(60 * S);
  const isHooked = ({ verb, resource }: Call): boolean => verb === "delete" && resource.plural === "pods";
  const mend = world.api.faults.add({ fault: { kind: "stall" }, when: isHooked });
  world.silence(["a-0"]);
  world.advance(600 * S);
  expect(world.deleted).toEqual([]);
  mend();
  world.advance(90 * S);
  expect(world.deleted).toHaveLength(300);
});

test("the verdict about a node waits for no patches of others that are never answered", () => {
  const world = new EvictionWorld();
  world.addZone("a", 30);
  world.run();
  world.advance(60 * S);
  const isHooked = ({ verb, resource, name }: Call): boolean =>
    verb === "patch" && resource.plural === "nodes" && /^a-[0-7]$/.test(name);
  world.api.faults.add({ fault: { kind: "stall" }, when: isHooked });
  world.silence([0, 1, 2, 3, 4, 5, 6, 7].map((number) => `a-${number}`));
  world.advance(200 * S);
  const at = world.clock.monotonicMs();
  world.silence(["a-20"]);
  world.advance(300 * S);
  const written = world.received.find(
    ({ type, body }) =>
      type === "done.write" && "ask" in body && body.ask === "asked.condition" && body.node === "a-20",
  );
  expect(((written?.atMs ?? Number.POSITIVE_INFINITY) - at) / S).toBeLessThan(53);
});
