/** Checks Vigil's Events about evictions against the deletions that the API server accepted. */
import { BrokenInvariant } from "./invariants.ts";

/** An Event as the check sees it. */
export interface CheckedEvent {
  readonly message: string;
  readonly involvedObject: { readonly kind: string; readonly name: string; readonly uid: string };
}

const MARKING = "Marking for deletion";

/** Follows the pods that Vigil deleted, and checks its Events about them. */
export class Reports {
  /** Pods whose deletion by Vigil the API server accepted. */
  readonly #evicted = new Set<string>();
  /** Pods whose deletion may or may not have been accepted, because the reply was lost. */
  readonly #lost = new Set<string>();

  /** The API server accepted a pod's deletion from Vigil. */
  evicted(uid: string): void {
    this.#evicted.add(uid);
  }

  /** The reply to a pod's deletion was lost. */
  lost(uid: string): void {
    this.#lost.add(uid);
  }

  /** Checks one of Vigil's Events. Throws when it reports a deletion that never happened. */
  event({ message, involvedObject: { kind, name, uid } }: CheckedEvent): void {
    if (kind !== "Pod" || !message.includes(MARKING) || this.#evicted.has(uid) || this.#lost.has(uid)) return;
    throw new BrokenInvariant(`an Event says "${message}" of ${name}, whose deletion was never accepted`);
  }
}
