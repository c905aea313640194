/** Bound pods by node, up to a million of them, with a version of each node's pods. */
import type { ObservedPod } from "../../protocols/objects.ts";
import type { BoundPod } from "../../protocols/ports.ts";
import { fnv1a, scatter } from "../../protocols/subjects.ts";

/** Pods by node. A scan finds a pod within its node, because a node has about a hundred. */
export class PodIndex {
  /** The watch reader's own objects, so a pod costs one slot. */
  readonly #nodes = new Map<string, BoundPod[]>();

  /**
   * The version of a node's pods: equal when the pods and their resource versions are. It is computed on demand,
   * because few nodes need it, and maintaining it for all nodes took a fifth of the start-up cost of a pod. Each
   * version is scattered before the sum. Without that, pods that go from version 105 to 107 and from 106 to 108 may
   * leave the sum unchanged.
   */
  versionOf(node: string): string {
    const pods = this.#nodes.get(node) ?? [];
    let sum = 0;
    for (const { pod, resourceVersion } of pods) {
      sum = (sum + scatter(fnv1a(`${pod.uid}\n${resourceVersion}`))) >>> 0;
    }
    return `${pods.length}.${sum}`;
  }

  podsOf(node: string): ObservedPod[] {
    return this.#nodes.get(node)?.map(({ pod, resourceVersion }) => ({ ...pod, resourceVersion })) ?? [];
  }

  put(bound: BoundPod): void {
    const pods = this.#nodes.get(bound.node);
    if (pods === undefined) {
      this.#nodes.set(bound.node, [bound]);
      return;
    }
    const at = indexOf(pods, bound);
    pods[at < 0 ? pods.length : at] = bound;
  }

  remove(bound: BoundPod): void {
    const pods = this.#nodes.get(bound.node) ?? [];
    const at = indexOf(pods, bound);
    if (at < 0) return;
    const last = pods.pop();
    if (last !== undefined && at < pods.length) pods[at] = last;
    if (pods.length === 0) this.#nodes.delete(bound.node);
  }
}

function indexOf(pods: readonly BoundPod[], { pod: { uid } }: BoundPod): number {
  return pods.findIndex(({ pod }) => pod.uid === uid);
}
