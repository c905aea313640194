/** The playground's story: the nodes join, and one act after the other follows. */
import { NODES_PER_ZONE, ZONES } from "./cluster.ts";
import { loneNode, struckZone } from "./node-acts.ts";
import type { Act, Scene } from "./scene.ts";
import { blindness, killedMember, policy } from "./vigil-acts.ts";

const NODES = ZONES.length * NODES_PER_ZONE;

/** The first scene. */
export const ARRIVAL: Scene = {
  begins: `${NODES} nodes join in ${ZONES.length} zones, with three pods each.`,
  awaits: `${NODES} ready nodes in ${ZONES.length} zones`,
  until: (seen) => seen.count("ready") === NODES && ZONES.every((zone) => seen.stateOf(zone) === "Normal"),
  ends: () => "Every node is Ready, every zone Normal, and Vigil sees them all.",
};

/** The acts, for a controller with this grace. */
export function actsOf(graceMs: number): Act[] {
  return [loneNode(graceMs), struckZone(graceMs), killedMember(), blindness(graceMs), policy(graceMs)];
}

/** The scenes of the whole story. */
export function storyOf(graceMs: number): Scene[] {
  return [ARRIVAL, ...actsOf(graceMs).flatMap(({ scenes }) => scenes)];
}
