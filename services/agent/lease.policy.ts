/** The contents of a node lease and the periods of its renewal. lease.ts talks to the API. */

import { LEASE_NAMESPACE } from "../../protocols/names.ts";
import type { KubeObject, ObjectRef, Random } from "../../protocols/ports.ts";
import { apiMicroTime } from "../domain/api-time.ts";
import type { LeaseSpecFields, OwnerReferences } from "../platform/kube/write/sent-bodies.ts";
import type { RetrySettings } from "../structures/retry-schedule.ts";

/** A lease is renewed after this share of its duration. */
const RENEW_FRACTION = 0.25;
/** Periods are lengthened at random by up to this share, so that nodes spread out. */
const JITTER = 0.04;
/** Pauses between attempts to read or create the lease (R9.30). */
export const ENSURE_RETRIES: RetrySettings = { baseMs: 200, maxMs: 7_000 };

const KIND = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" } as const;

/** A node lease. */
export type Lease = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: KubeObject["metadata"] & { readonly ownerReferences?: readonly unknown[] };
  readonly spec: { readonly [field: string]: unknown };
};

/** The lease of a node. */
export function leaseRef(nodeName: string): ObjectRef {
  return { kind: "Lease", namespace: LEASE_NAMESPACE, name: nodeName };
}

/** The contents of a renewal. */
export interface Renewal {
  readonly nodeName: string;
  readonly nowMs: number;
  readonly seconds: number;
  /** The uid of the owner; null to keep the present one. */
  readonly uid: string | null;
}

/** The known lease with a new renewTime and its present version (R9.28, R9.33). */
export function renewedLease(
  latest: Lease | null,
  resourceVersion: string | null,
  { nodeName, nowMs, seconds, uid }: Renewal,
): Lease {
  const metadata = latest?.metadata ?? { name: nodeName, namespace: LEASE_NAMESPACE };
  const spec: LeaseSpecFields = {
    holderIdentity: nodeName,
    leaseDurationSeconds: seconds,
    renewTime: apiMicroTime(nowMs),
  };
  return {
    ...KIND,
    metadata: {
      ...metadata,
      ...(resourceVersion !== null && { resourceVersion }),
      ...(uid !== null && { ownerReferences: ownersOf(nodeName, uid) }),
    },
    spec: { ...latest?.spec, ...spec },
  };
}

function ownersOf(name: string, uid: string): OwnerReferences {
  return [{ apiVersion: "v1", kind: "Node", name, uid }];
}

/** Whether the owner must be read before the lease is written. */
export function lacksOwner(lease: Lease | undefined): boolean {
  return (lease?.metadata.ownerReferences ?? []).length === 0;
}

/** A lease as the API returned it, without managedFields. */
export function leaseOf(object: KubeObject): Lease {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...KIND, metadata, spec: (object.spec ?? {}) as Lease["spec"] };
}

/** A period lengthened by [0, 4 %) (R9.1). */
export function jittered(periodMs: number, random: Random): number {
  return periodMs * (1 + JITTER * random());
}

/** The period of renewals, before jitter. */
export function renewPeriodMs(leaseSeconds: number): number {
  return leaseSeconds * 1000 * RENEW_FRACTION;
}
