/** What many zones cost the zone service. */
import { expect, test } from "vitest";
import type { Clock, Service } from "../../protocols/ports.ts";
import { zoneService } from "../../services/zone/zone.service.ts";
import { EVICTING, EvictionWorld } from "../support/eviction-world.ts";

const ZONES = 40;

/** The zone service on a clock that counts the timers it sets. */
function counted(): { readonly service: Service; readonly timers: () => number } {
  let timers = 0;
  const counting = (clock: Clock): Clock => ({
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => clock.wallMs(),
    soon: (run) => clock.soon(run),
    after: (delayMs, fire) => {
      timers += 1;
      return clock.after(delayMs, fire);
    },
  });
  return { service: (io) => zoneService({ ...io, clock: counting(io.clock) }), timers: () => timers };
}

/** Forty zones of eight nodes. In each zone one node was just tainted and another waits for a grant. */
function waitingWorld() {
  const world = new EvictionWorld();
  const zones = Array.from({ length: ZONES }, (_, index) => world.addZone(`zone-${index}`, 8));
  const { service, timers } = counted();
  world.start({ ...EVICTING, zone: service });
  world.advance(20_000);
  for (const [first = "", second = ""] of zones) {
    for (const name of [first, second]) world.kubelet(name).report("Ready", "False");
  }
  world.advance(1_000);
  return { world, zones, timers };
}

test("a change of a node sets no timer of other zones", () => {
  const { world, zones, timers } = waitingWorld();
  expect(world.tainted).toHaveLength(ZONES);
  const before = timers();
  for (const name of zones[0]?.slice(2, 4) ?? []) world.kubelet(name).report("Ready", "False");
  world.advance(500);
  expect(timers() - before).toBeGreaterThan(0);
  expect(timers() - before).toBeLessThan(ZONES);
});

test("a change of a node reaches every zone when it ends a halt", () => {
  const { world, zones } = waitingWorld();
  for (const nodes of zones) for (const name of nodes) world.kubelet(name).report("Ready", "False");
  world.advance(10_000);
  const halted = () => new Set(world.published("judged.zone").flatMap(({ body }) => (body.halted ? [body.zone] : [])));
  expect(halted().size).toBe(ZONES);
  const before = world.received.length;
  world.kubelet(zones[0]?.[0] ?? "").report("Ready", "True");
  world.advance(100);
  const ended = world.received
    .slice(before)
    .flatMap(({ body }) => ("halted" in body && !body.halted ? [body.zone] : []));
  expect(new Set(ended).size).toBe(ZONES);
});

test("a refused removal of a taint in a halt is requested again", () => {
  const world = new EvictionWorld();
  const [first = "", ...others] = world.addZone("a", 3);
  world.run();
  world.advance(20_000);
  world.silence([first]);
  world.advance(60_000);
  expect(world.taintedAt(first)).toBeGreaterThan(0);
  world.api.faults.add({
    fault: { kind: "status", code: 403 },
    when: ({ verb, resource, name }) => verb === "patch" && resource.plural === "nodes" && name === first,
    times: 1,
  });
  world.silence(others);
  world.advance(120_000);
  expect(world.published("done.write").some(({ body }) => body.outcome === "denied" && body.node === first)).toBe(true);
  expect(world.healed.map(({ name }) => name)).toEqual([first]);
});
