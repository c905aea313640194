/**
 * An attacker records what the services request while a node dies and returns, and publishes all of it again with the
 * seeds of those services. Every request names the state that it was made for, so nothing is done a second time.
 */
import { expect, test } from "vitest";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
/** Each request, and a service that may publish it. */
const SENDERS = {
  "asked.condition": "node",
  "asked.taint": "zone",
  "asked.label": "node",
  "asked.eviction": "taint-manager",
  "asked.unready": "node",
  "asked.drain": "zone",
} as const;
const REQUESTS = Object.keys(SENDERS) as (keyof typeof SENDERS)[];

test.each(["taint", "direct"] as const)("old requests do nothing a second time in mode %s", (evictionMode) => {
  const world = new EvictionWorld({ nodeEvictionsPerSecond: 1, evictionMode, podEvictionTimeoutMs: 60 * S });
  const names = [...world.addZone("a", 5), ...world.addZone("b", 3)];
  for (const name of names) world.addTolerantPod(name, `pod-${name}`, []);
  world.run();
  world.advance(20 * S);
  world.silence(["a-0"]);
  world.advance(480 * S);
  expect(world.deleted.map(({ name }) => name)).toEqual(["pod-a-0"]);
  const old = REQUESTS.flatMap((type) => world.published(type).map(({ body }) => ({ type, body })));
  world.removePod("pod-a-0");
  world.revive(["a-0"]);
  world.addTolerantPod("a-0", "pod-a-0", []);
  world.advance(60 * S);
  const before = names.map((name) => [world.taints(name), world.conditions(name), world.records(name)]);
  const [tainted, deleted] = [world.tainted.length, world.deleted.length];
  for (const { type, body } of old) world.busOf(SENDERS[type], "attacker").publish(type, body, null);
  world.advance(60 * S);
  expect(old.length).toBeGreaterThan(4);
  expect([world.tainted.length, world.deleted.length]).toEqual([tainted, deleted]);
  expect(names.map((name) => [world.taints(name), world.conditions(name), world.records(name)])).toEqual(before);
});
