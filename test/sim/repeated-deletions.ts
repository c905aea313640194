/**
 * Whether one thing is deleted over and over: a pod that is recreated on its node at once cannot be evicted, and
 * deleting it again each second has no use.
 */
import { BrokenInvariant, type CheckedPod } from "./invariants.ts";

/**
 * The most deletions of one owner's pods of one name on one node within the window. Pauses grow from 1 s, so one
 * process makes six; one that takes over does not know them and begins again.
 */
const DELETIONS_MAX = 16;
const WINDOW_MS = 60_000;

/** Counts the deletions of Vigil. Instants are on the wall clock. */
export class RepeatedDeletions {
  readonly #deletedAt = new Map<string, readonly number[]>();

  /** Records a deletion by Vigil. */
  deleted({ metadata, spec }: CheckedPod, wallMs: number): void {
    const key = `${spec.nodeName} ${metadata.namespace}/${metadata.name}`;
    const recent = [...(this.#deletedAt.get(key) ?? []), wallMs].filter((at) => at > wallMs - WINDOW_MS);
    this.#deletedAt.set(key, recent);
    if (recent.length <= DELETIONS_MAX) return;
    throw new BrokenInvariant(
      `${metadata.name} on ${spec.nodeName} was deleted ${recent.length} times within a minute`,
    );
  }
}
