/**
 * Decides which services a member offers to the fleet. A member that does not reach the API server withdraws those that
 * need it, provided that another member can take over; it never leaves a service to nobody. It hears no one and keeps
 * no time: what is known of others and the instants, monotonic milliseconds, come in as arguments.
 *
 * Each member decides for itself alone and says in its pulse what it offers, so every member works out the same owners
 * from the same pulses (fleet.policy.ts), also one that joins later or knows nothing of this rule.
 */
import type { ServiceName } from "../../../protocols/ports.ts";
import { retryPauseMs } from "../structures/retry-schedule.ts";

/** Whether a service is of no use in a process that does not reach the API server. The ledger writes Events. */
const NEEDS_API: Readonly<Record<ServiceName, boolean>> = {
  observer: true,
  node: false,
  zone: false,
  "taint-manager": false,
  "node-writer": true,
  "pod-writer": true,
  ledger: true,
};

/**
 * How long another member must have been able before a service is withdrawn in its favour, in milliseconds. An outage
 * of the API server strikes all members within a second or two, and none of them is to take over from the others.
 */
export const SETTLE_MS = 2_000;
/** A service is withdrawn at the earliest so long after it was offered again, and offered so long after. */
export const MOVE_PAUSE_MS = 30_000;
/** The pause before a service is offered again doubles with each withdrawal, up to this. */
export const REST_MAX_MS = 600_000;
/** A member that has offered a service for so long begins again with the shortest pause. */
const STEADY_MS = 600_000;

/** How a member stands to one of its services. */
export interface Offer {
  readonly isOffered: boolean;
  /** When it was withdrawn, or offered again; null before the first time. */
  readonly movedMs: number | null;
  /** Since when nothing but SETTLE_MS keeps it from being withdrawn; null while something else does. */
  readonly settlingSinceMs: number | null;
  /** How often it was withdrawn with less than STEADY_MS between two times. */
  readonly withdrawals: number;
}

/** What an offer is reviewed by. */
export interface OfferContext {
  /** Whether we can observe and write; false for a while after the API server has answered again, too. */
  readonly isAble: boolean;
  /** Whether our last request to the API server failed. */
  readonly isFailing: boolean;
  /** Whether another member offers the service. */
  readonly othersOffer: boolean;
  /** Whether one of those is able. */
  readonly othersAble: boolean;
}

/** How every service is offered at first. */
export const OFFERED: Offer = { isOffered: true, movedMs: null, settlingSinceMs: null, withdrawals: 0 };

/** Those of the services that need the API server. */
export function servicesOfApi(services: readonly ServiceName[]): readonly ServiceName[] {
  return services.filter((service) => NEEDS_API[service]);
}

/** The offer as it should be now. */
export function offerAfter(offer: Offer, context: OfferContext, nowMs: number): Offer {
  return offer.isOffered ? withdrawnIfUnable(offer, context, nowMs) : offeredIfNeeded(offer, context, nowMs);
}

/** When an offer is to be reviewed although nothing has happened; null when it need not be. */
export function offerDueMs(offer: Offer): number | null {
  if (!offer.isOffered) return (offer.movedMs ?? 0) + restMs(offer);
  const { settlingSinceMs, movedMs } = offer;
  if (settlingSinceMs === null) return null;
  return Math.max(settlingSinceMs + SETTLE_MS, (movedMs ?? Number.NEGATIVE_INFINITY) + MOVE_PAUSE_MS);
}

function withdrawnIfUnable(offer: Offer, context: OfferContext, nowMs: number): Offer {
  const { isAble, isFailing, othersAble } = context;
  const settlingSinceMs = !isAble && isFailing && othersAble ? (offer.settlingSinceMs ?? nowMs) : null;
  const settling = { ...offer, settlingSinceMs };
  const dueMs = offerDueMs(settling);
  if (dueMs === null || nowMs < dueMs) return settling;
  const isSteady = offer.movedMs === null || nowMs - offer.movedMs >= STEADY_MS;
  const withdrawals = isSteady ? 1 : offer.withdrawals + 1;
  return { isOffered: false, movedMs: nowMs, settlingSinceMs: null, withdrawals };
}

/** A service that nobody offers is offered whatever holds, and does not count as moved: no link has flapped. */
function offeredIfNeeded(offer: Offer, context: OfferContext, nowMs: number): Offer {
  const { isAble, isFailing, othersOffer, othersAble } = context;
  if (!othersOffer) return { ...offer, isOffered: true };
  if (!isAble || isFailing) return offer;
  const hasRested = nowMs >= (offer.movedMs ?? 0) + restMs(offer);
  return hasRested || !othersAble ? { ...offer, isOffered: true, movedMs: nowMs } : offer;
}

function restMs({ withdrawals }: Offer): number {
  return retryPauseMs(withdrawals, { baseMs: MOVE_PAUSE_MS, maxMs: REST_MAX_MS });
}
