/**
 * A fleet under policies of an attacker who may not evict. The policies treat a condition that every node has as
 * unhealthy, set rates above any ceiling, and are created and deleted. Processes die, or the bus is split. Most nodes
 * are Ready all the time.
 */
import type { Random, Stop } from "../../../protocols/ports.ts";
import { apiTime } from "../../../services/domain/api-time.ts";
import type { Json } from "../../../services/sandbox/apiserver/api-objects.ts";
import { between, chanceOf, oneOf } from "../chance.ts";
import { type Reach, repeatedly } from "../meddler.ts";
import { zone } from "../plots.stage.ts";
import { simulate, type Verdict } from "../simulate.ts";
import { drawSwarm, type Swarm } from "../swarm.ts";
import { POLICIES_STORAGE } from "./api-policies.ts";
import { POOL_LABEL, POOLS } from "./pools.ts";
import { splittingAgain } from "./splits.ts";

const SECOND = 1000;
const AT_ONCE = { uid: null, resourceVersion: null, gracePeriodSeconds: 0 };
const RATES = { nodeEvictionRate: 1e9, secondaryNodeEvictionRate: 1e9, fullDisruptionEvictionRate: 1e9 };
/** The condition that every node has. */
const TYPE = "GpuLost";
/** What disturbs the fleet. */
export type Disturbance = "nothing" | "deaths" | "splits" | "relaunches";

/** The window of the ceiling where policies and processes begin again: long enough for both. */
const RELAUNCHED_WINDOW_MS = 60 * SECOND;

/** Runs a fleet under attack. */
export function playAttack(seed: number, disturbance: Disturbance): Verdict {
  return simulate(seed, swarmOf(seed, disturbance), { meddling: (reach) => play(reach, disturbance) });
}

function swarmOf(seed: number, disturbance: Disturbance): Swarm {
  const { hindrance: _, ...drawn } = drawSwarm(seed, { policies: true });
  const services = drawn.processes[0] ?? [];
  return {
    ...drawn,
    faults: new Set(),
    processes: [services, services],
    zones: [zone(1, 9, drawn), zone(2, 6, drawn), zone(3, 4, drawn)],
    profile: {
      ...drawn.profile,
      evictionMode: "taint",
      pulsePeriodMs: 4 * SECOND,
      pulseTimeoutMs: 14 * SECOND,
      nodeEvictionsPerSecond: 1,
      ...(disturbance === "relaunches" && { policyTaintedDurationMs: RELAUNCHED_WINDOW_MS }),
    },
    policies: {
      theme: "any",
      isProving: false,
      isRemediating: false,
      isExact: false,
      isRestarted: disturbance === "deaths" || disturbance === "relaunches",
      isSplit: disturbance === "splits",
      isChaos: false,
      hasBothOrders: false,
      everySeconds: 0,
    },
    safetyMs: 400 * SECOND,
  };
}

function play(reach: Reach, disturbance: Disturbance): Stop {
  const { world } = reach;
  const random = chanceOf(world.swarm.seed, "attack");
  const attacker = new Attacker(reach);
  for (const kubelet of world.kubelets.values()) attacker.report(kubelet.name, "False");
  const stops = [
    repeatedly(
      world.clock,
      () => between(random, 2, 40) * SECOND,
      () => attacker.act(random),
    ),
    repeatedly(
      world.clock,
      () => between(random, 5, 20) * SECOND,
      () => attacker.ail(random),
    ),
    repeatedly(
      world.clock,
      () => between(random, 40, 120) * SECOND,
      () => attacker.fail(random),
    ),
  ];
  if (disturbance === "deaths") stops.push(dying(reach, random));
  if (disturbance === "splits") stops.push(splittingAgain(reach, random));
  if (disturbance === "relaunches") stops.push(relaunching(reach, random, attacker));
  return () => {
    for (const stop of stops) stop();
    attacker.end();
  };
}

