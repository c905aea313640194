/** What a node lease says, and how long one waits for it (9.12). Pure; lease.ts talks to the API. */
import { LEASE_NAMESPACE } from "../../protocols/names.ts";
import type { KubeObject, ObjectRef, Random } from "../../protocols/ports.ts";
import { apiMicroTime } from "../domain/api-time.ts";
import type { RetrySettings } from "../platform/structures/retry-schedule.ts";

/** A lease is renewed after this share of its duration. */
const RENEW_FRACTION = 0.25;
/** Loops are lengthened at random by up to this share, so that nodes spread out (V36). */
const JITTER = 0.04;
/** The pauses between tries to have a lease (R9.30). */
export const ENSURE_RETRIES: RetrySettings = { baseMs: 200, maxMs: 7_000 };

/** A node lease as it is written. */
export type Lease = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: KubeObject["metadata"] & { readonly ownerReferences?: readonly unknown[] };
  readonly spec: { readonly [field: string]: unknown };
};

/** Which object the lease of a node is. */
export function leaseRef(nodeName: string): ObjectRef {
  return { kind: "Lease", namespace: LEASE_NAMESPACE, name: nodeName };
}

/** What a renewed lease says. */
export interface Renewal {
  readonly nodeName: string;
  readonly nowMs: number;
  readonly seconds: number;
  /** The owner to name; null to keep the one that stands there. */
  readonly uid: string | null;
}

/** The lease renewed: as last known, but for a new time and its present version (R9.28, R9.33). */
export function renewedLease(
  latest: Lease | null,
  resourceVersion: string | null,
  { nodeName, nowMs, seconds, uid }: Renewal,
): Lease {
  const metadata = latest?.metadata ?? { name: nodeName, namespace: LEASE_NAMESPACE };
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: {
      ...metadata,
      ...(resourceVersion !== null && { resourceVersion }),
      ...(uid !== null && { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: nodeName, uid }] }),
    },
    spec: {
      ...latest?.spec,
      holderIdentity: nodeName,
      leaseDurationSeconds: seconds,
      renewTime: apiMicroTime(nowMs),
    },
  };
}

/** Whether the owner must be looked up before the lease is written. */
export function lacksOwner(lease: Lease | undefined): boolean {
  return (lease?.metadata.ownerReferences ?? []).length === 0;
}

/** A lease as the API returned it, without the bookkeeping that need not be sent back. */
export function leaseOf(object: KubeObject): Lease {
  const { managedFields: _, ...metadata } = object.metadata;
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata,
    spec: (object.spec ?? {}) as Lease["spec"],
  };
}

/** A period lengthened by [0, 4 %) (R9.1's table). */
export function jittered(periodMs: number, random: Random): number {
  return periodMs * (1 + JITTER * random());
}

/** The pause from one renewal to the next, before jitter. */
export function renewPeriodMs(leaseSeconds: number): number {
  return leaseSeconds * 1000 * RENEW_FRACTION;
}
