/** Plots about changes that the deciding processes miss or see late: taints that return, nodes that leave. */
import type { Random, Stop, Timer } from "../../protocols/ports.ts";
import { apiTime } from "../../services/domain/api-time.ts";
import { childList, isObject, type JsonObject } from "../../services/sandbox/apiserver/api-objects.ts";
import { between, oneOf } from "./chance.ts";
import { FOREIGN_TAINT } from "./faults/people.ts";
import { later, type Reach } from "./meddler.ts";
import { BYSTANDERS, kubeletsOf, only, type Plot, SECOND, zone } from "./plots.stage.ts";
import { SIMULATED_SERVICES } from "./simulated-services.ts";
import type { Swarm } from "./swarm.ts";

/** The longest lag of watches, in milliseconds. */
const LAG_MAX_MS = 8_000;

/** The share of node messages that is lost when a taint leaves, and for how long, in milliseconds. */
const LOST_SHARE = 0.7;
const LOST_NEWS_MS = 12_000;
/** How far a wrong stamp is from the present, in milliseconds. */
const STAMP_MAX_MS = 600_000;
/** The shares of plots that came late, of the few seeds without another one: together most of them, in equal parts. */
const [APART_SHARE, DEAD_SHARE, STALE_SHARE] = [0.33, 0.5, 0.9];
/** How many nodes come and go in a turnover. */
const GUESTS = 60;
/** The first number of such nodes, and of their zones. */
const BEFORE_GUESTS = 200;

/** Two zones of nodes whose pods tolerate a person's taint for a while, under two processes. */
function underMaintenance(swarm: Swarm, random: Random): Swarm {
  return {
    ...swarm,
    zones: [zone(1, between(random, 4, 8), swarm), zone(2, between(random, 3, 4), swarm)],
    podsPerNode: 4,
    toleration: "maintenance",
    processes: swarm.processes.slice(0, 2),
    profile: { ...swarm.profile, evictionMode: "taint" },
    faults: only(swarm, BYSTANDERS),
  };
}

