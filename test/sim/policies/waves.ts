/**
 * Waves of failures that fill the memory of a breaker. Nodes of each pool stop sending heartbeats, are tainted and
 * return. Then every process is killed: the breaker now counts only what the next owner read from the memory. Then
 * other nodes stop sending heartbeats.
 */
import type { Random, Stop, Timer } from "../../../protocols/ports.ts";
import { between } from "../chance.ts";
import type { Reach } from "../meddler.ts";
import { SECOND } from "../plots.stage.ts";
import { ofPool, shuffled } from "./memories.ts";
import { POOLS } from "./pools.ts";

/** How long nodes are silent: their grace, and as long again until a zone has its permits. */
const SILENT_SECONDS = [45, 60] as const;
/** From one wave to the restart after it, and from there to the next wave. */
const RESTART_SECONDS = 75;
const SETTLED_SECONDS = 40;
/** How long no process runs. */
const DOWN_SECONDS = 3;
/** Nodes of each pool that fail in one wave. */
const FAILING = 2;

/** Starts the waves. The returned function ends them; nodes come back by themselves. */
export function inWaves(reach: Reach, random: Random): Stop {
  const { world, processes } = reach;
  const timers = new Set<Timer>();
  const after = (seconds: number, act: () => void): void => {
    timers.add(world.clock.after(seconds * SECOND, () => world.asWorld(act)));
  };
  const silenced: Stop[] = [];
  const fail = (): void => {
    for (const pool of POOLS) {
      for (const kubelet of shuffled(ofPool(reach, pool), random).slice(0, FAILING)) {
        kubelet.stop();
        const restart = (): void => kubelet.start();
        silenced.push(restart);
        after(between(random, ...SILENT_SECONDS), restart);
      }
    }
    reach.count("wave of failures before a restart");
    after(RESTART_SECONDS, () => {
      for (const process of processes) process.kill();
      after(DOWN_SECONDS, () => {
        for (const process of processes) process.start();
        after(SETTLED_SECONDS, fail);
      });
    });
  };
  after(SETTLED_SECONDS, fail);
  return () => {
    for (const timer of timers) timer.cancel();
    for (const restart of silenced) restart();
    for (const process of processes) if (!process.running) process.start();
  };
}
