/** Makes a hash fit for sums and comparisons. */

/** Spreads a hash over all its bits (finalizer of MurmurHash3): FNV leaves texts with a common end close together. */
export function scatter(hash: number): number {
  let bits = hash ^ (hash >>> 16);
  bits = Math.imul(bits, 0x85ebca6b);
  bits ^= bits >>> 13;
  bits = Math.imul(bits, 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
