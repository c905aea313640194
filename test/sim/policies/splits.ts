/**
 * A bus that is split: each side continues by itself, reaches the API server, and has an owner for everything. In some
 * runs watches lag meanwhile, each by another time.
 */
import type { Random, Stop, Timer } from "../../../protocols/ports.ts";
import { between, chanceOf } from "../chance.ts";
import type { Reach } from "../meddler.ts";

/** How long the bus is connected between two splits, and how long a split lasts, in seconds. */
const WHOLE_SECONDS = [15, 40] as const;
const SPLIT_SECONDS = [60, 200] as const;

/** Splits the bus of a run in two again and again. The returned function reconnects it for good. */
export function splittingAgain({ world, network, processes, count, struck }: Reach, random: Random): Stop {
  const members = processes.map(({ name }) => name);
  // A separate random stream: seeds that were kept stay as they are.
  const lags = chanceOf(world.swarm.seed, "policies/lags of splits");
  const lagMaxMs = world.swarm.hindrance?.watchLagMs ?? 0;
  const lag = (isSplit: boolean): void => {
    if (lagMaxMs === 0) return;
    for (const { apiPath } of processes) apiPath.watchLagMs = isSplit && lags() < 0.5 ? between(lags, 0, lagMaxMs) : 0;
  };
  let timer: Timer;
  const after = ([least, most]: readonly [number, number], act: () => void): void => {
    timer = world.clock.after(between(random, least * 1000, most * 1000), act);
  };
  const rejoin = (): void => {
    network.rejoin();
    lag(false);
    after(WHOLE_SECONDS, split);
  };
  const split = (): void => {
    const first = new Set([members[0], ...members.slice(1, -1).filter(() => random() < 0.5)]);
    network.split((from, to) => first.has(from) !== first.has(to));
    lag(true);
    count("bus split");
    struck("split");
    after(SPLIT_SECONDS, rejoin);
  };
  after(WHOLE_SECONDS, split);
  return () => {
    timer.cancel();
    network.rejoin();
    lag(false);
  };
}
