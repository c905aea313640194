/** What goes wrong while faults are on, each class at its own pace and by its own chance. It knows no rule of ours. */
import type { Random, Stop, Timer } from "../../protocols/ports.ts";
import { SHARD_COUNT } from "../../protocols/subjects.ts";
import { isObject } from "../../services/apiserver/objects.ts";
import { between, chanceOf, oneOf } from "./chance.ts";
import { lasting, later, type Meddler, type Reach, withLinks, withWire } from "./meddler.ts";
import { PLOTS } from "./plots.ts";
import type { FaultClass } from "./swarm.ts";
import { labelsOf } from "./world.ts";

const FOREIGN_TAINT = "example.com/maintenance";

const MEDDLERS: Readonly<Record<Exclude<FaultClass, "clockDrift">, Meddler>> = {
  loss: { everySeconds: 60, act: (reach, random) => withLinks(reach, random, { loss: random() * 0.3 }) },
  lostPulses: {
    everySeconds: 45,
    act: (reach, random) => {
      const isMuted = new Set(Array.from({ length: SHARD_COUNT }, (_, shard) => shard).filter(() => random() < 0.5));
      reach.network.muted = (subject) => {
        const [, , , kind, noun, shard] = subject.split(".");
        return kind === "observed" && noun === "pulse" && isMuted.has(Number(shard));
      };
      return lasting(reach, random, 60, () => {
        reach.network.muted = () => false;
      });
    },
  },
  doubling: { everySeconds: 60, act: (reach, random) => withLinks(reach, random, { doubling: random() * 0.3 }) },
  lateness: {
    everySeconds: 60,
    act: (reach, random) => withLinks(reach, random, { lateness: random() * 0.2, latenessMaxMs: 5_000 }),
  },
  partitions: {
    everySeconds: 90,
    act: (reach, random) => {
      const { link } = oneOf(random, reach.processes);
      if (link === null) return undefined;
      const cut = oneOf(random, [
        { up: true, down: true },
        { up: true, down: false },
        { up: false, down: true },
      ]);
      return lasting(reach, random, 60, reach.network.cut(link, cut));
    },
  },
  slowConsumers: {
    everySeconds: 60,
    act: ({ world, processes }, random) => {
      const { link } = oneOf(random, processes);
      if (link !== null) link.stalledUntilMs = world.clock.monotonicMs() + between(random, 500, 8_000);
      return undefined;
    },
  },
  crashes: {
    everySeconds: 60,
    act: (reach, random) => {
      const process = oneOf(random, reach.processes);
      process.kill();
      return lasting(reach, random, 40, () => process.start());
    },
  },
  apiRefusals: { everySeconds: 60, act: (reach, random) => withWire(reach, random, { refusal: random() * 0.6 }) },
  apiTimeouts: { everySeconds: 60, act: (reach, random) => withWire(reach, random, { timeout: random() * 0.4 }) },
  lostReplies: { everySeconds: 60, act: (reach, random) => withWire(reach, random, { lostReply: random() * 0.5 }) },
  watchCuts: {
    everySeconds: 30,
    act: ({ world }, random) => {
      world.api.faults.cutWatches({ how: random() < 0.5 ? "end" : "break" });
      return undefined;
    },
  },
  compaction: {
    everySeconds: 45,
    act: ({ world }) => {
      world.api.faults.compact();
      world.api.faults.cutWatches();
      return undefined;
    },
  },
  staleWatches: {
    everySeconds: 120,
    act: (reach, random) => {
      const storage = oneOf(random, ["leases", "leases", "nodes", "pods"] as const);
      const end = reach.world.api.faults.silenceWatches(storage);
      return lasting(reach, random, 60, () => {
        end();
        // A cache that lost its own watch starts anew: its clients have to as well.
        reach.world.api.faults.compact();
        reach.world.api.faults.cutWatches({ storage });
      });
    },
  },
  apiOutages: {
    everySeconds: 120,
    act: (reach, random) => lasting(reach, random, 60, reach.world.api.faults.refuse()),
  },
  deniedDeletes: {
    everySeconds: 90,
    act: (reach, random) => {
      const fault = { kind: "status", code: 403, message: "admission webhook denied the request" } as const;
      const when = (call: { verb: string }): boolean => call.verb === "delete" && reach.world.writer !== "";
      return lasting(reach, random, 60, reach.world.api.faults.add({ fault, when }));
    },
  },
  clockSteps: {
    everySeconds: 60,
    act: ({ processes }, random) => {
      oneOf(random, processes).clock?.stepWall(between(random, -5_000, 5_000));
      return undefined;
    },
  },
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
      kubelet.labels = labelsOf(oneOf(random, world.swarm.zones));
      const labels = { ...kubelet.labels };
      world.edit("nodes", kubelet.name, (node) => ({ ...node, metadata: { ...node.metadata, labels } }));
      return undefined;
    },
  },
  podChurn: {
    everySeconds: 10,
    act: ({ world }, random) => {
      const pod = world.anyPod(random);
      // A replacement of the same name, as a StatefulSet makes it, often on another node.
      if (pod !== null) world.remove("pods", pod.name);
      world.addPod(world.anyKubelet(random).name, pod?.name ?? `pod-new-${between(random, 1, 999)}`);
      return undefined;
    },
  },
  tolerationEdits: {
    everySeconds: 15,
    act: ({ world }, random) => {
      const pod = world.anyPod(random);
      const tolerationSeconds = oneOf(random, [0, 5, 25, 200]);
      const key = oneOf(random, ["node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready", FOREIGN_TAINT]);
      if (pod === null || pod.terminating) return undefined;
      world.edit("pods", pod.name, (object) => {
        const spec = isObject(object.spec) ? object.spec : {};
        const tolerations = Array.isArray(spec.tolerations) ? spec.tolerations : [];
        const added = { key, operator: "Exists", effect: "NoExecute", tolerationSeconds };
        return { ...object, spec: { ...spec, tolerations: [...tolerations, added] } };
      });
      return undefined;
    },
  },
  humanTaints: {
    everySeconds: 45,
    act: (reach, random) => {
      const { name } = reach.world.anyKubelet(random);
      const set = (tainted: boolean): void =>
        reach.world.edit("nodes", name, (node) => {
          const spec = isObject(node.spec) ? node.spec : {};
          const taints = (Array.isArray(spec.taints) ? spec.taints : []).filter(
            (taint) => isObject(taint) && taint.key !== FOREIGN_TAINT,
          );
          const all = tainted ? [...taints, { key: FOREIGN_TAINT, value: "yes", effect: "NoExecute" }] : taints;
          return { ...node, spec: { ...spec, taints: all } };
        });
      set(true);
      return random() < 0.7 ? lasting(reach, random, 60, () => set(false)) : undefined;
    },
  },
  cordons: {
    everySeconds: 40,
    act: ({ world }, random) => {
      world.edit("nodes", world.anyKubelet(random).name, (node) => {
        const spec = isObject(node.spec) ? node.spec : {};
        return { ...node, spec: { ...spec, unschedulable: random() < 0.5 } };
      });
      return undefined;
    },
  },
};

/** Starts the plot and every class of fault that is on. What it returns ends them all and mends what lasts. */
export function meddle(reach: Reach): Stop {
  const undos = new Set<Stop>();
  const timers = new Map<string, Timer>();
  const { swarm, clock } = reach.world;
  const plan = (name: keyof typeof MEDDLERS, random: Random): void => {
    const { everySeconds, act } = MEDDLERS[name];
    const timer = clock.after(-Math.log(1 - random()) * everySeconds * 1000, () => {
      const undo = act(reach, random);
      if (undo !== undefined) undos.add(undo);
      plan(name, random);
    });
    timers.set(name, timer);
  };
  for (const name of swarm.faults) if (name !== "clockDrift") plan(name, chanceOf(swarm.seed, `meddle/${name}`));
  const { plot } = swarm;
  if (plot !== null) undos.add(PLOTS[plot].play(reach, chanceOf(swarm.seed, `play/${plot}`)));
  return () => {
    for (const timer of timers.values()) timer.cancel();
    for (const undo of undos) undo();
  };
}
