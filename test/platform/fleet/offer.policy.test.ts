/** Which services a member offers while it does not reach the API server; each service keeps an owner. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SERVICE_NAMES } from "../../../protocols/ports.ts";
import {
  MOVE_PAUSE_MS,
  OFFERED,
  type Offer,
  type OfferContext,
  offerAfter,
  offerDueMs,
  REST_MAX_MS,
  SETTLE_MS,
  servicesOfApi,
} from "../../../services/platform/fleet/offer.policy.ts";

const WELL: OfferContext = { isAble: true, isFailing: false, othersOffer: true, othersAble: true };
const CUT_OFF: OfferContext = { ...WELL, isAble: false, isFailing: true };
const RECOVERING: OfferContext = { ...WELL, isAble: false };
const NONE_ABLE = { othersAble: false } as const;
const NO_OTHERS = { othersOffer: false, othersAble: false } as const;

/** The offer after a context lasted from one instant to another, with a review whenever one is due. */
function lasting(offer: Offer, context: OfferContext, fromMs: number, untilMs: number): Offer {
  let now = offerAfter(offer, context, fromMs);
  for (;;) {
    const dueMs = offerDueMs(now);
    const next = dueMs === null || dueMs > untilMs ? now : offerAfter(now, context, Math.max(dueMs, fromMs));
    if (next === now || JSON.stringify(next) === JSON.stringify(now)) return offerAfter(next, context, untilMs);
    now = next;
  }
}

const withdrawnAt = (ms: number) => offerAfter(offerAfter(OFFERED, CUT_OFF, ms - SETTLE_MS), CUT_OFF, ms);

test("services that observe or write need the API server", () => {
  expect(servicesOfApi(SERVICE_NAMES)).toEqual(["observer", "node-writer", "pod-writer", "ledger", "policy"]);
});

describe("a cut-off member", () => {
  test("withdraws a service once another was able for two seconds", () => {
    expect(lasting(OFFERED, CUT_OFF, 0, SETTLE_MS - 1).isOffered).toBe(true);
    expect(lasting(OFFERED, CUT_OFF, 0, SETTLE_MS).isOffered).toBe(false);
  });

  test("waits again when the other was unable for a moment", () => {
    const interrupted = offerAfter(offerAfter(OFFERED, CUT_OFF, 0), { ...CUT_OFF, ...NONE_ABLE }, 1_000);
    expect(lasting(interrupted, CUT_OFF, 1_500, 1_500 + SETTLE_MS - 1).isOffered).toBe(true);
    expect(lasting(interrupted, CUT_OFF, 1_500, 1_500 + SETTLE_MS).isOffered).toBe(false);
  });

  test.each([
    ["no other is able", { ...CUT_OFF, ...NONE_ABLE }],
    ["no other runs it", { ...CUT_OFF, ...NO_OTHERS }],
    ["it is answered again", RECOVERING],
    ["its failures have not lasted", { ...WELL, isFailing: true }],
  ])("keeps the service while %s", (_when, context) => {
    expect(lasting(OFFERED, context, 0, 3_600_000).isOffered).toBe(true);
  });
});

