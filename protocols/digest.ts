/** An order-free checksum over (name, version) pairs: equal digests show that a reader holds all that was published. */
import type { ObservedNode } from "./objects.ts";
import type { Digest } from "./observed.ts";
import { fnv1a } from "./subjects.ts";

/** The fields that distinguish one published state of a node from another. */
export type VersionedNode = Pick<ObservedNode, "uid" | "resourceVersion" | "policyLabels">;

/** The digest of nothing. */
export const EMPTY_DIGEST: Digest = { count: 0, sum: 0 };

/** The digest with one pair added. Adding and removing commute, so a changing map costs O(1) per change. */
export function digestWith(digest: Digest, name: string, version: string): Digest {
  return { count: digest.count + 1, sum: (digest.sum + weight(name, version)) >>> 0 };
}

/** The digest with one pair removed. */
export function digestWithout(digest: Digest, name: string, version: string): Digest {
  return { count: digest.count - 1, sum: (digest.sum - weight(name, version)) >>> 0 };
}

/**
 * Whether two digests cover the same pairs. It may be wrong where two messages are lost whose versions differ in the
 * last characters alone; every member of a fleet has to add alike, so the sum cannot be a better one.
 */
export function sameDigest(left: Digest, right: Digest): boolean {
  return left.count === right.count && left.sum === right.sum;
}

/**
 * The version of a node in a shard's digest. For other policies the same resourceVersion is published with other labels
 * and conditions, so what was published for policies counts with their checksum.
 */
export function nodeVersion({ uid, resourceVersion, policyLabels }: VersionedNode): string {
  const version = `${uid}@${resourceVersion}`;
  return policyLabels === undefined ? version : `${version}@${policyLabels}`;
}

function weight(name: string, version: string): number {
  return fnv1a(`${name}\n${version}`);
}