/** Kills a process now and then, and starts it again a little later. */
function dying({ world, processes }: Reach, random: Random): Stop {
  return repeatedly(
    world.clock,
    () => between(random, 50, 110) * SECOND,
    () => {
      const process = oneOf(random, processes);
      process.kill();
      world.clock.after(between(random, 1, 8) * SECOND, () => process.start());
    },
  );
}

/** Deletes all policies now and then, and creates them again once every process has died and begun again. */
function relaunching({ world, processes }: Reach, random: Random, attacker: Attacker): Stop {
  const begin = (): void => {
    for (const process of processes) process.start();
    attacker.launch(random);
  };
  const die = (): void => {
    for (const process of processes) process.kill();
    world.clock.after(SECOND, begin);
  };
  return repeatedly(
    world.clock,
    () => between(random, 70, 120) * SECOND,
    () => {
      attacker.withdraw();
      world.clock.after(between(random, 3, 8) * SECOND, die);
    },
  );
}

class Attacker {
  readonly #reach: Reach;

  constructor(reach: Reach) {
    this.#reach = reach;
  }

  /** Creates a policy of a pool, or deletes it. */
  act(random: Random): void {
    const name = oneOf(random, POOLS);
    if (random() < 0.3) this.#remove(name);
    else this.#create(name, random);
  }

  /** Creates the policies of all pools. */
  launch(random: Random): void {
    for (const name of POOLS) this.#create(name, random);
  }

  /** Deletes every policy. */
  withdraw(): void {
    for (const name of POOLS) this.#remove(name);
  }

  /** One node reports the opposite of what it has reported: some taints are removed and others become due. */
  ail(random: Random): void {
    const kubelet = oneOf(random, [...this.#reach.world.kubelets.values()]);
    this.report(kubelet.name, oneOf(random, ["True", "False", "False"]));
  }

  /** Some nodes are not ready for a while and are tainted for that, too. */
  fail(random: Random): void {
    const { world } = this.#reach;
    for (const kubelet of world.kubelets.values()) {
      if (random() >= 0.3) continue;
      world.asWorld(() => kubelet.say("False"));
      world.clock.after(between(random, 20, 60) * SECOND, () => world.asWorld(() => kubelet.say("True")));
    }
  }

  report(name: string, status: string): void {
    const { world } = this.#reach;
    const kubelet = world.kubelets.get(name);
    if (kubelet === undefined) return;
    kubelet.agentConditions = [{ type: TYPE, status, lastTransitionTime: apiTime(world.clock.wallMs()) }];
    world.editStatus(name, (conditions) => [
      ...conditions.filter(({ type }) => type !== TYPE),
      ...kubelet.agentConditions,
    ]);
  }

  end(): void {
    const { world } = this.#reach;
    this.withdraw();
    for (const kubelet of world.kubelets.values()) world.asWorld(() => kubelet.say("True"));
  }

  #create(name: string, random: Random): void {
    const { world } = this.#reach;
    const resource = world.api.catalog.customAt(POLICIES_STORAGE)[0];
    if (resource === undefined || world.api.store.collection(POLICIES_STORAGE).get("", name) !== undefined) return;
    const taint = { key: `vigil.io/${oneOf(random, ["lost", "broken"])}`, effect: "NoExecute" };
    const rule: Json = { type: TYPE, status: oneOf(random, ["False", "False", "True"]), duration: "1s", taint };
    const spec = { selector: { matchLabels: { [POOL_LABEL]: name } }, unhealthyConditions: [rule], ...RATES };
    const policy = { apiVersion: "vigil.io/v1alpha1", kind: "NodePolicy", metadata: { name }, spec };
    world.asWorld(() => world.api.registry.create(resource, "", policy));
  }

  #remove(name: string): void {
    const { world } = this.#reach;
    const resource = world.api.catalog.customAt(POLICIES_STORAGE)[0];
    if (resource === undefined || world.api.store.collection(POLICIES_STORAGE).get("", name) === undefined) return;
    world.asWorld(() => world.api.registry.delete({ resource, namespace: "", name }, AT_ONCE));
  }
}
