/** The playground's story, scene by scene: what is done to the cluster, what must follow, and how it is told. */

import { spanText } from "../../domain/format.ts";
import type { HollowNodes } from "../hollow/hollow.service.ts";
import { IMPATIENT_APP, IMPATIENT_SECONDS, NODES_PER_ZONE, nodeName, nodesOf, ZONES } from "./cluster.ts";
import type { Narration } from "./narration.ts";

/** One scene of the story. */
export interface Scene {
  /** Said as it begins. */
  readonly begins: string;
  /** What is done to the nodes. */
  readonly act?: (nodes: HollowNodes) => void;
  /** What must follow; in words for the case that it does not. */
  readonly awaits: string;
  readonly until: (narration: Narration) => boolean;
  /** Said when it has followed. */
  readonly ends: (facts: Narration) => string;
  /** Least length, in milliseconds; 0 when not given. */
  readonly leastMs?: number;
}

const LONE = nodeName("zone-a", 7);
const STRUCK_ZONE = "zone-b";
const STRUCK = nodesOf(STRUCK_ZONE).slice(0, 14);
const CALM_MS = 8_000;
const NODES = ZONES.length * NODES_PER_ZONE;

const onStruck = (facts: Narration): number =>
  STRUCK.filter((node) => facts.evicted.has(`${IMPATIENT_APP}-${node}`)).length;

/** The scenes, for a controller with this grace. */
export function storyOf(graceMs: number): Scene[] {
  return [arrival(), ...loneNode(graceMs), ...struckZone(graceMs)];
}

function arrival(): Scene {
  return {
    begins: `${NODES} nodes join in ${ZONES.length} zones, with three pods each.`,
    awaits: `${NODES} ready nodes in ${ZONES.length} zones`,
    until: (facts) => facts.count("ready") === NODES && ZONES.every((zone) => facts.stateOf(zone) === "Normal"),
    ends: () => "Every node is Ready, every zone Normal, and Vigil sees them all.",
  };
}

function loneNode(graceMs: number): Scene[] {
  return [
    {
      begins: `${LONE} loses its power. Its last heartbeat has been.`,
      act: (nodes) => nodes.stop({ names: [LONE] }),
      awaits: `${LONE} judged Unknown`,
      until: (facts) => facts.nodes.get(LONE)?.readiness === "unknown",
      ends: (facts) =>
        `${LONE} was silent for ${spanText(graceMs)}: it is Unknown, ${lateness(facts)} after that. ` +
        "All its conditions say so, and nothing new is scheduled there.",
    },
    {
      begins: "Its zone is well, so it is the node: it is tainted NoExecute at once, and its pods' tolerations decide.",
      awaits: `the ${IMPATIENT_APP} pod of ${LONE} evicted`,
      until: (facts) => facts.evicted.has(`${IMPATIENT_APP}-${LONE}`),
      ends: () =>
        `Its ${IMPATIENT_APP} pod tolerates that for ${IMPATIENT_SECONDS} s and is deleted now. ` +
        "Its db pod would stay for 300 s, its agent for ever.",
    },
    {
      begins: `${LONE} has power again.`,
      act: (nodes) => nodes.resume({ names: [LONE] }),
      awaits: `${LONE} ready and without taints`,
      until: (facts) => {
        const node = facts.nodes.get(LONE);
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
      until: (facts) =>
        facts.count("unknown", STRUCK) === STRUCK.length && facts.stateOf(STRUCK_ZONE) === "PartialDisruption",
      ends: () =>
        `After ${spanText(graceMs)} all ${STRUCK.length} are Unknown, and ${STRUCK_ZONE} is in PartialDisruption: ` +
        "when so many go at once, it is hardly the nodes.",
    },
    {
      begins: "So Vigil stops evicting in that zone and waits. The other zones go on as ever.",
      awaits: "nothing",
      until: () => true,
      leastMs: CALM_MS,
      ends: (facts) =>
        `${CALM_MS / 1000} s later, ${onStruck(facts)} of the ${STRUCK.length} ${IMPATIENT_APP} pods there ` +
        `${onStruck(facts) === 1 ? "was" : "were"} deleted: those of nodes tainted before the zone's trouble was plain.`,
    },
    {
      begins: "The switch is back.",
      act: (nodes) => nodes.resume({ names: STRUCK }),
      awaits: `${NODES} ready nodes without taints and every zone Normal`,
      until: (facts) =>
        facts.count("ready") === NODES &&
        ZONES.every((zone) => facts.stateOf(zone) === "Normal") &&
        [...facts.nodes.values()].every(({ eviction }) => eviction === "unmarked"),
      ends: () => `All ${NODES} nodes are Ready, no taint of Vigil's is left, ${STRUCK_ZONE} is Normal.`,
    },
  ];
}

function lateness({ totals }: Narration): string {
  return spanText(totals.latestMs);
}
