/**
 * A drain that was granted in shadow mode. No pod went, so it ends with shadow mode: the node then waits for its zone
 * and every limit, as in taint mode a node does whose taint was not sent. A lost message may leave this process with
 * the former policies, while others write already; then pods that are shown again as they are say so first.
 */
import type { ObservedPod } from "../../protocols/objects.ts";

/** The drain of one node. */
export class ShadowedDrain {
  /** The uids of the pods that only shadow mode has shown as deleted. */
  readonly #unsent = new Set<string>();

  /** Takes the pods as shown now. `isInShadow` is null while the node's policy is not known. Whether it has ended. */
  review(isInShadow: boolean | null, pods: readonly ObservedPod[]): boolean {
    for (const { uid, shadow } of pods) if (shadow?.deletedAt !== undefined) this.#unsent.add(uid);
    const isShown = pods.some(({ uid, deletionAt }) => deletionAt === null && this.#unsent.has(uid));
    return isInShadow === false || isShown;
  }
}
