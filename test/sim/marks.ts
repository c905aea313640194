/** Counts how often a run met the situations that it is meant to reach. A mark judges nothing. */
import type { Change } from "../../services/sandbox/apiserver/store/stored.ts";
import { API_CUTS } from "./api-path.ts";
import { FORGED_PROOF_SITUATIONS } from "./faults/forged-proofs.ts";
import { HOSTILE_SITUATIONS } from "./faults/hostile-nodes.ts";
import { LYING_SITUATIONS } from "./faults/lying-members.ts";
import { LYING_STAMP_SITUATIONS } from "./faults/lying-stamps.ts";
import { MOMENT_SITUATIONS } from "./faults/moments.ts";
import { STOLEN_SEED_SITUATIONS } from "./faults/stolen-seeds.ts";
import { type CheckedNode, type CheckedPod, conditionOf, isPaced } from "./invariants.ts";
import type { FaultClass } from "./swarm.ts";
import type { World } from "./world.ts";

/** The situations that each class of fault must reach in some run. */
export const MARKS_OF_CLASS: Readonly<Partial<Record<FaultClass, readonly string[]>>> = {
  apiCuts: [
    ...API_CUTS.map((cut) => `API cut: ${cut}`),
    ...["request", "reply", "watch"].map((what) => `${what} held up by a cut`),
  ],
  standstills: [
    "process stopped",
    "process stopped together with its clock",
    "process stopped for more than a minute",
    "process stopped for more than five minutes",
  ],
  slowApi: ["get", "list", "watch", "patch", "delete"].map((verb) => `slow ${verb}`),
  wrongClocks: ["process's clock set", "kubelet's clock set"],
  staleReplica: ["stale list answered", "watch of a stale replica"],
  listRefusals: ["fresh list refused"],
  foreignTaints: [
    "taint stamped by others",
    "taint brought back by others",
    "our taint taken off by others",
    "fight over a taint",
  ],
  joiningNodes: ["node joined", "pod ready again by its kubelet"],
  writeConflicts: ["PATCH in conflict"],
  cacheSyncLag: ["watch lagged behind"],
  hostileNodes: HOSTILE_SITUATIONS,
  lyingMembers: LYING_SITUATIONS,
  stolenSeeds: STOLEN_SEED_SITUATIONS,
  longOutages: ["API server away for long"],
  powerCuts: ["power cut"],
  restores: ["etcd restored"],
  leaseRefusals: ["leases refused"],
  staticPods: ["static pod", "pod recreated on its node"],
  staleServers: ["stale server behind a load balancer"],
  comparedTaints: ["taint with a compared value"],
  lyingStamps: LYING_STAMP_SITUATIONS,
  moments: MOMENT_SITUATIONS,
  silentWatches: ["watches silent for good"],
  apartServers: ["API server with a clock behind", "API server with a clock ahead"],
  forgedProofs: FORGED_PROOF_SITUATIONS,
  rollouts: ["process ended as by a rollout"],
  flakyApi: ["burst of API errors", "combined chaos"],
};

/** The marks of one run. */
export class Marks {
  /** How often each situation was met. */
  readonly counts: Record<string, number> = {};
  readonly #world: World;
  readonly #names = new Set<string>();

  constructor(world: World) {
    this.#world = world;
  }

  count(situation: string): void {
    this.counts[situation] = (this.counts[situation] ?? 0) + 1;
  }

  /** Handles any change of a node or pod, and counts a name that another object reuses. */
  see(kind: "node" | "pod", { type, now }: Change): void {
    if (type !== "ADDED") return;
    const name = `${kind} ${now.name}`;
    if (this.#names.has(name)) this.count(`${kind} replaced under its name`);
    this.#names.add(name);
  }

  /** Handles one of our writes to a node. */
  seeNode(before: CheckedNode, after: CheckedNode): void {
    const [was, is] = [before, after].map((node) => conditionOf(node, "Ready")?.status);
    if (is === "Unknown" && was !== "Unknown") this.count("node made Unknown");
    const [had, has] = [before, after].map((node) => (node.spec?.taints ?? []).filter(isPaced).length);
    if (had === 0 && has === 1) this.count("NoExecute taint put on");
    if (had === 1 && has === 0) this.count("NoExecute taint taken off");
    if (had === 1 && has === 1) this.count("taints changed on a tainted node");
    const [key, newKey] = [before, after].map((node) => node.spec?.taints?.find(isPaced)?.key);
    if (key !== undefined && newKey !== undefined && key !== newKey) this.count("NoExecute taint swapped");
  }

  /** Handles the start of a process that had ended, and counts it if pods were waiting for their deadlines then. */
  restarted(): void {
    const tainted = this.#world.objects<CheckedNode>("nodes").filter(({ spec }) => spec?.taints?.some(isPaced));
    const nodes = new Set(tainted.map(({ metadata }) => metadata.name));
    const isSentenced = ({ metadata, spec }: CheckedPod): boolean =>
      metadata.deletionTimestamp === undefined && nodes.has(spec.nodeName ?? "");
    if (this.#world.objects<CheckedPod>("pods").some(isSentenced)) {
      this.count("process restarted during a countdown");
    }
  }
}
