/** A fleet on a split bus: each side reaches the API server and has an owner of the limits. Nodes fail in waves. */
import type { Stop } from "../../../protocols/ports.ts";
import type { Json } from "../../../services/sandbox/apiserver/api-objects.ts";
import { between, chanceOf } from "../chance.ts";
import type { Reach } from "../meddler.ts";
import { zone } from "../plots.stage.ts";
import { simulate, type Verdict } from "../simulate.ts";
import { drawSwarm, type Swarm } from "../swarm.ts";
import { POLICIES_STORAGE } from "./api-policies.ts";
import { POOL_LABEL, POOLS } from "./pools.ts";

const SECOND = 1000;
/** When nodes fail, in seconds: after both owners have waited for the permits of the other to end. */
const WAVES = [80, 130, 200, 260];
/** How far a watch may lag behind. */
const LAG_MAX_MS = 4_000;
const AT_ONCE = { uid: null, resourceVersion: null, gracePeriodSeconds: 0 };

/** For how many seconds a node fails, at least and at most: while limits block it, or until its pods are evicted. */
const FAILED_SECONDS = { briefly: [30, 60], forLong: [60, 120] } as const;

/** Runs a fleet whose policies have these limits. */
export function playTwoOwners(
  seed: number,
  limits: Readonly<Record<string, Json>>,
  failed: keyof typeof FAILED_SECONDS,
): Verdict {
  return simulate(seed, swarmOf(seed), { meddling: (reach) => play(reach, limits, FAILED_SECONDS[failed]) });
}

function swarmOf(seed: number): Swarm {
  const drawn = drawSwarm(seed, { policies: true });
  return {
    ...drawn,
    faults: new Set(),
    hindrance: { watchLagMs: LAG_MAX_MS },
    processes: drawn.processes.slice(0, 1).flatMap((services) => [services, services]),
    zones: [zone(1, 9, drawn), zone(2, 6, drawn), zone(3, 4, drawn)],
    profile: {
      ...drawn.profile,
      evictionMode: "taint",
      pulsePeriodMs: 6 * SECOND,
      pulseTimeoutMs: 20 * SECOND,
      nodeEvictionsPerSecond: 1,
    },
    policies: {
      theme: "any",
      isProving: false,
      isRemediating: false,
      isExact: false,
      isRestarted: false,
      isSplit: true,
      isChaos: false,
      hasBothOrders: false,
      everySeconds: 0,
    },
    safetyMs: 330 * SECOND,
  };
}

function play(
  { world, network, processes }: Reach,
  limits: Readonly<Record<string, Json>>,
  [least, most]: readonly [number, number],
): Stop {
  const random = chanceOf(world.swarm.seed, "two owners");
  const resource = world.api.catalog.customAt(POLICIES_STORAGE)[0];
  if (resource === undefined) throw new Error("a run with policies serves them");
  const at = (seconds: number, act: () => void): void => {
    world.clock.after(seconds * SECOND, () => world.asWorld(act));
  };
  for (const pool of POOLS) {
    const spec = { selector: { matchLabels: { [POOL_LABEL]: pool } }, unhealthyZoneThreshold: 1, ...limits };
    const policy = { apiVersion: "vigil.io/v1alpha1", kind: "NodePolicy", metadata: { name: pool }, spec };
    world.asWorld(() => world.api.registry.create(resource, "", policy));
  }
  at(5, () => network.split((from, to) => from !== to));
  for (let second = 70; second < 320; second += between(random, 1, 6)) {
    for (const { apiPath } of processes) {
      at(second, () => {
        apiPath.watchLagMs = random() < 0.5 ? 0 : between(random, 0, LAG_MAX_MS);
      });
    }
  }
  const kubelets = [...world.kubelets.values()];
  for (const wave of WAVES) {
    for (const kubelet of kubelets.filter(() => random() < 0.4)) {
      const second = wave + random() * (random() < 0.5 ? 0.3 : 3);
      at(second, random() < 0.5 ? () => kubelet.stop() : () => kubelet.say("False"));
      at(second + between(random, least, most), () => kubelet.start());
      at(second + most + 1, () => kubelet.say("True"));
    }
  }
  return () => {
    network.rejoin();
    for (const { apiPath } of processes) apiPath.watchLagMs = 0;
    world.asWorld(() => {
      for (const name of POOLS) world.api.registry.delete({ resource, namespace: "", name }, AT_ONCE);
      for (const kubelet of kubelets) kubelet.start();
      for (const kubelet of kubelets) kubelet.say("True");
    });
  };
}
