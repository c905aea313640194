/**
 * The pods of nodes that are not ready or carry a NoExecute taint, as last observed. A write that names the observed
 * version of its pod needs no live read of it: if the pod has changed since, the API server answers with a conflict. A
 * missing or outdated entry costs one read.
 */
import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import type { BoundPod, Bus, Stop } from "../../protocols/ports.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { needsPods } from "../domain/node-conditions.ts";
import { BoundedMap } from "../structures/bounded-map.ts";

/** Nodes beyond this are forgotten, the one observed least recently first. */
const NODES_MAX = 20_000;

/** The pods of one node in one version, by chunk. */
interface NodePods {
  readonly version: string;
  readonly chunks: Map<number, BodyOf<"observed.pods">["pods"]>;
}

/** Which pod a request is about. */
type PodTarget = Pick<BodyOf<"asked.eviction">, "node" | "uid">;

/** The callbacks after a change. */
interface Listeners {
  readonly podsChanged: (node: string) => void;
  readonly nodeObserved: (node: ObservedNode) => void;
  readonly nodeGone: (node: string) => void;
}

/** Observed pods by node. */
export class ObservedPods {
  readonly #nodes = new BoundedMap<string, NodePods>(NODES_MAX);
  readonly #listeners: Listeners;

  constructor(listeners: Listeners) {
    this.#listeners = listeners;
  }

  follow(bus: Pick<Bus, "subscribe">, shard: number): Stop[] {
    return [
      bus.subscribe("observed.pods", shard, ({ body }) => this.#onPods(body)),
      bus.subscribe("observed.node", shard, ({ body }) => this.#onNode(body)),
      bus.subscribe("observed.gone", shard, ({ body }) => {
        this.#forget(body.node);
        this.#listeners.nodeGone(body.node);
      }),
    ];
  }

  /** Forgets a shard that is no longer followed. */
  drop(shard: number): void {
    for (const node of this.#nodes.keys()) if (shardOf(node) === shard) this.#nodes.delete(node);
  }

  /** The pod with this uid in its observed version; null if it is unknown. */
  find({ node, uid }: PodTarget): BoundPod | null {
    for (const pods of this.#nodes.get(node)?.chunks.values() ?? []) {
      const pod = pods.find((each) => each.uid === uid);
      if (pod?.resourceVersion !== undefined) return { node, resourceVersion: pod.resourceVersion, pod };
    }
    return null;
  }

  #onPods({ node, version, chunk, pods }: BodyOf<"observed.pods">): void {
    const known = this.#nodes.get(node);
    const stored = known?.version === version ? known : { version, chunks: new Map() };
    stored.chunks.set(chunk, pods);
    this.#nodes.set(node, stored);
    this.#listeners.podsChanged(node);
  }

  #onNode(node: ObservedNode): void {
    if (!needsPods(node)) this.#forget(node.node);
    this.#listeners.nodeObserved(node);
  }

  #forget(node: string): void {
    if (this.#nodes.delete(node)) this.#listeners.podsChanged(node);
  }
}