/** The plots by name. */
export const CHANGE_PLOTS = {
  /**
   * People remove a taint shortly before pods would have to go, and set it again: without a stamp on a server with slow
   * writes, or with one and lagging watches.
   */
  renewedTaints: {
    latest: "flakyApi",
    stage: (swarm, random) => ({
      ...underMaintenance(swarm, random),
      hindrance: { watchLagMs: LAG_MAX_MS },
      safetyMs: between(random, 170, 220) * SECOND,
    }),
    play: (reach, random) => {
      const isStamped = random() < 0.5;
      const ends = reach.processes.map(({ apiPath }) => {
        if (!isStamped) return apiPath.slow({ patch: between(random, 3_000, 5_000) });
        apiPath.watchLagMs = between(random, 3_000, LAG_MAX_MS);
        return () => {
          apiPath.watchLagMs = 0;
        };
      });
      const names = kubeletsOf(reach, 1).map(({ name }) => name);
      const rounds = names.flatMap((name) => {
        const offAt = between(random, 20, 70);
        const againAt = offAt + 0.1 * between(random, 2, isStamped ? 20 : 12);
        const set = (isOn: boolean) => () => (isOn ? taint(reach, name, isStamped ? 0 : null) : untaint(reach, name));
        return [
          later(reach, random, [2, 9], set(true)),
          later(reach, random, [offAt, offAt], set(false)),
          later(reach, random, [againAt, againAt], set(true)),
        ];
      });
      return () => {
        for (const hasten of rounds) hasten();
        for (const name of names) untaint(reach, name);
        for (const end of ends) end();
      };
    },
  },

  /** Nodes leave for good, one after the other, and the bus loses many messages about that. */
  departures: {
    latest: "flakyApi",
    stage: (swarm, random) => ({
      ...swarm,
      zones: [zone(1, between(random, 6, 9), swarm), zone(2, between(random, 3, 4), swarm)],
      faults: new Set([...only(swarm, BYSTANDERS), "loss"] as const),
      safetyMs: between(random, 90, 130) * SECOND,
    }),
    play: (reach, random) => {
      const { network, world } = reach;
      const leave = (name: string) => () => {
        network.faults = { ...network.faults, loss: 0.5 };
        world.leave(name);
        // Another departure may have begun meanwhile, so the old value is not restored.
        world.clock.after(2 * SECOND, () => {
          network.faults = { ...network.faults, loss: 0 };
        });
      };
      const leaving = kubeletsOf(reach, 1).slice(0, between(random, 2, 5));
      const departures = leaving.map(({ name }) => later(reach, random, [5, 85], leave(name)));
      return () => {
        for (const hasten of departures) hasten();
      };
    },
  },

  /** The API path of one process of several is cut for long, and nodes fall silent meanwhile. */
  cutMember: {
    latest: "flakyApi",
    stage: (swarm, random) => ({
      ...swarm,
      zones: [zone(1, between(random, 5, 8), swarm), zone(2, between(random, 3, 4), swarm)],
      processes: Array.from({ length: between(random, 2, 4) }, () => [...SIMULATED_SERVICES]),
      faults: new Set([...only(swarm, BYSTANDERS), "apiCuts"] as const),
      safetyMs: between(random, 150, 200) * SECOND,
    }),
    play: (reach, random) => {
      const { apiPath } = oneOf(random, reach.processes);
      const cut = oneOf(random, ["silent", "replies", "refused"] as const);
      let repair: (outcome: "goOn" | "break") => void = () => {};
      const falls = kubeletsOf(reach, 1)
        .slice(0, 2)
        .map((kubelet) => later(reach, random, [8, 30], () => kubelet.stop()));
      const begins = later(reach, random, [5, 15], () => {
        repair = apiPath.sever(cut);
      });
      return () => {
        for (const hasten of [...falls, begins]) hasten();
        repair("break");
      };
    },
  },

  /** People add taints with a wrong stamp, as a machine with a wrong clock does, or the restore of a backup. */
  wrongStamps: {
    latest: "stolenSeeds",
    stage: (swarm, random) => ({
      ...underMaintenance(swarm, random),
      safetyMs: between(random, 140, 170) * SECOND,
    }),
    play: (reach, random) => taintForAWhile(reach, random, [2, 40], () => between(random, -STAMP_MAX_MS, STAMP_MAX_MS)),
  },

  /** Pods come to tainted nodes, half of them through an API server with a clock that differs from the others'. */
  apartServer: {
    latest: "apartServers",
    share: APART_SHARE,
    stage: (swarm, random) => {
      const staged = underMaintenance(swarm, random);
      const faults = new Set([...staged.faults, "apartServers"] as const);
      return { ...staged, faults, safetyMs: between(random, 140, 170) * SECOND };
    },
    play: (reach, random) => taintForAWhile(reach, random, [2, 20], () => 0),
  },

  /** Nodes change, then every watch expires, and lists from a cache are answered by a server with a stopped cache. */
  staleLists: {
    latest: "apartServers",
    share: STALE_SHARE,
    stage: (swarm, random) => ({
      ...swarm,
      zones: [zone(1, between(random, 6, 9), swarm), zone(2, between(random, 3, 4), swarm)],
      processes: swarm.processes.slice(0, 2),
      faults: new Set([...only(swarm, BYSTANDERS), "staleServers"] as const),
      safetyMs: between(random, 130, 160) * SECOND,
    }),
    play: (reach, random) => {
      const { faults } = reach.world.api;
      const staleAt = between(random, 5, 30);
      const expiredAt = staleAt + between(random, 20, 60);
      let end: Stop = () => {};
      const acts = [
        later(reach, random, [staleAt, staleAt], () => {
          end = faults.staleServer(({ verb }) => verb === "list");
        }),
        ...kubeletsOf(reach, 1)
          .slice(0, 3)
          .map((kubelet) => later(reach, random, [staleAt + 1, expiredAt - 5], () => kubelet.say("False"))),
        later(reach, random, [expiredAt, expiredAt], () => {
          faults.compact();
          for (const storage of ["nodes", "pods", "leases"] as const) faults.cutWatches({ storage, how: "end" });
        }),
      ];
      return () => {
        for (const hasten of acts) hasten();
        end();
      };
    },
  },

  /** A process ends for good, and nodes that it owned stop sending heartbeats. */
  deadOwner: {
    latest: "apartServers",
    share: DEAD_SHARE,
    stage: (swarm, random) => ({
      ...swarm,
      zones: [zone(1, between(random, 6, 9), swarm), zone(2, between(random, 3, 4), swarm)],
      processes: Array.from({ length: between(random, 2, 3) }, () => [...SIMULATED_SERVICES]),
      faults: only(swarm, BYSTANDERS),
      safetyMs: between(random, 130, 160) * SECOND,
    }),
    play: (reach, random) => {
      const process = oneOf(random, reach.processes);
      const deathAt = between(random, 2, 15);
      const silent = kubeletsOf(reach, 1).slice(0, 3);
      const acts = [
        later(reach, random, [deathAt, deathAt], () => process.kill()),
        ...silent.map((kubelet) => later(reach, random, [deathAt, deathAt + 20], () => kubelet.stop())),
      ];
      return () => {
        for (const hasten of acts) hasten();
      };
    },
  },

  /** People remove taints shortly before pods would have to go, and the bus loses most messages about that. */
  lostNews: {
    latest: "flakyApi",
    stage: (swarm, random) => ({
      ...swarm,
      zones: [zone(1, between(random, 8, 12), swarm), zone(2, between(random, 3, 4), swarm)],
      podsPerNode: 4,
      toleration: "maintenance",
      processes: [[...SIMULATED_SERVICES]],
      profile: { ...swarm.profile, evictionMode: "taint" },
      faults: new Set(["lostPulses"] as const),
      safetyMs: between(random, 170, 220) * SECOND,
    }),
    play: (reach, random) => {
      const { network, world } = reach;
      const hear = (): void => {
        network.muted = () => false;
      };
      const names = kubeletsOf(reach, 1).map(({ name }) => name);
      const starts = [0, 50, 100].flatMap((from) => names.map((name) => ({ name, from })));
      const rounds = starts.flatMap(({ name, from }) => {
        const [onAt, dueSeconds] = [from + between(random, 1, 15), oneOf(random, [15, 30])];
        const offAt = onAt + dueSeconds - between(random, 4, 14);
        const off = (): void => {
          network.muted = (subject) => isNews(subject) && random() < LOST_SHARE;
          untaint(reach, name);
          world.clock.after(LOST_NEWS_MS, hear);
        };
        return [
          later(reach, random, [onAt, onAt], () => taint(reach, name, 0)),
          later(reach, random, [offAt, offAt], off),
        ];
      });
      return () => {
        for (const hasten of rounds) hasten();
        for (const name of names) untaint(reach, name);
        hear();
      };
    },
  },

  /** The only process is suspended repeatedly while pulses are on their way to it, and reads them much later. */
  latePulses: {
    latest: "flakyApi",
    stage: (swarm, random) => ({
      ...swarm,
      zones: [zone(1, between(random, 5, 8), swarm), zone(2, between(random, 3, 4), swarm)],
      processes: [[...SIMULATED_SERVICES]],
      faults: new Set([...only(swarm, BYSTANDERS), "lateness", "standstills"] as const),
      safetyMs: between(random, 190, 230) * SECOND,
    }),
    play: ({ world, network, processes }, random) => {
      const [process] = processes;
      const { pulsePeriodMs } = world.swarm.profile;
      let goOn: Stop | null = null;
      let timer: Timer;
      const live = (): void => {
        const untilPulseMs = pulsePeriodMs - (world.clock.wallMs() % pulsePeriodMs);
        const pauseMs = between(random, 1, 2) * pulsePeriodMs + untilPulseMs + between(random, 50, 900);
        timer = world.clock.after(pauseMs, stop);
      };
      const stop = (): void => {
        goOn = process?.suspend({ clockStops: false, fallsBehind: false, peersWaitMs: Infinity }) ?? null;
        timer = world.clock.after(between(random, 30, 70) * SECOND, () => {
          goOn?.();
          live();
        });
      };
      network.faults = { ...network.faults, delayMaxMs: between(random, 1, 4) * SECOND };
      live();
      return () => {
        timer.cancel();
        goOn?.();
        network.faults = { ...network.faults, delayMaxMs: 0 };
      };
    },
  },

  /**
   * Many nodes join, some in a zone of their own, and leave for good, half of them silent by then. Afterwards processes
   * must keep nothing about them (`memory.ts`).
   */
  turnover: {
    latest: "flakyApi",
    stage: (swarm, random) => ({
      ...swarm,
      zones: [zone(1, 3, swarm), zone(2, 3, swarm)],
      podsPerNode: 1,
      processes: swarm.processes.slice(0, 2),
      profile: { ...swarm.profile, nodeEvictionsPerSecond: 1 },
      faults: new Set(random() < 0.5 ? (["loss"] as const) : []),
      safetyMs: between(random, 230, 260) * SECOND,
    }),
    play: (reach, random) => {
      reach.count("turnover of nodes");
      const ends = Array.from({ length: GUESTS }, (_, index) => stay(reach, random, index + 1));
      return () => {
        for (const end of ends) end();
      };
    },
  },
} satisfies Record<string, Plot>;

