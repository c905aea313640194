/**
 * Decides whether the lease of a node is contested: another process than the kubelet of this node may renew it, and
 * then a dead node looks alive. Either it belongs to another node object, such as one that was deleted while its
 * machine ran on. Or two machines renew it in turn: A, B, A and B within five minutes. Its renewals count as heartbeats
 * all the same, as upstream. Pure; instants are on the monotonic clock.
 */
import type { ContestedLease } from "../../protocols/observed.ts";

/** How often the holder must change back and forth, and within what time in milliseconds. */
const CHANGES_MIN = 3;
const CHANGES_WITHIN_MS = 300_000;

/** The machines that renew a lease. */
export interface LeaseHolders {
  readonly holder: string;
  /** The one before; null for none. */
  readonly other: string | null;
  /** The last changes between the two, in order: at most CHANGES_MIN. */
  readonly changesMs: readonly number[];
}

/** The holders after a renewal. With a third holder the count starts again. */
export function holdersAfter(before: LeaseHolders, holder: string, nowMs: number): LeaseHolders {
  if (holder === before.holder) return before;
  const changesMs = holder === before.other ? before.changesMs.slice(1 - CHANGES_MIN) : [];
  return { holder, other: before.holder, changesMs: [...changesMs, nowMs] };
}

/** The two holders that renew in turn, sorted; null if there are none. */
export function alternatingHolders({ holder, other, changesMs }: LeaseHolders, nowMs: number): [string, string] | null {
  const [firstMs = nowMs] = changesMs;
  if (other === null || changesMs.length < CHANGES_MIN || nowMs - firstMs > CHANGES_WITHIN_MS) return null;
  return holder < other ? [holder, other] : [other, holder];
}

/** How the lease of a node is contested; null if it is not. `ownerUid` is null for a lease without an owner. */
export function contestOf(
  { node, uid }: { readonly node: string; readonly uid: string },
  ownerUid: string | null,
  holders: [string, string] | null,
): ContestedLease | null {
  const isForeign = ownerUid !== null && ownerUid !== uid;
  if (!isForeign && holders === null) return null;
  return { node, ...(isForeign ? { ownerUid } : {}), ...(holders === null ? {} : { holders }) };
}
