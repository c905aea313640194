/** What a check knows of a kubelet's heartbeats, including posts that no watch could show. */
import { expect, test } from "vitest";
import { HeartbeatHistory } from "./heartbeat-history.ts";
import { drawSwarm } from "./swarm.ts";
import { World } from "./world.ts";

test("the last heartbeat of any kind counts; without any, silence has no beginning", () => {
  const signs = new HeartbeatHistory(10);
  signs.note("a", "lease", 100);
  signs.note("a", "status", 150);
  expect([99, 100, 149, 150].map((byMs) => signs.lastBy("a", byMs))).toEqual([Number.NEGATIVE_INFINITY, 100, 100, 150]);
  signs.forget("a");
  expect(signs.lastBy("a", 150)).toBe(Number.NEGATIVE_INFINITY);
});

test("a post without Ready hides posts that a watch may have missed, but no lease", () => {
  const signs = new HeartbeatHistory(10);
  signs.note("a", "status", 100);
  signs.note("a", "lease", 105);
  signs.note("a", "status", 110);
  signs.erase("a", 111);
  expect(signs.lastBy("a", 200)).toBe(105);
  signs.note("b", "status", 100);
  signs.erase("b", 111);
  expect(signs.lastBy("b", 200)).toBe(100);
});

test("a second status within a second has the stamp of the first", () => {
  const signs = new HeartbeatHistory(10);
  for (const atMs of [1_480, 1_762, 2_001]) signs.note("a", "status", atMs);
  expect([1_900, 2_500].map((byMs) => signs.lastBy("a", byMs))).toEqual([1_480, 2_001]);
});

test("it is the second of the kubelet's clock, however far that is off", () => {
  const signs = new HeartbeatHistory(10);
  signs.note("a", "status", 1_900, 70_100);
  signs.note("a", "status", 2_100, 70_300);
  signs.note("a", "status", 2_900, 71_100);
  expect([2_500, 2_950].map((byMs) => signs.lastBy("a", byMs))).toEqual([1_900, 2_900]);
});

test("a restored backup gives the heartbeats of a deleted node back", () => {
  const world = new World(drawSwarm(1));
  world.clock.advance(20_000);
  const [name = ""] = world.kubelets.keys();
  const lastMs = (): number => world.signs.lastBy(name, world.clock.wallMs());
  const [backup, backedUpMs] = [world.backup(), lastMs()];
  world.clock.advance(20_000);
  world.leave(name);
  expect(lastMs()).toBe(Number.NEGATIVE_INFINITY);
  world.restore(backup, "cut");
  expect(lastMs()).toBe(backedUpMs);
});
