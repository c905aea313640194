/** Scenarios on virtual time: Vigil's process stands still, and what came meanwhile lies unread when it goes on. */
import { expect, test } from "vitest";
import { EVICTING, EvictionWorld, UNREACHABLE } from "../support/eviction-world.ts";
import { Standstill } from "../support/standstill.ts";

const S = 1000;

test.each([60, 120])(
  "a process that stood still for %i s judges no live node silent and frees no dead one",
  (seconds) => {
    const world = new EvictionWorld({ pulsePeriodMs: 1000, pulseTimeoutMs: 4000 });
    world.addZone("a", 3);
    world.addZone("b", 3);
    const standstill = new Standstill(world.clock);
    world.start(EVICTING, { standstill });
    world.advance(10 * S);
    world.silence(["a-0"]);
    world.advance(70 * S);
    expect(world.taints("a-0")).toContain(`${UNREACHABLE}:NoExecute`);
    const before = world.heard.length;
    standstill.begin();
    world.advance(seconds * S);
    standstill.end();
    world.advance(300 * S);
    const silent = world.heard.slice(before).flatMap((message) => {
      const isUnknown = message.type === "judged.node" && (message.body as { ready: string }).ready === "Unknown";
      return isUnknown ? [(message.body as { node: string }).node] : [];
    });
    expect(silent.filter((node) => node !== "a-0")).toEqual([]);
    expect(world.healed).toEqual([]);
  },
);
