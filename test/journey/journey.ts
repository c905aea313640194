/**
 * One journey through the complete product, the same in every world: a node stops sending heartbeats, and then other
 * components fail.
 */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, test, vi } from "vitest";
import { ALL_WELL, JourneyFixture, PROFILE } from "./fixture.ts";
import type { JourneyApi, JourneyBus } from "./worlds.ts";

// Longer than everything that a test waits for one after the other.
vi.setConfig({ testTimeout: 180_000 });

/** The tests of the journey, in the given world. */
export function journey(
  makeApi: () => Promise<JourneyApi>,
  makeBus: () => Promise<JourneyBus>,
  { hasBusServer }: { readonly hasBusServer: boolean },
): void {
  let world: JourneyFixture;
  let endFirst: () => Promise<void>;

  beforeAll(async () => {
    world = new JourneyFixture(await makeApi(), await makeBus());
    await world.begin();
    endFirst = await world.start("one");
  });

  afterAll(async () => {
    await world.end();
  });

  test("healthy nodes lose the taint of their admission and are not changed again", async () => {
    await world.allWell();
    await world.expectSteadyWell();
  });

  test("a silent node gets four Unknown conditions and its taint, and heals on return", async () => {
    await world.falls();
  });

  test("NotReady, pressures and a cordon become taints and go again", async () => {
    world.actor.report("Ready", "False");
    await world.shows([...ALL_WELL.slice(0, 3), "Ready=False"], ["node.kubernetes.io/not-ready:NoSchedule"]);
    world.actor.report("Ready", "True");
    world.actor.report("MemoryPressure", "True");
    await world.patch({ spec: { unschedulable: true } });
    await world.shows(
      ["DiskPressure=False", "MemoryPressure=True", "PIDPressure=False", "Ready=True"],
      ["node.kubernetes.io/memory-pressure:NoSchedule", "node.kubernetes.io/unschedulable:NoSchedule"],
    );
    world.actor.report("MemoryPressure", "False");
    await world.patch({ spec: { unschedulable: null } });
    await world.shows(ALL_WELL, []);
  });

  test("an outage of the API server makes no node Unknown; silence is found after it", async () => {
    await world.api.kill();
    await pause(PROFILE.nodeMonitorGraceMs * 2);
    await world.api.start();
    await world.falls();
  });

  if (hasBusServer) {
    test("an outage of the bus: the same", async () => {
      await world.bus.restart(PROFILE.nodeMonitorGraceMs * 2);
      await world.falls();
    });
  }

  test("the observing process ends and another takes over: the same", async () => {
    const endSecond = await world.start("two");
    await endFirst();
    await world.falls();
    await endSecond();
  });
}
