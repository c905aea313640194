/** Nodes that join: not ready at first, unstable for a while, and with kubelets that restore their pods' status. */
import type { Timer } from "../../../protocols/ports.ts";
import { between, oneOf } from "../chance.ts";
import { later, type Meddler } from "../meddler.ts";
import { labelsOf } from "../world.ts";

/** The most nodes that join in one run. */
const JOINED_MAX = 6;
const FIRST_JOINED = 101;

/** The classes, by name. */
export const JOINING_NODE_FAULTS = {
  joiningNodes: {
    everySeconds: 25,
    act: (reach, random) => {
      const { world, count } = reach;
      const { zones } = world.swarm;
      const zone = oneOf(random, zones);
      const readySeconds = between(random, 10, 90);
      const [flaps, moves] = [random() < 0.4, random() < 0.3];
      const joined = [...world.kubelets.keys()].filter((name) => numberOf(name) >= FIRST_JOINED).length;
      if (joined >= JOINED_MAX) return undefined;
      const kubelet = world.join(zone, FIRST_JOINED + joined, between(random, 1, 2));
      count("node joined");
      const changes: Timer[] = [];
      const change = (seconds: number, act: () => void): void => {
        changes.push(world.clock.after(seconds * 1000, () => world.asWorld(act)));
      };
      if (flaps) {
        change(readySeconds / 3, () => kubelet.say("True"));
        change((2 * readySeconds) / 3, () => kubelet.say("False"));
      }
      if (moves) change(readySeconds / 2, () => world.move(kubelet, labelsOf(oneOf(random, zones))));
      const hasten = later(reach, random, [readySeconds, readySeconds], () => kubelet.say("True"));
      return () => {
        for (const timer of changes) timer.cancel();
        hasten();
      };
    },
  },
} satisfies Record<string, Meddler>;

function numberOf(name: string): number {
  return Number(name.slice(name.lastIndexOf("-n") + 2));
}
