/**
 * In which order waiting pods are evicted under the rates of their policy, and when: the one that was due first, unless
 * its namespace is full, which delays no other. A pod that counts already, because it changed as it was evicted, is
 * evicted before them: it needs no further place. It grants nothing and reads no clock; instants are on one clock.
 */
import { type EvictionRates, RATE_FIELDS, type RateField } from "../../domain/eviction-rates.ts";
import { type CountedPod, WINDOW_MS } from "./eviction-window.ts";

const [PER_MINUTE, PER_NAMESPACE] = RATE_FIELDS;

/** A pod that waits. */
export interface WaitingPod {
  readonly uid: string;
  readonly namespace: string;
}

/** When a pod is evicted. */
export interface ExpectedEviction<P extends WaitingPod> {
  readonly pod: P;
  /** Infinity for never. */
  readonly atMs: number;
  /** The field that it waits for last. */
  readonly field: RateField;
}

/** What an order begins with. */
export interface EvictionOrderStart<P extends WaitingPod> {
  readonly rates: EvictionRates;
  /** The waiting pods, the one that was due first before the others. */
  readonly waiting: readonly P[];
  /** What counts against the rates, and until when. */
  readonly counted: Iterable<CountedPod>;
  /** The first instant at which a pod may be evicted. */
  readonly fromMs: number;
}

/** One limit and what counts against it. */
class Limit {
  readonly #max: number;
  readonly #untilMs: number[] = [];

  constructor(max: number | null) {
    this.#max = max ?? Number.POSITIVE_INFINITY;
  }

  /** When the next pod may be evicted, by what counts now. */
  readyMs(): number {
    const over = this.#untilMs.length - this.#max;
    if (over < 0) return Number.NEGATIVE_INFINITY;
    return this.#untilMs[over] ?? Number.POSITIVE_INFINITY;
  }

  /** Whether more counts than the limit allows, as after it was lowered. */
  isExceeded(): boolean {
    return this.#untilMs.length > this.#max;
  }

  count(untilMs: number): void {
    let place = this.#untilMs.length;
    while (place > 0 && (this.#untilMs[place - 1] ?? 0) > untilMs) place -= 1;
    this.#untilMs.splice(place, 0, untilMs);
  }
}

/** The waiting pods of one namespace, and its limit. */
interface Namespace<P> {
  readonly limit: Limit;
  pods: { readonly pod: P; readonly place: number }[];
  next: number;
}

/** The waiting pods in the order of their evictions. */
export function* evictionOrder<P extends WaitingPod>(start: EvictionOrderStart<P>): Generator<ExpectedEviction<P>> {
  const all = new Limit(start.rates.perMinuteMax);
  const namespaces = namespacesOf(start);
  const counting = new Set<string | undefined>();
  for (const { uid, namespace, untilMs } of [...start.counted].sort((left, right) => left.untilMs - right.untilMs)) {
    all.count(untilMs);
    namespaces.get(namespace)?.limit.count(untilMs);
    counting.add(uid);
  }
  for (const namespace of namespaces.values()) {
    if (all.isExceeded() || namespace.limit.isExceeded()) continue;
    const again = namespace.pods.filter(({ pod }) => counting.has(pod.uid));
    namespace.pods = namespace.pods.filter(({ pod }) => !counting.has(pod.uid));
    const field = start.rates.perMinuteMax === null ? PER_NAMESPACE : PER_MINUTE;
    for (const { pod } of again) yield { pod, atMs: start.fromMs, field };
  }
  let nowMs = start.fromMs;
  for (;;) {
    const allMs = all.readyMs();
    const readyMs = Math.max(nowMs, allMs);
    const first = firstOf(namespaces.values(), readyMs);
    if (first === null) return;
    const { namespace, pod, atMs } = first;
    const isNamespaceLast = namespace.limit.readyMs() > allMs || start.rates.perMinuteMax === null;
    const field = isNamespaceLast ? PER_NAMESPACE : PER_MINUTE;
    yield { pod, atMs, field };
    namespace.next += 1;
    nowMs = atMs;
    all.count(atMs + WINDOW_MS);
    namespace.limit.count(atMs + WINDOW_MS);
  }
}

function namespacesOf<P extends WaitingPod>({ rates, waiting }: EvictionOrderStart<P>): Map<string, Namespace<P>> {
  const namespaces = new Map<string, Namespace<P>>();
  for (const [place, pod] of waiting.entries()) {
    const known = namespaces.get(pod.namespace) ?? {
      limit: new Limit(rates.perNamespacePerMinuteMax),
      pods: [],
      next: 0,
    };
    known.pods.push({ pod, place });
    namespaces.set(pod.namespace, known);
  }
  return namespaces;
}

/** The first pod of the namespace that may go on first; of several namespaces the pod with the earlier place. */
function firstOf<P>(
  namespaces: Iterable<Namespace<P>>,
  readyMs: number,
): { readonly namespace: Namespace<P>; readonly pod: P; readonly atMs: number } | null {
  let first: { namespace: Namespace<P>; pod: P; place: number; atMs: number } | null = null;
  for (const namespace of namespaces) {
    const head = namespace.pods[namespace.next];
    if (head === undefined) continue;
    const atMs = Math.max(readyMs, namespace.limit.readyMs());
    const isFirst = first === null || atMs < first.atMs || (atMs === first.atMs && head.place < first.place);
    if (isFirst) first = { namespace, ...head, atMs };
  }
  return first;
}
