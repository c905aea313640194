/**
 * Decides which process leads, by the rules of client-go's leader election. Candidates share one Lease. Its holder
 * leads and renews it. Another candidate may take it once it has not changed for its full duration.
 *
 * Clocks of other machines do not count: a candidate measures on its own monotonic clock for how long the record has
 * not changed. Two candidates cannot both succeed, because each write names the resourceVersion that it replaces.
 */

import { Annotation } from "../../../../protocols/names.ts";
import type { Random } from "../../../../protocols/ports.ts";
import { apiMicroTime } from "../../../domain/api-time.ts";
import { type JsonRecord, recordOf, textOf } from "../../../structures/json.ts";
import type { LeaseSpecFields } from "../write/sent-bodies.ts";

const SECOND_MS = 1000;

/** The pause between attempts of a candidate is lengthened at random by up to this share (client-go's JitterFactor). */
const JITTER_FACTOR = 1.2;

/** The times of an election, in milliseconds. */
export interface ElectionTimes {
  /** How long a candidate waits after the last change of the record before it takes the Lease. */
  readonly leaseDurationMs: number;
  /** How long after its last successful renewal the leader stops. */
  readonly renewDeadlineMs: number;
  /** From a failed renewal to the next, and the shortest pause between attempts of a candidate. */
  readonly retryPeriodMs: number;
  /** From the beginning of a renewal that succeeded to the next one; absent for `retryPeriodMs`, as client-go has it. */
  readonly renewPeriodMs?: number;
}

/** The Lease of an election, with all its fields: those of other writers are kept. */
export interface ElectionLease {
  readonly metadata: JsonRecord;
  readonly spec: JsonRecord;
}

/** A Lease, and since when its record has not changed, on the monotonic clock. */
export interface SeenLease {
  readonly lease: ElectionLease;
  readonly unchangedSinceMs: number;
}

/** What a candidate knows about the election. */
export interface ElectionReport {
  readonly leads: boolean;
  /** The identity in the Lease; null while no process holds it or it is not known. */
  readonly holder: string | null;
}

/** What a candidate writes into the Lease. */
export interface Claim {
  readonly identity: string;
  readonly leaseDurationMs: number;
  readonly wallMs: number;
}

/** An identity that no other candidate has. The name alone may belong to several processes, one after the other. */
export function identityOf(member: string, random: Random): string {
  const part = () => Math.floor(random() * 2 ** 32).toString(16);
  return `${member}_${part()}${part()}`;
}

/** The member behind an identity. */
export function memberOf(identity: string): string {
  return identity.replace(/_[0-9a-f]+$/, "");
}

/** The Lease in an answer of the API; null for any other object. */
export function electionLeaseOf(raw: unknown): ElectionLease | null {
  const object = recordOf(raw);
  const { managedFields: _, ...metadata } = recordOf(object.metadata);
  return textOf(metadata.resourceVersion) === null ? null : { metadata, spec: recordOf(object.spec) };
}

/** The holder of a Lease; null when no process holds it. */
export function holderOf({ spec }: ElectionLease): string | null {
  return textOf(spec.holderIdentity);
}

/** What is known of the Lease after seeing it. A change of its metadata alone is no renewal. */
export function afterSeeing(seen: SeenLease | null, lease: ElectionLease, nowMs: number): SeenLease {
  const isSame = seen !== null && JSON.stringify(seen.lease.spec) === JSON.stringify(lease.spec);
  return { lease, unchangedSinceMs: isSame ? seen.unchangedSinceMs : nowMs };
}

/**
 * From when a candidate may take a Lease, on the monotonic clock: at once when no other process holds it. Example: a
 * Lease of 15 s was last seen to change at second 100. Another candidate may take it from second 115 on, whatever its
 * renewTime says.
 */
export function takeDueMs(
  { lease, unchangedSinceMs }: SeenLease,
  { identity, leaseDurationMs }: Pick<Claim, "identity" | "leaseDurationMs">,
): number {
  const holder = holderOf(lease);
  if (holder === null || holder === identity) return unchangedSinceMs;
  const seconds = lease.spec.leaseDurationSeconds;
  const isReadable = typeof seconds === "number" && seconds > 0;
  return unchangedSinceMs + (isReadable ? seconds * SECOND_MS : leaseDurationMs);
}

/** The record that takes or renews a Lease; `lease` is null where there is none yet. */
export function claimedSpec(lease: ElectionLease | null, { identity, leaseDurationMs, wallMs }: Claim): JsonRecord {
  const now = apiMicroTime(wallMs);
  const isRenewal = lease !== null && holderOf(lease) === identity;
  const claimed: LeaseSpecFields = {
    holderIdentity: identity,
    // Rounded up: a candidate must not take the Lease before the leader has stopped.
    leaseDurationSeconds: Math.ceil(leaseDurationMs / SECOND_MS),
    acquireTime: isRenewal ? (lease.spec.acquireTime as string) : now,
    renewTime: now,
    leaseTransitions: lease === null ? 0 : transitionsOf(lease) + (isRenewal ? 0 : 1),
  };
  return { ...lease?.spec, ...claimed };
}

/** The record of a leader that leaves: the next candidate takes the Lease at once (client-go's ReleaseOnCancel). */
export function releasedSpec(lease: ElectionLease, wallMs: number): JsonRecord {
  const now = apiMicroTime(wallMs);
  const released: LeaseSpecFields = { holderIdentity: "", leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
  return { ...lease.spec, ...released };
}

/** The metadata of a Lease that is taken or renewed: without the handover of the last holder, which is used once. */
export function claimedMetadata({ metadata }: ElectionLease): JsonRecord {
  const { [Annotation.handover]: _, ...annotations } = recordOf(metadata.annotations);
  return metadata.annotations === undefined ? metadata : { ...metadata, annotations };
}

/** The metadata of a Lease that is released, with `handover` for the next holder; null for none. */
export function releasedMetadata(lease: ElectionLease, handover: string | null): JsonRecord {
  const metadata = claimedMetadata(lease);
  if (handover === null) return metadata;
  return { ...metadata, annotations: { ...recordOf(metadata.annotations), [Annotation.handover]: handover } };
}

/** The handover of the last holder of a released Lease; null for none, and while a process holds the Lease. */
export function handoverOf(lease: ElectionLease): string | null {
  return holderOf(lease) === null ? textOf(recordOf(lease.metadata.annotations)[Annotation.handover]) : null;
}

/** Whether no process has ever held this Lease. One that was deleted and created again looks the same. */
export function isNeverHeld({ metadata, spec }: ElectionLease): boolean {
  const isUnclaimed = spec.holderIdentity === undefined && spec.leaseTransitions === undefined;
  return (
    isUnclaimed && spec.renewTime === undefined && recordOf(metadata.annotations)[Annotation.handover] === undefined
  );
}

/** How long a candidate waits before its next attempt. */
export function attemptPauseMs({ retryPeriodMs }: Pick<ElectionTimes, "retryPeriodMs">, random: Random): number {
  return retryPeriodMs * (1 + JITTER_FACTOR * random());
}

function transitionsOf({ spec }: ElectionLease): number {
  return typeof spec.leaseTransitions === "number" ? spec.leaseTransitions : 0;
}
