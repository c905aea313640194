/** When a taint starts to count after any history of the taint, its stamps, gaps and restarts, by a simple model. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { ObservedNode, Taint } from "../../protocols/objects.ts";
import { apiTime } from "../../services/domain/api-time.ts";
import { type KnownTaint, knownTaints, startsToWrite } from "../../services/taint-manager/taint-manager.policy.ts";
import { NOT_SEEN_BEFORE, noExecute, observedNode } from "../support/observed-objects.ts";

const S = 1000;
const CREATED = Date.UTC(2026, 0, 1);
const NAME = "k:NoExecute";
/** Stamps are whole seconds, and recorded starts whole milliseconds. */
const MOVED_MS = S + 1;

/** What happens at one instant: to the view first, then to the taint. */
interface Step {
  readonly pauseMs: number;
  /** `complete`: the view is complete from here on. `lost`: changes are lost. `restart`: a new process. */
  readonly view: "complete" | "lost" | "restart";
  readonly change: "none" | "add" | "remove";
  /** How far the stamp is ahead of the present; null for no stamp. */
  readonly aheadMs: number | null;
}

const step: fc.Arbitrary<Step> = fc.record({
  pauseMs: fc.integer({ min: 1, max: 100 * S }),
  view: fc.constantFrom("complete", "complete", "complete", "lost", "restart"),
  change: fc.constantFrom("none", "add", "add", "remove"),
  aheadMs: fc.option(
    fc.oneof(
      fc.constant(0),
      fc.integer({ min: -10 * S, max: 10 * S }),
      fc.integer({ min: -3600 * S, max: 3600 * S }),
      fc.constant(2e12),
    ),
  ),
});

/** One node, what the taint-manager knows of it, and the bounds within which its taint may start. */
class History {
  #nowMs = 0;
  #taint: Taint | null = null;
  #known: readonly KnownTaint[] = [];
  #written: Record<string, number> | undefined;
  #wholeMs = 0;
  #isComplete = true;
  /** Between which instants the taint may start; null while there is none or none was seen. */
  #bounds: { readonly fromMs: number; readonly toMs: number } | null = null;

  take({ pauseMs, view, change, aheadMs }: Step): void {
    this.#nowMs += pauseMs;
    if (this.#isComplete) this.#wholeMs = this.#nowMs;
    if (view === "lost") this.#isComplete = false;
    if (change === "remove") this.#taint = null;
    if (change === "add") this.#taint = noExecute("k", this.#stamped(aheadMs));
    if (view === "restart") this.#known = [];
    const isBroken = view === "restart" || !this.#isComplete;
    if (view !== "lost") this.#review(view === "restart", isBroken);
  }

  #stamped(aheadMs: number | null): Partial<Taint> {
    return aheadMs === null ? {} : { timeAdded: apiTime(CREATED + this.#nowMs + aheadMs) };
  }

  #review(isRestart: boolean, isBroken: boolean): void {
    const node = this.#node();
    const [before, after] = [this.#known[0], this.#taint];
    this.#bounds = after === null ? null : this.#boundsAfter(after, before, isRestart, isBroken);
    const seen = isRestart ? NOT_SEEN_BEFORE : { absentMs: this.#wholeMs, isUnbroken: !isBroken };
    this.#known = knownTaints(node, this.#known, { monotonicMs: this.#nowMs, wallMs: CREATED + this.#nowMs, ...seen });
    this.#write(node);
    this.#isComplete = true;
    if (this.#bounds === null) return;
    const since = this.#known[0]?.since;
    expect(since).toBeGreaterThanOrEqual(this.#bounds.fromMs - MOVED_MS);
    expect(since).toBeLessThanOrEqual(this.#bounds.toMs + MOVED_MS);
  }

  /** A complete view shows when a taint appeared; after a gap only stamps and records do. */
  #boundsAfter(taint: Taint, before: KnownTaint | undefined, isRestart: boolean, isBroken: boolean) {
    const nowMs = this.#nowMs;
    if (isRestart) {
      const stampMs = taint.timeAdded === undefined ? nowMs : Date.parse(taint.timeAdded) - CREATED;
      const recordedMs = (this.#written?.[NAME] ?? Number.NaN) - CREATED;
      const startMs = Math.min(Math.max(Number.isNaN(recordedMs) ? stampMs : recordedMs, 0), nowMs);
      return { fromMs: startMs, toMs: startMs };
    }
    if (before === undefined || this.#bounds === null) return { fromMs: this.#wholeMs, toMs: nowMs };
    if (!isBroken) return this.#bounds;
    const isOther = taint.timeAdded !== before.taint.timeAdded && !before.isRestamped;
    if (isOther) return { fromMs: this.#wholeMs, toMs: nowMs };
    return { fromMs: this.#bounds.fromMs, toMs: nowMs };
  }

  #node(): ObservedNode {
    return observedNode("a", {
      createdAt: CREATED,
      taints: this.#taint === null ? [] : [this.#taint],
      ...(this.#written === undefined ? {} : { taintsSeenAt: this.#written }),
    });
  }

  #write(node: ObservedNode): void {
    const countedTaints = (): ReadonlySet<Taint> => new Set(node.taints);
    const starts = startsToWrite(node, this.#known, { countedTaints, nowMs: this.#nowMs });
    if (starts === null) return;
    const entries = Object.entries(starts).map(([name, at]) => [name, Date.parse(at)] as const);
    this.#written = entries.length === 0 ? undefined : Object.fromEntries(entries);
  }
}

test("a taint starts between a second before it can have appeared and when first seen", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 20 }), (steps) => {
      const history = new History();
      for (const each of steps) history.take(each);
    }),
    { numRuns: 2000 },
  );
});

test("a taint that is restamped again and again starts when it appeared, over restarts", () => {
  const restamp = fc.record({
    pauseMs: fc.integer({ min: 1, max: 30 * S }),
    view: fc.constantFrom("complete" as const, "restart" as const),
    aheadMs: fc.integer({ min: -3600 * S, max: 3600 * S }),
  });
  fc.assert(
    fc.property(fc.array(restamp, { maxLength: 20 }), (restamps) => {
      let known: readonly KnownTaint[] = [];
      let written: Record<string, number> | undefined;
      let nowMs = 60 * S;
      const review = (aheadMs: number, isRestart: boolean): void => {
        const taint = noExecute("k", { timeAdded: apiTime(CREATED + nowMs + aheadMs) });
        const node = observedNode("a", {
          createdAt: CREATED,
          taints: [taint],
          ...(written === undefined ? {} : { taintsSeenAt: written }),
        });
        const seen = isRestart ? NOT_SEEN_BEFORE : { absentMs: nowMs, isUnbroken: true };
        known = knownTaints(node, isRestart ? [] : known, { monotonicMs: nowMs, wallMs: CREATED + nowMs, ...seen });
        const starts = startsToWrite(node, known, { countedTaints: () => new Set([taint]), nowMs });
        const entries = Object.entries(starts ?? {}).map(([name, at]) => [name, Date.parse(at)]);
        if (starts !== null) written = entries.length === 0 ? undefined : Object.fromEntries(entries);
      };
      review(0, false);
      nowMs += 3 * S;
      review(0, false);
      for (const { pauseMs, view, aheadMs } of restamps) {
        nowMs += pauseMs;
        review(aheadMs, view === "restart");
      }
      expect(known.map(({ since }) => since)).toEqual([60 * S]);
    }),
  );
});
