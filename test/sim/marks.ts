/** How often a run met the situations that it is for. A mark judges nothing. */
import type { Change } from "../../services/apiserver/stored.ts";
import { type CheckedNode, type CheckedPod, conditionOf, isPaced } from "./invariants.ts";
import type { World } from "./world.ts";

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

  /** Takes any change of a node or pod: whether a name was given to another object. */
  see(kind: "node" | "pod", { type, now }: Change): void {
    if (type !== "ADDED") return;
    const name = `${kind} ${now.name}`;
    if (this.#names.has(name)) this.count(`${kind} replaced under its name`);
    this.#names.add(name);
  }

  /** Takes one of our writes to a node. */
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

  /** Takes the start of a process that was dead: whether pods were waiting for their deadlines then. */
  restarted(): void {
    const tainted = this.#world.objects<CheckedNode>("nodes").filter(({ spec }) => spec?.taints?.some(isPaced));
    const nodes = new Set(tainted.map(({ metadata }) => metadata.name));
    const isSentenced = ({ metadata, spec }: CheckedPod): boolean =>
      metadata.deletionTimestamp === undefined && nodes.has(spec.nodeName ?? "");
    if (this.#world.objects<CheckedPod>("pods").some(isSentenced)) {
      this.count("process restarted while a pod is sentenced");
    }
  }
}