/** Whether a message contains a node's state or requests it. */
function isNews(subject: string): boolean {
  return /\.(observed\.node|asked\.resync)\./.test(subject);
}

/** Adds the taint of people. Its stamp is `aheadMs` ahead of the API server's clock; null for none. */
export function taint(reach: Reach, name: string, aheadMs: number | null): void {
  const stamp = aheadMs === null ? {} : { timeAdded: apiTime(reach.world.clock.wallMs() + aheadMs) };
  setTaints(reach, name, [{ key: FOREIGN_TAINT, value: "yes", effect: "NoExecute", ...stamp }]);
}

/** Removes the taint of people. */
export function untaint(reach: Reach, name: string): void {
  setTaints(reach, name, []);
}

/** Taints each node of zone 1 within these seconds, with a stamp ahead by so much, until the plot ends. */
function taintForAWhile(reach: Reach, random: Random, within: readonly [number, number], aheadMs: () => number): Stop {
  const names = kubeletsOf(reach, 1).map(({ name }) => name);
  const begins = names.map((name) => later(reach, random, within, () => taint(reach, name, aheadMs())));
  return () => {
    for (const hasten of begins) hasten();
    for (const name of names) untaint(reach, name);
  };
}

function setTaints({ world }: Reach, name: string, taints: readonly JsonObject[]): void {
  world.edit("nodes", name, (node) => {
    const spec = isObject(node.spec) ? node.spec : {};
    const others = childList(spec, "taints").filter(({ key }) => key !== FOREIGN_TAINT);
    return { ...node, spec: { ...spec, taints: [...others, ...taints] } };
  });
}

/** Lets a node join for some time and leave. The returned function lets it leave at once. */
function stay({ world }: Reach, random: Random, guest: number): Stop {
  const number = BEFORE_GUESTS + guest;
  const home = random() < 0.3 ? zone(number, 0, world.swarm) : oneOf(random, world.swarm.zones);
  const timers: Timer[] = [];
  const at = (seconds: number, act: () => void): void => {
    timers.push(world.clock.after(seconds * SECOND, () => world.asWorld(act)));
  };
  const [joinsAt, staysSeconds, isSilent] = [between(random, 1, 140), between(random, 20, 90), random() < 0.5];
  at(joinsAt, () => {
    const kubelet = world.join(home, number, 2);
    at(3, () => kubelet.say("True"));
    if (isSilent) at(between(random, 6, 15), () => kubelet.stop());
  });
  const leave = (): void => world.leave(`${home.name}-n${number}`);
  at(joinsAt + staysSeconds, leave);
  return () => {
    for (const timer of timers) timer.cancel();
    leave();
  };
}
