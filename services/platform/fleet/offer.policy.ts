/**
 * Decides which services a member offers to the fleet. A member that does not reach the API server withdraws the
 * services that need it if another member can take over; it never leaves a service without an owner. Instants are
 * monotonic milliseconds.
 *
 * Each member decides for itself and publishes its offers in its pulse. So every member computes the same owners from
 * the same pulses (ownership.policy.ts).
 */
import type { ServiceName } from "../../../protocols/ports.ts";
import { retryPauseMs } from "../../structures/retry-schedule.ts";

/** Whether a service is useless in a process that does not reach the API server. The ledger writes Events. */
const NEEDS_API: Readonly<Record<ServiceName, boolean>> = {
  observer: true,
  node: false,
  zone: false,
  "taint-manager": false,
  "node-writer": true,
  "pod-writer": true,
  ledger: true,
  policy: true,
};

/**
 * How long another member must have been able before a service is withdrawn in its favour, in milliseconds. An outage
 * of the API server reaches all members within a second or two; they must not take over from each other. Example: the
 * API server goes away, and this member is unable from 12:00:00 and the other from 12:00:01. The other was able for
 * only a second longer, so this member withdraws nothing.
 */
export const SETTLE_MS = 2_000;
/** The shortest time between offering a service and withdrawing it, and between withdrawing and offering it again. */
export const MOVE_PAUSE_MS = 30_000;
/** The pause before a service is offered again doubles with each withdrawal, up to this. */
export const REST_MAX_MS = 600_000;
/** After offering a service for this long, the pause after its next withdrawal is the shortest again. */
const STEADY_MS = 600_000;

/** The state of one service of a member. */
export interface Offer {
  readonly isOffered: boolean;
  /** When it was last withdrawn or offered again; null before. */
  readonly movedMs: number | null;
  /** Since when only SETTLE_MS prevents a withdrawal; null while another reason does. */
  readonly settlingSinceMs: number | null;
  /** How many times it was withdrawn without STEADY_MS of offering in between. */
  readonly withdrawals: number;
}

/** What an offer depends on. */
export interface OfferContext {
  /** Whether we can observe and write. It stays false for a while after the API server answers again. */
  readonly isAble: boolean;
  /** Whether our last request to the API server failed. */
  readonly isFailing: boolean;
  readonly othersOffer: boolean;
  /** Whether one of them is able. */
  readonly othersAble: boolean;
}

/** The first state of every service. */
export const OFFERED: Offer = { isOffered: true, movedMs: null, settlingSinceMs: null, withdrawals: 0 };

/** The services that need the API server. */
export function servicesOfApi(services: readonly ServiceName[]): readonly ServiceName[] {
  return services.filter((service) => NEEDS_API[service]);
}

/** The offer after a review at `nowMs`. */
export function offerAfter(offer: Offer, context: OfferContext, nowMs: number): Offer {
  return offer.isOffered ? withdrawnIfUnable(offer, context, nowMs) : offeredIfNeeded(offer, context, nowMs);
}

/** When an offer must be reviewed even if nothing happens; null when it need not be. */
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

/** A service without any offer is offered at once. That does not count as a move, because no link has flapped. */
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
