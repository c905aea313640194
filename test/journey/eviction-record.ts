/** What the API server of a journey showed of taints and pods, and when. It asserts nothing. */
import type { ObservedNode, Taint } from "../../protocols/objects.ts";
import type { Kube } from "../../protocols/ports.ts";
import { epochMsOf } from "../../services/domain/api-time.ts";

const isPaced = ({ key, effect }: Taint): boolean =>
  effect === "NoExecute" && (key.endsWith("/not-ready") || key.endsWith("/unreachable"));

/** A record that grows while it watches. Instants are wall-clock milliseconds. */
export class EvictionRecord {
  readonly nodes = new Map<string, ObservedNode>();
  /** Our NoExecute taints on each node, as `not-ready` and `unreachable`, each time they changed. */
  readonly taints = new Map<string, string[]>();
  /** When each node first had one. */
  readonly taintedAt = new Map<string, number>();
  /** Its `timeAdded`: in whole seconds, and independent of a watch that lags. */
  readonly stampedAt = new Map<string, number>();
  /** When each pod was first observed terminating or gone. */
  readonly deletedAt = new Map<string, number>();
  readonly pods = new Set<string>();
  readonly stop: () => void;

  constructor(kube: Kube, wallMs: () => number) {
    const leave = (name: string): void => {
      if (this.pods.has(name) && !this.deletedAt.has(name)) this.deletedAt.set(name, wallMs());
    };
    const nodes = kube.watch("nodes", {
      changed: (node) => this.#note(node, wallMs()),
      gone: (name) => this.nodes.delete(name),
      state: () => {},
    });
    const pods = kube.watch("pods", {
      changed: ({ pod }) => {
        this.pods.add(pod.name);
        if (pod.deletionAt !== null) leave(pod.name);
      },
      gone: (key) => leave(key.slice(key.indexOf("/") + 1)),
      state: () => {},
    });
    this.stop = () => {
      nodes.stop();
      pods.stop();
    };
  }

  /** The status of a node's Ready condition. */
  ready(name: string): string | undefined {
    return this.nodes.get(name)?.conditions.find(({ type }) => type === "Ready")?.status;
  }

  /** Seconds between the taints of a zone's nodes, in order, by their stamps. */
  pauses(nodes: readonly string[]): number[] {
    const at = nodes.flatMap((name) => this.stampedAt.get(name) ?? []).toSorted((left, right) => left - right);
    return at.slice(1).map((atMs, index) => (atMs - (at[index] ?? 0)) / 1000);
  }

  #note(node: ObservedNode, atMs: number): void {
    const { node: name } = node;
    this.nodes.set(name, node);
    const paced = node.taints.filter(isPaced);
    const [first] = paced;
    if (first !== undefined && !this.taintedAt.has(name)) {
      this.taintedAt.set(name, atMs);
      const stampMs = epochMsOf(first.timeAdded ?? null);
      if (stampMs !== null) this.stampedAt.set(name, stampMs);
    }
    const now = paced.map(({ key }) => key.split("/").at(-1) ?? key);
    const story = this.taints.get(name) ?? [];
    const word = now.toSorted().join("+");
    if (story.at(-1) !== word) this.taints.set(name, [...story, word]);
  }
}
