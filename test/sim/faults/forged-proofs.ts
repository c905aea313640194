/**
 * Kubelets that claim that their machine is off, most of them without heartbeats: they write, copy and remove the proof
 * in an annotation of their node. They may not write the label that seals it.
 */
import { DOWN_PROOFS, PROOF_SEAL_LABEL } from "../../../protocols/names.ts";
import type { Random } from "../../../protocols/ports.ts";
import { apiMicroTime } from "../../../services/domain/api-time.ts";
import { childObject } from "../../../services/sandbox/apiserver/api-objects.ts";
import { oneOf } from "../chance.ts";
import { type CheckedNode, conditionOf } from "../invariants.ts";
import type { Meddler } from "../meddler.ts";
import type { World } from "../world.ts";

const PROVED_DOWN = "vigil.v1/proved-down";
const FORGED = "forged proof of a silent node";
/** In how many cases the node is silent by what the API shows, if there is one. */
const SILENT_SHARE = 0.8;
/** How far from now a written proof is dated, in milliseconds. */
const OFF_MS: readonly number[] = [0, 0, 0, 2_000, 3_600_000, -600_000];
/** What a kubelet does to the proof of its node, in proportion to the entries here. */
const FORGERIES = ["written", "written", "written", "copied", "removed"] as const;

/** The situations that the class must reach in some run. */
export const FORGED_PROOF_SITUATIONS: readonly string[] = [FORGED];

/** The classes, by name. */
export const FORGED_PROOF_FAULTS = {
  forgedProofs: {
    everySeconds: 4,
    act: ({ world, count }, random) => {
      const nodes = world.objects<CheckedNode>("nodes");
      const silent = nodes.filter(isSilent);
      const isOfSilent = random() < SILENT_SHARE && silent.length > 0;
      if (nodes.length === 0 || !world.access.accepts("status")) return undefined;
      const node = oneOf(random, isOfSilent ? silent : nodes);
      const text = forgedText(world, nodes, random);
      if (isSilent(node) && text !== null) count(FORGED);
      if (node.metadata.labels?.[PROOF_SEAL_LABEL] !== undefined) count("forged proof under a seal");
      annotate(world, node.metadata.name, text);
      return undefined;
    },
  },
} satisfies Record<string, Meddler>;

/** A proof of now or of another instant, or the proof of another node with that node's seal; null for none. */
function forgedText({ clock }: World, nodes: readonly CheckedNode[], random: Random): string | null {
  const forgery = oneOf(random, FORGERIES);
  const others = nodes.flatMap(({ metadata }) => metadata.annotations?.[PROVED_DOWN] ?? []);
  if (forgery === "removed") return null;
  if (forgery === "copied" && others.length > 0) return oneOf(random, others);
  const at = apiMicroTime(clock.wallMs() + oneOf(random, OFF_MS));
  return JSON.stringify({ proof: oneOf(random, DOWN_PROOFS), by: "oncall", at, reason: "power off" });
}

function isSilent(node: CheckedNode): boolean {
  return conditionOf(node, "Ready")?.status === "Unknown";
}

function annotate(world: World, name: string, text: string | null): void {
  world.edit("nodes", name, (node) => {
    const { [PROVED_DOWN]: _, ...others } = childObject(node.metadata, "annotations");
    const annotations = text === null ? others : { ...others, [PROVED_DOWN]: text };
    return { ...node, metadata: { ...node.metadata, annotations } };
  });
}
