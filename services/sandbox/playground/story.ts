/** The playground's story, scene by scene: an action on the cluster, the expected result, and the text for each. */

import { spanText } from "../../domain/format.ts";
import type { HollowNodes } from "../hollow/hollow.service.ts";
import { IMPATIENT_APP, IMPATIENT_SECONDS, NODES_PER_ZONE, nodeName, nodesOf, ZONES } from "./cluster.ts";
import type { Narration } from "./narration.ts";

/** One scene of the story. */
export interface Scene {
  /** Printed when it begins. */
  readonly begins: string;
  /** The action on the nodes. */
  readonly act?: (nodes: HollowNodes) => void;
  /** The expected result, in words for when it does not come. */
  readonly awaits: string;
  readonly until: (narration: Narration) => boolean;
  /** Printed when the result has come. */
  readonly ends: (seen: Narration) => string;
  /** Least length, in milliseconds; 0 when not given. */
  readonly leastMs?: number;
}

const LONE = nodeName("zone-a", 7);
const STRUCK_ZONE = "zone-b";
const STRUCK = nodesOf(STRUCK_ZONE).slice(0, 14);
const CALM_MS = 8_000;
const NODES = ZONES.length * NODES_PER_ZONE;

const onStruck = (seen: Narration): number =>
  STRUCK.filter((node) => seen.evicted.has(`${IMPATIENT_APP}-${node}`)).length;

/** The scenes, for a controller with this grace. */
export function storyOf(graceMs: number): Scene[] {
  return [arrival(), ...loneNode(graceMs), ...struckZone(graceMs)];
}

function arrival(): Scene {
  return {
    begins: `${NODES} nodes join in ${ZONES.length} zones, with three pods each.`,
    awaits: `${NODES} ready nodes in ${ZONES.length} zones`,
    until: (seen) => seen.count("ready") === NODES && ZONES.every((zone) => seen.stateOf(zone) === "Normal"),
    ends: () => "Every node is Ready, every zone Normal, and Vigil sees them all.",
  };
}

function loneNode(graceMs: number): Scene[] {
  return [
    {
      begins: `${LONE} loses its power. Its last heartbeat has been.`,
      act: (nodes) => nodes.stop({ names: [LONE] }),
      awaits: `${LONE} judged Unknown`,
      until: (seen) => seen.nodes.get(LONE)?.readiness === "unknown",
      ends: (seen) =>
        `${LONE} was silent for ${spanText(graceMs)}: it is Unknown, ${lateness(seen)} after that. ` +
        "All its conditions say so, and nothing new is scheduled there.",
    },
    {
      begins: "Its zone is well, so it is the node: it is tainted NoExecute at once, and its pods' tolerations decide.",
      awaits: `the ${IMPATIENT_APP} pod of ${LONE} evicted`,
      until: (seen) => seen.evicted.has(`${IMPATIENT_APP}-${LONE}`),
      ends: () =>
        `Its ${IMPATIENT_APP} pod tolerates that for ${IMPATIENT_SECONDS} s and is deleted now. ` +
        "Its db pod would stay for 300 s, its agent for ever.",
    },
    {
      begins: `${LONE} has power again.`,
      act: (nodes) => nodes.resume({ names: [LONE] }),
      awaits: `${LONE} ready and without taints`,
      until: (seen) => {
        const node = seen.nodes.get(LONE);
        return node?.readiness === "ready" && node.eviction === "unmarked";
      },
      ends: () => `${LONE} is Ready, its taints are gone, and the eviction of its db pod is called off.`,
    },
  ];
}

function struckZone(graceMs: number): Scene[] {
  return [
    {
      begins: `${STRUCK.length} of the ${NODES_PER_ZONE} nodes of ${STRUCK_ZONE} fall silent together. A switch, perhaps?`,
      act: (nodes) => nodes.stop({ names: STRUCK }),
      awaits: `${STRUCK.length} nodes Unknown and ${STRUCK_ZONE} in PartialDisruption`,
      until: (seen) =>
        seen.count("unknown", STRUCK) === STRUCK.length && seen.stateOf(STRUCK_ZONE) === "PartialDisruption",
      ends: () =>
        `After ${spanText(graceMs)} all ${STRUCK.length} are Unknown, and ${STRUCK_ZONE} is in PartialDisruption: ` +
        "when so many go at once, it is hardly the nodes.",
    },
    {
      begins: "So Vigil stops evicting in that zone and waits. The other zones go on as ever.",
      awaits: "nothing",
      until: () => true,
      leastMs: CALM_MS,
      ends: (seen) =>
        `${CALM_MS / 1000} s later, ${onStruck(seen)} of the ${STRUCK.length} ${IMPATIENT_APP} pods there ` +
        `${onStruck(seen) === 1 ? "was" : "were"} deleted: those of nodes tainted before the zone's trouble was plain.`,
    },
    {
      begins: "The switch is back.",
      act: (nodes) => nodes.resume({ names: STRUCK }),
      awaits: `${NODES} ready nodes without taints and every zone Normal`,
      until: (seen) =>
        seen.count("ready") === NODES &&
        ZONES.every((zone) => seen.stateOf(zone) === "Normal") &&
        [...seen.nodes.values()].every(({ eviction }) => eviction === "unmarked"),
      ends: () => `All ${NODES} nodes are Ready, no taint of Vigil's is left, ${STRUCK_ZONE} is Normal.`,
    },
  ];
}

function lateness({ totals }: Narration): string {
  return spanText(totals.latestMs);
}
