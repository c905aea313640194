/** The acts in which nodes fall silent: one alone, and most of a zone. */
import { spanText } from "../../domain/format.ts";
import { IMPATIENT_APP, IMPATIENT_SECONDS, NODES_PER_ZONE, nodeName, nodesOf, ZONES } from "./cluster.ts";
import type { Narration } from "./narration.ts";
import { type Act, areWell, type Scene } from "./scene.ts";

const LONE = nodeName("zone-a", 7);
const STRUCK_ZONE = "zone-b";
const STRUCK = nodesOf(STRUCK_ZONE).slice(0, 14);
const CALM_MS = 8_000;
const NODES = ZONES.length * NODES_PER_ZONE;

const onStruck = (seen: Narration): number =>
  STRUCK.filter((node) => seen.evicted.has(`${IMPATIENT_APP}-${node}`)).length;

/** A node loses its power, its impatient pod is evicted, and it comes back. */
export function loneNode(graceMs: number): Act {
  return { title: "a node loses its power", scenes: [...lostPower(graceMs), powerAgain()] };
}

function lostPower(graceMs: number): Scene[] {
  return [
    {
      begins: `${LONE} loses its power. That was its last heartbeat.`,
      act: ({ nodes }) => nodes.stop({ names: [LONE] }),
      awaits: `${LONE} judged Unknown`,
      until: (seen) => seen.nodes.get(LONE)?.readiness === "unknown",
      ends: (seen) =>
        `${LONE} was silent for ${spanText(graceMs)}: it is Unknown, ${lateness(seen)} after that. ` +
        "All its conditions say so, and nothing new is scheduled there.",
    },
    {
      begins:
        "The rest of its zone is healthy: the node is tainted NoExecute at once, and its pods' tolerations decide.",
      awaits: `the ${IMPATIENT_APP} pod of ${LONE} evicted`,
      until: (seen) => seen.evicted.has(`${IMPATIENT_APP}-${LONE}`),
      ends: () =>
        `Its ${IMPATIENT_APP} pod tolerates that for ${IMPATIENT_SECONDS} s and is deleted now. ` +
        "Its db pod would stay for 300 s, its agent for ever.",
    },
  ];
}

function powerAgain(): Scene {
  return {
    begins: `${LONE} has power again.`,
    act: ({ nodes }) => nodes.resume({ names: [LONE] }),
    awaits: `${LONE} ready and without taints`,
    until: (seen) => areWell(seen, [LONE]),
    ends: () => `${LONE} is Ready, its taints are gone, and the eviction of its db pod is called off.`,
  };
}

/** Most nodes of a zone fall silent together, and Vigil waits. */
export function struckZone(graceMs: number): Act {
  return { title: "a switch of a zone fails", scenes: [...silentTogether(graceMs), switchBack()] };
}

function silentTogether(graceMs: number): Scene[] {
  return [
    {
      begins: `${STRUCK.length} of the ${NODES_PER_ZONE} nodes of ${STRUCK_ZONE} fall silent together. A switch, perhaps?`,
      act: ({ nodes }) => nodes.stop({ names: STRUCK }),
      awaits: `${STRUCK.length} nodes Unknown and ${STRUCK_ZONE} in PartialDisruption`,
      until: (seen) =>
        seen.count("unknown", STRUCK) === STRUCK.length && seen.stateOf(STRUCK_ZONE) === "PartialDisruption",
      ends: () =>
        `After ${spanText(graceMs)} all ${STRUCK.length} are Unknown, and ${STRUCK_ZONE} is in PartialDisruption: ` +
        "when so many fail at once, the cause is hardly the nodes.",
    },
    {
      begins: "So Vigil stops evicting in that zone and waits. The other zones go on as ever.",
      awaits: "nothing",
      until: () => true,
      minMs: CALM_MS,
      ends: (seen) =>
        `${CALM_MS / 1000} s later, ${onStruck(seen)} of the ${STRUCK.length} ${IMPATIENT_APP} pods there ` +
        `${onStruck(seen) === 1 ? "was" : "were"} deleted: those of nodes tainted before so many were Unknown.`,
    },
  ];
}

function switchBack(): Scene {
  return {
    begins: "The switch works again.",
    act: ({ nodes }) => nodes.resume({ names: STRUCK }),
    awaits: `${NODES} ready nodes without taints and every zone Normal`,
    until: (seen) => areWell(seen, ZONES.flatMap(nodesOf)) && ZONES.every((zone) => seen.stateOf(zone) === "Normal"),
    ends: () => `All ${NODES} nodes are Ready, no taint of Vigil's is left, ${STRUCK_ZONE} is Normal.`,
  };
}

function lateness({ totals }: Narration): string {
  return spanText(totals.latestMs);
}
