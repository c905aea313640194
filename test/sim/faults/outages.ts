/**
 * Times in which the API server hears no node, or knows less than before: it is away, everything loses its power, etcd
 * is restored from a backup, or it accepts no lease. Nodes fall silent before and recover meanwhile.
 */
import type { Random, Stop } from "../../../protocols/ports.ts";
import { between, oneOf } from "../chance.ts";
import type { SimulatedKubelet } from "../kubelet.ts";
import { lasting, lastingFor, later, type Meddler, type Reach } from "../meddler.ts";

/** Longer than the longest toleration of most pods. */
const AWAY_SECONDS = [25, 220] as const;
/** In how many outages a node that was silent before recovers meanwhile. */
const RECOVERY_SHARE = 0.7;
/** How far apart parts of a cluster lose and get back their power, in seconds. */
const ORDER_SECONDS = 90;

/** The classes, by name. */
export const OUTAGE_FAULTS = {
  longOutages: {
    everySeconds: 60,
    act: (reach, random) => {
      const [silent, seconds] = [fallSilent(reach, random), between(random, ...AWAY_SECONDS)];
      return afterVerdict(reach, random, () => {
        reach.count("API server away for long");
        const back = recoverWithin(reach, random, silent, seconds);
        const end = lastingFor(reach, seconds, reach.world.apiAway());
        return () => {
          end();
          back();
        };
      });
    },
  },
  powerCuts: {
    everySeconds: 90,
    act: (reach, random) => {
      const silent = fallSilent(reach, random);
      return afterVerdict(reach, random, () => cutPower(reach, random, silent));
    },
  },
  restores: {
    everySeconds: 60,
    act: (reach, random) => {
      const silent = fallSilent(reach, random);
      return afterVerdict(reach, random, () => {
        const backup = reach.world.backup();
        const lateSeconds = between(random, 30, 120);
        const back = recoverWithin(reach, random, silent, lateSeconds);
        const restored = planned(reach, lateSeconds, () => {
          reach.count("etcd restored");
          const serve = reach.world.apiAway();
          return lasting(reach, random, 40, () => {
            const observers = reach.processes.filter(({ services }) => services.includes("observer"));
            const isSleptThrough = observers.some(({ isAsleep }) => isAsleep);
            reach.world.restore(backup, random() < 0.7 ? "cut" : "silent", isSleptThrough);
            serve();
          });
        });
        return () => {
          restored();
          back();
        };
      });
    },
  },
  leaseRefusals: {
    everySeconds: 90,
    act: (reach, random) => {
      const { access, api } = reach.world;
      const code = oneOf(random, [403, 503]);
      const isWrite = (verb: string): boolean => !["get", "list", "watch"].includes(verb);
      const ends = [
        access.refuseLeases(),
        api.faults.add({
          fault: { kind: "status", code },
          when: ({ resource, verb }) => resource.storage === "leases" && isWrite(verb),
        }),
      ];
      reach.count("leases refused");
      return lasting(reach, random, 120, () => {
        for (const end of ends) end();
      });
    },
  },
} satisfies Record<string, Meddler>;

/** Some nodes fall silent. */
function fallSilent({ world }: Reach, random: Random): SimulatedKubelet[] {
  const silent = Array.from({ length: between(random, 1, 3) }, () => world.anyKubelet(random));
  for (const kubelet of silent) kubelet.stop();
  return silent;
}

/** Does something when nodes that fall silent now have been found Unknown, and their pods count down. */
function afterVerdict(reach: Reach, random: Random, act: () => Stop): Stop {
  const graceSeconds = reach.world.swarm.profile.nodeMonitorGraceMs / 1000;
  return planned(reach, graceSeconds + between(random, 3, 40), act);
}

/** Does something after a while, unless the faults end first. The returned function ends what was begun. */
function planned({ world }: Reach, seconds: number, act: () => Stop): Stop {
  let end: Stop = () => {};
  const timer = world.clock.after(seconds * 1000, () => {
    end = world.asWorld(act);
  });
  return () => {
    timer.cancel();
    end();
  };
}

/** Lets some of the silent nodes recover within a time. */
function recoverWithin(reach: Reach, random: Random, silent: readonly SimulatedKubelet[], seconds: number): Stop {
  const recovering = silent.filter(() => random() < RECOVERY_SHARE);
  const returns = recovering.map((kubelet) => later(reach, random, [1, seconds], () => kubelet.start()));
  return () => {
    for (const hasten of returns) hasten();
  };
}

/** Everything stops and starts again, each part at its own time: API server, processes of Vigil, and nodes. */
function cutPower(reach: Reach, random: Random, silent: readonly SimulatedKubelet[]): Stop {
  const { world, processes, count } = reach;
  count("power cut");
  const seconds = between(random, ...AWAY_SECONDS);
  const orderSeconds = oneOf(random, [0, 10, ORDER_SECONDS]);
  const backAfter = (): [number, number] => {
    const after = seconds + between(random, 0, orderSeconds);
    return [after, after];
  };
  const nodes = random() < 0.7 ? [...world.kubelets.values()].filter(({ alive }) => alive) : [];
  for (const kubelet of nodes) kubelet.stop();
  for (const process of processes) process.kill();
  const serve = world.apiAway();
  const starts = [...nodes, ...silent].map((kubelet) => later(reach, random, backAfter(), () => kubelet.start()));
  const ends = [
    lastingFor(reach, backAfter()[0], serve),
    ...processes.map((process) => lastingFor(reach, backAfter()[0], () => process.start())),
  ];
  return () => {
    for (const end of [...ends, ...starts]) end();
  };
}
