/** An order-free checksum over (name, version) pairs, by which a reader knows that it holds what the publisher told. */
import type { Digest } from "./observed.ts";
import { fnv1a } from "./subjects.ts";

/** The digest of nothing. */
export const EMPTY_DIGEST: Digest = { count: 0, sum: 0 };

/** The digest with one pair more. Adding and taking away commute, so it can follow a changing map at constant cost. */
export function digestWith(digest: Digest, name: string, version: string): Digest {
  return { count: digest.count + 1, sum: (digest.sum + weight(name, version)) >>> 0 };
}

/** The digest with one pair less. */
export function digestWithout(digest: Digest, name: string, version: string): Digest {
  return { count: digest.count - 1, sum: (digest.sum - weight(name, version)) >>> 0 };
}

/** Whether two digests speak of the same pairs, but for a chance of one in four thousand million. */
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
