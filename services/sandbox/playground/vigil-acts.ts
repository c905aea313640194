/** The acts about Vigil itself: a member is killed, the API server is cut off, a policy says how long to wait. */
import { spanText } from "../../domain/format.ts";
import { IMPATIENT_APP, IMPATIENT_SECONDS, NODES_PER_ZONE, nodeName, nodesOf, ZONES } from "./cluster.ts";
import { MORTAL_MEMBER, STEADY_MEMBER } from "./controls.ts";
import type { Narration } from "./narration.ts";
import { PATIENT_MS, PATIENT_ZONE } from "./policy.ts";
import { type Act, areWell, type Scene } from "./scene.ts";

const NODES = ZONES.length * NODES_PER_ZONE;
const EVERY_NODE = ZONES.flatMap(nodesOf);

/** A node whose pods MORTAL_MEMBER counts down. */
export const COUNTED_NODE = nodeName("zone-a", 4);
const COUNTED_POD = `${IMPATIENT_APP}-${COUNTED_NODE}`;

/** A countdown runs, the member that runs it is killed, and the other one ends it in time. */
export function killedMember(): Act {
  return { title: "a member of Vigil is killed -9", scenes: [countdown(), killed(), backAgain()] };
}

function countdown(): Scene {
  return {
    begins: `${COUNTED_NODE} loses its power. ${MORTAL_MEMBER} judges it and counts down the seconds of its pods.`,
    act: ({ nodes }) => nodes.stop({ names: [COUNTED_NODE] }),
    awaits: `${COUNTED_NODE} tainted NoExecute`,
    until: (seen) => seen.nodes.get(COUNTED_NODE)?.eviction === "evicted",
    ends: () => `${COUNTED_NODE} is tainted NoExecute: its ${IMPATIENT_APP} pod has ${IMPATIENT_SECONDS} s left.`,
    isBrief: true,
  };
}

function killed(): Scene {
  return {
    begins: `${MORTAL_MEMBER} is ended by kill -9 while it counts.`,
    act: (controls) => controls.kill(),
    awaits: `the ${IMPATIENT_APP} pod of ${COUNTED_NODE} evicted`,
    until: (seen) => seen.waitedMs(COUNTED_POD, COUNTED_NODE) !== null,
    ends: (seen) =>
      `The pod was deleted in time, ${spanText(seen.waitedMs(COUNTED_POD, COUNTED_NODE) ?? 0)} after the taint, whose time ` +
      `has whole seconds: ${STEADY_MEMBER} read it from the cluster and took over. No countdown was reset.`,
  };
}

function backAgain(): Scene {
  return {
    begins: `${MORTAL_MEMBER} starts again, and ${COUNTED_NODE} has power again.`,
    act: (controls) => {
      controls.restart();
      controls.nodes.resume({ names: [COUNTED_NODE] });
    },
    awaits: `${COUNTED_NODE} ready and without taints`,
    until: (seen) => areWell(seen, [COUNTED_NODE]),
    ends: () => `${COUNTED_NODE} is Ready and without taints, and the two members share the work again.`,
  };
}

const DARK_MS = 10_000;
const DARK_NODE = nodeName("zone-b", 11);

/** No member reaches the API server for longer than the grace: no node is judged, and the time does not count. */
export function blindness(graceMs: number): Act {
  return { title: "Vigil is cut off from the API server", scenes: [dark(graceMs), reconnected(graceMs), repowered()] };
}

function dark(graceMs: number): Scene {
  return {
    begins:
      `Vigil is cut off from the API server: every watch breaks, every request is refused. ` +
      `The nodes still reach it, except ${DARK_NODE}, which loses its power now.`,
    act: (controls) => {
      controls.blind();
      controls.nodes.stop({ names: [DARK_NODE] });
    },
    awaits: `${NODES} nodes judged ready`,
    until: (seen) => seen.count("ready") === NODES,
    minMs: DARK_MS,
    ends: (seen) =>
      `For ${spanText(DARK_MS)}, longer than the grace of ${spanText(graceMs)}, no heartbeat of ${NODES} nodes has ` +
      `arrived, and ${seen.count("unknown")} are Unknown: Vigil knows that the fault is on its side.`,
  };
}

function reconnected(graceMs: number): Scene {
  return {
    begins: "Vigil reaches the API server again.",
    act: (controls) => controls.unblind(),
    awaits: `${DARK_NODE} alone judged Unknown`,
    until: (seen) => seen.nodes.get(DARK_NODE)?.readiness === "unknown" && seen.count("ready") === NODES - 1,
    ends: () =>
      `Only ${DARK_NODE} is Unknown: it had its whole grace of ${spanText(graceMs)} after Vigil could see again.`,
  };
}

function repowered(): Scene {
  return {
    begins: `${DARK_NODE} has power again.`,
    act: ({ nodes }) => nodes.resume({ names: [DARK_NODE] }),
    awaits: `${NODES} ready nodes without taints`,
    until: (seen) => areWell(seen, EVERY_NODE),
    ends: () => `All ${NODES} nodes are Ready.`,
  };
}

const PATIENT_NODE = nodeName(PATIENT_ZONE, 5);
const OTHER_NODE = nodeName("zone-a", 5);

/** Two nodes lose their power, and the policy of one says that it may be silent for longer. */
export function policy(graceMs: number): Act {
  return { title: "a policy for a zone", scenes: [applied(), twoSilent(graceMs), withdrawn()] };
}

function applied(): Scene {
  return {
    begins:
      `A NodePolicy is applied: the nodes of ${PATIENT_ZONE} may be silent for ${spanText(PATIENT_MS)}. ` +
      "kubectl get nodepolicies shows it.",
    act: (controls) => controls.applyPolicy(),
    awaits: `the nodes of ${PATIENT_ZONE} judged by the policy`,
    until: (seen) => nodesOf(PATIENT_ZONE).every((node) => hasPolicy(seen, node)),
    ends: () => `The ${NODES_PER_ZONE} nodes of ${PATIENT_ZONE} have the policy, the others none.`,
  };
}

function twoSilent(graceMs: number): Scene {
  return {
    begins: `${OTHER_NODE} and ${PATIENT_NODE} lose their power at the same moment.`,
    act: ({ nodes }) => nodes.stop({ names: [OTHER_NODE, PATIENT_NODE] }),
    awaits: `${OTHER_NODE} Unknown and ${PATIENT_NODE} still ready`,
    until: (seen) =>
      seen.nodes.get(OTHER_NODE)?.readiness === "unknown" && seen.nodes.get(PATIENT_NODE)?.readiness === "ready",
    ends: () =>
      `After ${spanText(graceMs)} ${OTHER_NODE} is Unknown. ${PATIENT_NODE} is as silent and still counts as Ready, ` +
      "because its policy is patient.",
  };
}

function withdrawn(): Scene {
  return {
    begins: "The policy is deleted, and both nodes have power again.",
    act: (controls) => {
      controls.nodes.resume({ names: [OTHER_NODE, PATIENT_NODE] });
      controls.removePolicy();
    },
    awaits: `${NODES} ready nodes without taints and without a policy`,
    until: (seen) => areWell(seen, EVERY_NODE) && !EVERY_NODE.some((node) => hasPolicy(seen, node)),
    ends: () => "Every node is Ready, and all are judged alike again.",
  };
}

function hasPolicy(seen: Narration, node: string): boolean {
  return seen.nodes.get(node)?.policy !== undefined;
}
