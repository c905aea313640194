/** An outage of a fleet and its required result: no wrong verdict during it, and everything in time after it. */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import { until } from "../support/until.ts";
import type { FleetWorld } from "./fleet-world.ts";

/** How soon after the grace period a dead node is found, by the remaining members or, after an outage, by all. */
const RECOVERY_MS = 20_000;
/** Long enough for other members to take over a process's shards. */
const OUTAGE_MS = 8_000;

/** A temporary fault. */
export interface Outage {
  begin(): Promise<unknown>;
  end(): Promise<unknown>;
  /** The log messages of members about it, by their names. */
  readonly logged: Readonly<Record<string, string>>;
  /**
   * Whether a member remains that finds dead nodes during the outage: then the outage lasts until that has happened.
   */
  readonly leavesMember: boolean;
}

/**
 * A node of each shard falls silent as the outage begins and another as it ends. Each must be found once, and not
 * before its grace is over: the first by the remaining members, the others soon after the end.
 */
export async function expectRecovery(world: FleetWorld, graceMs: number, outage: Outage): Promise<void> {
  const heard = new Map([...world.members].map(([name, vigil]) => [name, vigil.logged.length]));
  await outage.begin();
  const within = world.fallInEachShard("one");
  await pause(OUTAGE_MS);
  for (const [name, message] of Object.entries(outage.logged)) {
    const lines = () => world.members.get(name)?.logged.slice(heard.get(name)) ?? [];
    await until(`${name} says ${message}`, () => lines().some((line) => line.message.includes(message)));
  }
  if (outage.leavesMember) await world.untilUnknown(within, RECOVERY_MS + graceMs);
  await outage.end();
  const fallen = [...within, ...world.fallInEachShard("two")];
  await world.untilUnknown(fallen, RECOVERY_MS + graceMs);
  expect(Math.min(...world.record.latenessMs(fallen, graceMs))).toBeGreaterThanOrEqual(0);
  expect(fallen.map((node) => world.record.unknownAt.get(node)?.length)).toEqual(fallen.map(() => 1));
  expect(world.wronglyJudged()).toEqual([]);
}
