/** An order-free checksum over (name, version) pairs: equal digests show that a reader holds all that was published. */
import type { Digest } from "./observed.ts";
import { fnv1a } from "./subjects.ts";

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

/** Whether two digests cover the same pairs; wrong once in 2^32. */
export function sameDigest(left: Digest, right: Digest): boolean {
  return left.count === right.count && left.sum === right.sum;
}

/** The version of a node in a shard's digest. */
export function nodeVersion(uid: string, resourceVersion: string): string {
  return `${uid}@${resourceVersion}`;
}

function weight(name: string, version: string): number {
  return fnv1a(`${name}\n${version}`);
}
