/** Every bound pod by its node, a million of them if need be, with a version of each node's pods. It tells nobody. */
import { digestWith, digestWithout, EMPTY_DIGEST } from "../../protocols/digest.ts";
import type { ObservedPod } from "../../protocols/objects.ts";
import type { Digest } from "../../protocols/observed.ts";
import type { BoundPod } from "../../protocols/ports.ts";

interface NodePods {
  /** The reader's own objects: an entry here costs one slot. */
  readonly pods: BoundPod[];
  digest: Digest;
}

/** Pods by node. Within a node a pod is found by a scan: there are about a hundred. */
export class PodIndex {
  readonly #nodes = new Map<string, NodePods>();

  /** The version of a node's pods: equal when the pods and their resource versions are. */
  versionOf(node: string): string {
    const { count, sum } = this.#nodes.get(node)?.digest ?? EMPTY_DIGEST;
    return `${count}.${sum}`;
  }

  podsOf(node: string): ObservedPod[] {
    return this.#nodes.get(node)?.pods.map(({ pod, resourceVersion }) => ({ ...pod, resourceVersion })) ?? [];
  }

  put(bound: BoundPod): void {
    const entry = this.#nodes.get(bound.node) ?? { pods: [], digest: EMPTY_DIGEST };
    this.#nodes.set(bound.node, entry);
    const at = entry.pods.findIndex(({ pod }) => pod.uid === bound.pod.uid);
    const previous = entry.pods[at];
    if (previous === undefined) entry.pods.push(bound);
    else {
      entry.pods[at] = bound;
      entry.digest = digestWithout(entry.digest, previous.pod.uid, previous.resourceVersion);
    }
    entry.digest = digestWith(entry.digest, bound.pod.uid, bound.resourceVersion);
  }

  remove({ node, pod }: BoundPod): void {
    const entry = this.#nodes.get(node);
    const at = entry?.pods.findIndex(({ pod: { uid } }) => uid === pod.uid) ?? -1;
    const held = entry?.pods[at];
    if (entry === undefined || held === undefined) return;
    entry.digest = digestWithout(entry.digest, held.pod.uid, held.resourceVersion);
    const last = entry.pods.pop();
    if (last !== undefined && last !== held) entry.pods[at] = last;
    if (entry.pods.length === 0) this.#nodes.delete(node);
  }
}
