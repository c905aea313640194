/**
 * Runs the faults while they are on, each class at its own rate and with its own stream of chance. It knows no rule of
 * Vigil.
 */
import type { Random, Stop, Timer } from "../../protocols/ports.ts";
import { chanceOf } from "./chance.ts";
import { APART_SERVER_FAULTS } from "./faults/apart-servers.ts";
import { API_FAULTS } from "./faults/api.ts";
import { API_PATH_FAULTS } from "./faults/api-path.ts";
import { BUS_FAULTS } from "./faults/bus.ts";
import { COMPARED_TAINT_FAULTS } from "./faults/compared-taints.ts";
import { FOREIGN_TAINT_FAULTS } from "./faults/foreign-taints.ts";
import { FORGED_PROOF_FAULTS } from "./faults/forged-proofs.ts";
import { HOSTILE_NODE_FAULTS } from "./faults/hostile-nodes.ts";
import { JOINING_NODE_FAULTS } from "./faults/joining-nodes.ts";
import { LYING_MEMBER_FAULTS } from "./faults/lying-members.ts";
import { LYING_STAMP_FAULTS } from "./faults/lying-stamps.ts";
import { MOMENT_FAULTS } from "./faults/moments.ts";
import { NODE_FAULTS } from "./faults/nodes.ts";
import { OUTAGE_FAULTS } from "./faults/outages.ts";
import { PEOPLE_FAULTS } from "./faults/people.ts";
import { PROCESS_FAULTS } from "./faults/processes.ts";
import { RECREATED_POD_FAULTS } from "./faults/recreated-pods.ts";
import { STOLEN_SEED_FAULTS } from "./faults/stolen-seeds.ts";
import type { Meddler, Reach } from "./meddler.ts";
import { PLOTS } from "./plots.ts";
import { loseZone } from "./policies/lost-zone.ts";
import { strikeMemory } from "./policies/memories.ts";
import { changePolicies } from "./policies/people.ts";
import { proveNodesDown } from "./policies/provers.ts";
import { remediateNodes } from "./policies/remediators.ts";
import { inWaves } from "./policies/waves.ts";
import { failAsPreviewed } from "./previews/previewed-failure.ts";
import type { FaultClass } from "./swarm.ts";

/** The classes that apply from the beginning. */
type LastingClass = "clockDrift" | "smallBounds";

const MEDDLERS: Readonly<Record<Exclude<FaultClass, LastingClass>, Meddler>> = {
  ...BUS_FAULTS,
  ...API_FAULTS,
  ...PROCESS_FAULTS,
  ...NODE_FAULTS,
  ...PEOPLE_FAULTS,
  ...API_PATH_FAULTS,
  ...FOREIGN_TAINT_FAULTS,
  ...JOINING_NODE_FAULTS,
  ...LYING_MEMBER_FAULTS,
  ...STOLEN_SEED_FAULTS,
  ...HOSTILE_NODE_FAULTS,
  ...OUTAGE_FAULTS,
  ...RECREATED_POD_FAULTS,
  ...COMPARED_TAINT_FAULTS,
  ...LYING_STAMP_FAULTS,
  ...MOMENT_FAULTS,
  ...APART_SERVER_FAULTS,
  ...FORGED_PROOF_FAULTS,
};

/** Starts the plot and every class of fault that is on. The returned function ends them all and repairs what lasts. */
export function meddle(reach: Reach): Stop {
  const undos = new Set<Stop>();
  const timers = new Map<string, Timer>();
  const { swarm, clock } = reach.world;
  const plan = (name: keyof typeof MEDDLERS, random: Random): void => {
    const { everySeconds, act } = MEDDLERS[name];
    const timer = clock.after(-Math.log(1 - random()) * everySeconds * 1000, () => {
      reach.struck(name);
      const undo = act(reach, random);
      if (undo !== undefined) undos.add(undo);
      plan(name, random);
    });
    timers.set(name, timer);
  };
  for (const name of swarm.faults) {
    if (name !== "clockDrift" && name !== "smallBounds") plan(name, chanceOf(swarm.seed, `meddle/${name}`));
  }
  const { plot } = swarm;
  if (plot !== null) undos.add(PLOTS[plot].play(reach, chanceOf(swarm.seed, `play/${plot}`)));
  if (swarm.policies !== undefined) {
    undos.add(changePolicies(reach, chanceOf(swarm.seed, "play/policies")));
    if (swarm.policies.theme === "waves") undos.add(inWaves(reach, chanceOf(swarm.seed, "play/waves")));
    if (swarm.policies.theme === "lostZone") undos.add(loseZone(reach, chanceOf(swarm.seed, "play/lostZone")));
    if (swarm.policies.theme === "previews") undos.add(failAsPreviewed(reach, chanceOf(swarm.seed, "play/previews")));
    if (swarm.policies.memory !== undefined) undos.add(strikeMemory(reach, chanceOf(swarm.seed, "play/memory")));
    if (swarm.policies.isProving) undos.add(proveNodesDown(reach, chanceOf(swarm.seed, "play/proofs")));
    if (swarm.policies.isRemediating) undos.add(remediateNodes(reach, chanceOf(swarm.seed, "play/remediations")));
  }
  return () => {
    for (const timer of timers.values()) timer.cancel();
    for (const undo of undos) undo();
  };
}
