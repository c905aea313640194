/**
 * Evictions under the rates of policies in a preview: pods that are due go in the order of the run's own rates, and
 * wait for each other. It counts from the beginning of the preview, because nothing shows who was evicted before.
 */
import type { BodyOf } from "../../../protocols/messages.ts";
import type { NodePolicy } from "../../../protocols/policy-set.ts";
import type { Clock } from "../../../protocols/ports.ts";
import { type EvictionRates, evictionRatesOf, type RateField } from "../../domain/eviction-rates.ts";
import { evictionOrder } from "../../pod-writer/rates/eviction-order.policy.ts";
import { WINDOW_MS } from "../../pod-writer/rates/eviction-window.ts";
import { WaitingPods } from "../../pod-writer/rates/waiting-pods.ts";

type Ask = BodyOf<"asked.eviction">;

/** What the rates of a preview need. */
export interface PreviewedRatesContext {
  readonly clock: Pick<Clock, "monotonicMs" | "soon" | "after">;
  /** Evicts a pod, which waited for this field or for none. Returns whether it went. */
  readonly evict: (ask: Ask, waitedFor: string | null) => boolean;
}

/** One policy with rates. */
interface RatedPolicy {
  readonly rates: EvictionRates;
  readonly waiting: WaitingPods;
  /** The requests of the pods that wait, and when each was the first, by uid. */
  readonly asks: Map<string, { readonly ask: Ask; readonly sinceMs: number }>;
  counted: readonly { readonly namespace: string; readonly untilMs: number }[];
  isWoken: boolean;
}

/** The rates of all policies. */
export class PreviewedRates {
  readonly #context: PreviewedRatesContext;
  readonly #policies = new Map<string, RatedPolicy>();

  constructor(context: PreviewedRatesContext) {
    this.#context = context;
  }

  /** Evicts a pod once the rates of its node's policy allow it. */
  request(policy: NodePolicy, ask: Ask): void {
    const rates = evictionRatesOf(policy);
    if (rates === null) return;
    const { name } = policy;
    const newPolicy = (): RatedPolicy => ({
      rates,
      waiting: new WaitingPods(Number.POSITIVE_INFINITY),
      asks: new Map(),
      counted: [],
      isWoken: false,
    });
    const rated = this.#policies.get(name) ?? newPolicy();
    this.#policies.set(name, rated);
    if (rated.asks.has(ask.uid)) return;
    const nowMs = this.#context.clock.monotonicMs();
    rated.waiting.ask(ask, name, nowMs);
    rated.asks.set(ask.uid, { ask, sinceMs: nowMs });
    if (!rated.isWoken) this.#context.clock.soon(() => this.#round(name, rated));
    rated.isWoken = true;
  }

  isWaiting(uid: string): boolean {
    return [...this.#policies.values()].some(({ asks }) => asks.has(uid));
  }

  /** What a pod waits for at the end of the preview; null for nothing. */
  waitsFor(uid: string): string | null {
    for (const [name, rated] of this.#policies) {
      if (!rated.asks.has(uid)) continue;
      const nowMs = this.#context.clock.monotonicMs();
      for (const { pod, field } of order(name, rated, nowMs)) if (pod.uid === uid) return titleOf(field, name);
    }
    return null;
  }

  /** Evicts the pods whose time has come, and decides again when the next one may go. */
  #round(name: string, rated: RatedPolicy): void {
    rated.isWoken = false;
    const { clock, evict } = this.#context;
    const nowMs = clock.monotonicMs();
    rated.counted = rated.counted.filter(({ untilMs }) => untilMs > nowMs);
    for (const { pod, atMs, field } of order(name, rated, nowMs)) {
      if (atMs > nowMs) {
        if (Number.isFinite(atMs)) clock.after(atMs - nowMs, () => this.#round(name, rated));
        return;
      }
      const waiting = rated.asks.get(pod.uid);
      rated.waiting.drop(pod.uid);
      rated.asks.delete(pod.uid);
      const waitedFor = waiting !== undefined && waiting.sinceMs < nowMs ? titleOf(field, name) : null;
      const isEvicted = waiting !== undefined && evict(waiting.ask, waitedFor);
      if (isEvicted) rated.counted = [...rated.counted, { namespace: pod.namespace, untilMs: nowMs + WINDOW_MS }];
    }
  }
}

function order(name: string, { rates, waiting, counted }: RatedPolicy, fromMs: number) {
  const pods = waiting.byPolicy().get(name) ?? [];
  return evictionOrder({ rates, waiting: pods, counted, fromMs });
}

function titleOf(field: RateField, policy: string): string {
  return `${field} of ${policy}`;
}
