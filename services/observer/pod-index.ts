/** Every bound pod by its node, a million of them if need be, with a version of each node's pods. It tells nobody. */
import { digestWith, EMPTY_DIGEST } from "../../protocols/digest.ts";
import type { ObservedPod } from "../../protocols/objects.ts";
import type { BoundPod } from "../../protocols/ports.ts";

/** Pods by node. Within a node a pod is found by a scan: there are about a hundred. */
export class PodIndex {
  /** The reader's own objects: an entry here costs one slot. */
  readonly #nodes = new Map<string, BoundPod[]>();

  /**
   * The version of a node's pods: equal when the pods and their resource versions are. Put together when it is asked
   * for, because few nodes are ever of interest: kept for all, it was a fifth of what a pod costs at a start.
   */
  versionOf(node: string): string {
    let digest = EMPTY_DIGEST;
    for (const { pod, resourceVersion } of this.#nodes.get(node) ?? []) {
      digest = digestWith(digest, pod.uid, resourceVersion);
    }
    return `${digest.count}.${digest.sum}`;
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
