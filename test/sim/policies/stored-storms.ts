/**
 * Open breakers and ended storms as the ConfigMap of memories has shown them. What is written there counts for every
 * later owner of the limits, however soon after the write the one before has died.
 */
import type { World } from "../world.ts";
import { FREEZE_OBJECT } from "./api-policies.ts";
import type { PolicyState } from "./policy-state.ts";

/** From a decision before the write to its taint. */
const UNDER_WAY_MS = 2_500;

/** An instant that the ConfigMap showed about a policy, and since when; on the wall clock. */
interface Shown {
  readonly at: number;
  readonly sinceMs: number;
}

/** Until when no node of a policy is admitted for eviction. */
export interface StoredStorm {
  readonly sinceMs: number;
  readonly untilMs: number;
}

type Memory = { readonly trippedAt?: number | null; readonly stormEndedAt?: number | null };

/** Follows the ConfigMap of one run. */
export class StoredStorms {
  readonly #tripped = new Map<string, Shown>();
  readonly #ended = new Map<string, Shown>();

  constructor({ api, clock }: World) {
    api.store.collection("configmaps").listen(({ now, type }) => {
      if (now.name !== FREEZE_OBJECT.name || type === "DELETED") return;
      const text: unknown = JSON.parse(now.json).data?.limits;
      const memories: Record<string, Memory> = typeof text === "string" ? JSON.parse(text) : {};
      for (const [policy, { trippedAt, stormEndedAt }] of Object.entries(memories)) {
        note(this.#tripped, policy, trippedAt, clock.wallMs());
        note(this.#ended, policy, stormEndedAt, clock.wallMs());
      }
    });
  }

  /** The last storm that was written down and not of a moment ago; null for none. */
  of(policy: string, { breaker, stormCooldownMs }: PolicyState, nowMs: number): StoredStorm | null {
    const [tripped, ended] = [this.#tripped.get(policy), this.#ended.get(policy)];
    const cooldownMs = stormCooldownMs ?? 0;
    const storms = [
      ...(tripped === undefined || breaker === null
        ? []
        : [{ sinceMs: tripped.sinceMs, untilMs: tripped.at + breaker.resetAfterMs + cooldownMs }]),
      ...(ended === undefined ? [] : [{ sinceMs: ended.sinceMs, untilMs: ended.at + cooldownMs }]),
    ].filter(({ sinceMs }) => nowMs - sinceMs > UNDER_WAY_MS);
    return storms.reduce<StoredStorm | null>(
      (last, each) => (last === null || each.untilMs > last.untilMs ? each : last),
      null,
    );
  }
}

function note(shown: Map<string, Shown>, policy: string, at: number | null | undefined, sinceMs: number): void {
  if (typeof at === "number" && at > (shown.get(policy)?.at ?? Number.NEGATIVE_INFINITY)) {
    shown.set(policy, { at, sinceMs });
  }
}
