/** Faults of nodes and their kubelets: death, lateness, and changes of their reports and zones. */
import type { Stop } from "../../../protocols/ports.ts";
import { between, oneOf } from "../chance.ts";
import { lasting, later, type Meddler } from "../meddler.ts";
import { labelsOf } from "../world.ts";

/** The classes, by name. */
export const NODE_FAULTS = {
  death: {
    everySeconds: 20,
    act: (reach, random) => {
      const kubelet = reach.world.anyKubelet(random);
      kubelet.stop();
      return random() < 0.6 ? later(reach, random, [5, 90], () => kubelet.start()) : undefined;
    },
  },
  zoneDeath: {
    everySeconds: 120,
    act: (reach, random) => {
      const { swarm, kubelets } = reach.world;
      const zone = oneOf(random, swarm.zones).name;
      const share = oneOf(random, [0.5, 0.6, 1]);
      const hastened: Stop[] = [];
      for (const kubelet of kubelets.values()) {
        if (!kubelet.name.startsWith(zone) || random() >= share) continue;
        kubelet.stop();
        if (random() < 0.8) hastened.push(later(reach, random, [40, 95], () => kubelet.start()));
      }
      return () => {
        for (const hasten of hastened) hasten();
      };
    },
  },
  flapping: {
    everySeconds: 15,
    act: (reach, random) => {
      const kubelet = reach.world.anyKubelet(random);
      if (!kubelet.alive) return undefined;
      kubelet.stop();
      return later(reach, random, [1, 70], () => kubelet.start());
    },
  },
  lag: {
    everySeconds: 30,
    act: (reach, random) => {
      const kubelet = reach.world.anyKubelet(random);
      kubelet.lagMs = between(random, 0, 60_000);
      return lasting(reach, random, 120, () => {
        kubelet.lagMs = 0;
        if (!kubelet.alive) return;
        kubelet.stop();
        reach.world.asWorld(() => kubelet.start());
      });
    },
  },
  notReady: {
    everySeconds: 25,
    act: (reach, random) => {
      const kubelet = reach.world.anyKubelet(random);
      reach.world.asWorld(() => kubelet.say("False"));
      return random() < 0.7 ? later(reach, random, [5, 90], () => kubelet.say("True")) : undefined;
    },
  },
  missingReady: {
    everySeconds: 60,
    act: (reach, random) => {
      const kubelet = reach.world.anyKubelet(random);
      reach.world.asWorld(() => kubelet.say(null));
      return lasting(reach, random, 90, () => reach.world.asWorld(() => kubelet.say("True")));
    },
  },
  nodeChurn: {
    everySeconds: 40,
    act: (reach, random) => {
      const { world } = reach;
      const kubelet = world.anyKubelet(random);
      kubelet.stop();
      world.remove("nodes", kubelet.name);
      world.signs.forget(kubelet.name);
      return later(reach, random, [0, 40], () => kubelet.start());
    },
  },
  zoneMoves: {
    everySeconds: 40,
    act: ({ world }, random) => {
      const kubelet = world.anyKubelet(random);
      world.move(kubelet, labelsOf(oneOf(random, world.swarm.zones)));
      return undefined;
    },
  },
} satisfies Record<string, Meddler>;
