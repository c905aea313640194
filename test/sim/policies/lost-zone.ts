/**
 * A zone in which every node falls silent, under policies with a rate of their own for full disruption. A new owner of
 * the zone has that rate too.
 */
import type { Random, Stop, Timer } from "../../../protocols/ports.ts";
import { between } from "../chance.ts";
import type { Reach } from "../meddler.ts";
import { kubeletsOf, SECOND } from "../plots.stage.ts";

/** When all owners have settled. */
const LOST_SECONDS = [45, 60] as const;
/** From there until nodes come back: longer than several nodes wait for each other at the primary rate. */
const SILENT_SECONDS = [120, 150] as const;
/** Kubelets renew in turn, so the zone is lost within these seconds. */
const WITHIN_SECONDS = 2;

/** Loses the first zone. The returned function brings its nodes back. */
export function loseZone(reach: Reach, random: Random): Stop {
  const { world } = reach;
  const timers = new Set<Timer>();
  const after = (seconds: number, act: () => void): void => {
    timers.add(world.clock.after(seconds * SECOND, () => world.asWorld(act)));
  };
  const kubelets = kubeletsOf(reach, 1);
  const lostAt = between(random, ...LOST_SECONDS);
  reach.count("zone lost");
  for (const kubelet of kubelets) {
    after(lostAt + random() * WITHIN_SECONDS, () => kubelet.stop());
    after(lostAt + between(random, ...SILENT_SECONDS), () => kubelet.start());
  }
  return () => {
    for (const timer of timers) timer.cancel();
    for (const kubelet of kubelets) kubelet.start();
  };
}
