/**
 * An order-free checksum over (name, version) pairs: equal digests show that a reader has everything that was
 * published.
 */
import type { ObservedNode } from "./objects.ts";
import type { Digest } from "./observed.ts";
import { fnv1a, scatter } from "./subjects.ts";

/** The fields that distinguish one published state of a node from another. */
export type VersionedNode = Pick<ObservedNode, "uid" | "resourceVersion" | "policyLabels">;

/** The digest of nothing. */
export const EMPTY_DIGEST: Digest = { count: 0, sum: 0, mixed: 0 };

/** The digest with one pair added. Adding and removing commute, so a changing map costs O(1) per change. */
export function digestWith(digest: Digest, name: string, version: string): Digest {
  return moved(digest, fnv1a(`${name}\n${version}`), 1);
}

/** The digest with one pair removed. */
export function digestWithout(digest: Digest, name: string, version: string): Digest {
  return moved(digest, fnv1a(`${name}\n${version}`), -1);
}

/**
 * Whether two digests cover the same pairs; wrong once in 2^32. Against a member that sends the plain sum alone it is
 * wrong more often: of two pairs whose versions go from 105 to 107 and from 106 to 108, one time in eight.
 */
export function sameDigest(left: Digest, right: Digest): boolean {
  if (left.count !== right.count || left.sum !== right.sum) return false;
  return left.mixed === undefined || right.mixed === undefined || left.mixed === right.mixed;
}

/**
 * The version of a node in a shard's digest. For other policies the same resourceVersion is published with other labels
 * and conditions, so what was published for policies counts with their checksum.
 */
export function nodeVersion({ uid, resourceVersion, policyLabels }: VersionedNode): string {
  const version = `${uid}@${resourceVersion}`;
  return policyLabels === undefined ? version : `${version}@${policyLabels}`;
}

function moved({ count, sum, mixed = 0 }: Digest, hash: number, by: 1 | -1): Digest {
  return { count: count + by, sum: (sum + by * hash) >>> 0, mixed: (mixed + by * scatter(hash)) >>> 0 };
}
