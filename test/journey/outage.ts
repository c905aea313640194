/** An outage of a fleet, and what it must come to: nothing false while it lasts, and everything in time after it. */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import { until } from "../support/until.ts";
import type { FleetWorld } from "./fleet-world.ts";

/** How soon after an outage everything is whole again. */
const RECOVERY_MS = 10_000;
/** Long enough for the others to take over what a process minded. */
const OUTAGE_MS = 8_000;

/** What goes wrong for a while. */
export interface Outage {
  begin(): Promise<unknown>;
  end(): Promise<unknown>;
  /** What members say of it, by their names. */
  readonly told: Readonly<Record<string, string>>;
}

/**
 * Lets a node of each shard fall as the outage begins and as it ends; each is found so once, not before its grace is
 * over, and all of them soon after the end. How late those came that fell as it began is given back, in milliseconds.
 */
export async function expectRecovery(world: FleetWorld, graceMs: number, outage: Outage): Promise<number> {
  const heard = new Map([...world.members].map(([name, vigil]) => [name, vigil.logged.length]));
  await outage.begin();
  const within = world.fallInEachShard("one");
  await pause(OUTAGE_MS);
  for (const [name, message] of Object.entries(outage.told)) {
    const lines = () => world.members.get(name)?.logged.slice(heard.get(name)) ?? [];
    await until(`${name} says ${message}`, () => lines().some((line) => line.message.includes(message)));
  }
  await outage.end();
  const after = world.fallInEachShard("two");
  const endedAt = Date.now();
  const fallen = [...within, ...after];
  await world.condemned(fallen, RECOVERY_MS + graceMs);
  const instants = fallen.map((node) => world.record.unknownAt.get(node) ?? []);
  expect(Math.min(...world.record.latenessMs(fallen, graceMs))).toBeGreaterThanOrEqual(0);
  expect(instants.every(({ length }) => length === 1)).toBe(true);
  expect(Math.max(...instants.flat())).toBeLessThan(endedAt + RECOVERY_MS);
  expect(world.wronged()).toEqual([]);
  return Math.max(...world.record.latenessMs(within, graceMs));
}