describe("after a withdrawal, a member", () => {
  const withdrawn = withdrawnAt(100_000);

  test("offers it once it is able, after half a minute", () => {
    expect(offerAfter(withdrawn, WELL, 100_000 + MOVE_PAUSE_MS - 1).isOffered).toBe(false);
    expect(offerAfter(withdrawn, WELL, 100_000 + MOVE_PAUSE_MS).isOffered).toBe(true);
  });

  test.each([
    ["is not able", RECOVERING],
    ["fails", { ...WELL, isFailing: true }],
    ["is cut off and no other is able", { ...CUT_OFF, ...NONE_ABLE }],
  ])("does not offer the service while it %s", (_when, context) => {
    expect(lasting(withdrawn, context, 100_000, 3_600_000).isOffered).toBe(false);
  });

  test("offers the service at once when it alone is able", () => {
    expect(offerAfter(withdrawn, { ...WELL, ...NONE_ABLE }, 100_001).isOffered).toBe(true);
  });

  test("offers the service at once when no other does", () => {
    expect(offerAfter(withdrawn, { ...CUT_OFF, ...NO_OTHERS }, 100_001).isOffered).toBe(true);
  });

  test("keeps an offer for half a minute", () => {
    const again = offerAfter(withdrawn, WELL, 130_000);
    expect(lasting(again, CUT_OFF, 140_000, 159_999).isOffered).toBe(true);
    expect(lasting(again, CUT_OFF, 140_000, 160_000).isOffered).toBe(false);
  });

  test("pauses longer each time until it is steady", () => {
    let offer = OFFERED;
    let nowMs = 0;
    const rests: number[] = [];
    for (let times = 0; times < 7; times++) {
      offer = lasting(offer, CUT_OFF, nowMs, nowMs + MOVE_PAUSE_MS);
      nowMs = offerDueMs(offer) ?? 0;
      rests.push(nowMs - (offer.movedMs ?? 0));
      offer = offerAfter(offer, WELL, nowMs);
      expect(offer.isOffered).toBe(true);
    }
    expect(rests).toEqual([30_000, 60_000, 120_000, 240_000, 480_000, REST_MAX_MS, REST_MAX_MS]);
    const later = lasting(offer, CUT_OFF, nowMs + 600_000, nowMs + 600_000 + SETTLE_MS);
    expect((offerDueMs(later) ?? 0) - (later.movedMs ?? 0)).toBe(MOVE_PAUSE_MS);
  });
});

test("however a link flaps, its shards move at most once per half a minute", () => {
  const phase = fc.record({
    context: fc.constantFrom(WELL, CUT_OFF, RECOVERING, { ...WELL, isFailing: true }),
    lastsMs: fc.integer({ min: 1, max: 60_000 }),
  });
  fc.assert(
    fc.property(fc.array(phase, { maxLength: 40 }), (phases) => {
      let offer = OFFERED;
      let nowMs = 0;
      const moves: number[] = [];
      for (const { context, lastsMs } of phases) {
        for (const endMs = nowMs + lastsMs; nowMs < endMs; nowMs += 500) {
          const before = offer.isOffered;
          offer = offerAfter(offer, context, nowMs);
          if (offer.isOffered !== before) moves.push(nowMs);
        }
      }
      const gaps = moves.slice(1).map((move, index) => move - (moves[index] ?? 0));
      expect(gaps.filter((gap) => gap < MOVE_PAUSE_MS)).toEqual([]);
    }),
  );
});

test("whatever links fail, each service is offered, soon by an able member", () => {
  const link = fc.constantFrom("well", "cut" as const);
  fc.assert(
    fc.property(fc.array(fc.tuple(link, link, link), { minLength: 1, maxLength: 12 }), (epochs) => {
      let offers: Offer[] = [OFFERED, OFFERED, OFFERED];
      let nowMs = 0;
      for (const links of epochs) {
        for (const endMs = nowMs + 120_000; nowMs < endMs; nowMs += 1_000) {
          // Each reviews the last offers of the others, as with pulses.
          const published = offers;
          offers = published.map((offer, self) => {
            const isAble = links[self] === "well";
            const others = published.filter((other, index) => index !== self && other.isOffered);
            const othersAble = published.some(
              (other, index) => index !== self && other.isOffered && links[index] === "well",
            );
            const context = { isAble, isFailing: !isAble, othersOffer: others.length > 0, othersAble };
            return offerAfter(offer, context, nowMs);
          });
        }
        expect(offers.some(({ isOffered }) => isOffered)).toBe(true);
        const isAnyAble = links.includes("well");
        expect(offers.some(({ isOffered }, index) => isOffered && links[index] === "well")).toBe(isAnyAble);
        const unable = offers.filter(({ isOffered }, index) => isOffered && links[index] === "cut");
        if (isAnyAble) expect(unable).toEqual([]);
      }
    }),
  );
});
