/** An outage of a fleet, and what it must come to: nothing false while it lasts, and everything in time after it. */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import { until } from "../support/until.ts";
import type { FleetWorld } from "./fleet-world.ts";

/** How soon after the grace period the remaining members, or all after an outage, find a dead node. */
const RECOVERY_MS = 10_000;
/** Long enough for the others to take over a process's shards. */
const OUTAGE_MS = 8_000;

/** What goes wrong for a while. */
export interface Outage {
  begin(): Promise<unknown>;
  end(): Promise<unknown>;
  /** What members say of it, by their names. */
  readonly told: Readonly<Record<string, string>>;
  /** Whether a member is left that finds dead nodes while it lasts: then it does not end before that is found. */
  readonly leavesSomebody: boolean;
}

/**
 * Lets a node of each shard fall as the outage begins and as it ends; each is found so once, not before its grace is
 * over: the first by the members that are left, the others soon after the end.
 */
export async function expectRecovery(world: FleetWorld, graceMs: number, outage: Outage): Promise<void> {
  const heard = new Map([...world.members].map(([name, vigil]) => [name, vigil.logged.length]));
  await outage.begin();
  const within = world.fallInEachShard("one");
  await pause(OUTAGE_MS);
  for (const [name, message] of Object.entries(outage.told)) {
    const lines = () => world.members.get(name)?.logged.slice(heard.get(name)) ?? [];
    await until(`${name} says ${message}`, () => lines().some((line) => line.message.includes(message)));
  }
  if (outage.leavesSomebody) await world.condemned(within, RECOVERY_MS + graceMs);
  await outage.end();
  const fallen = [...within, ...world.fallInEachShard("two")];
  await world.condemned(fallen, RECOVERY_MS + graceMs);
  expect(Math.min(...world.record.latenessMs(fallen, graceMs))).toBeGreaterThanOrEqual(0);
  expect(fallen.map((node) => world.record.unknownAt.get(node)?.length)).toEqual(fallen.map(() => 1));
  expect(world.wronged()).toEqual([]);
}
