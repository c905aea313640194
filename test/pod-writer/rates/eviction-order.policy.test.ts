/** The order and the instants of evictions under the rates of a policy, on both sides of each boundary. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { EvictionRates } from "../../../services/domain/eviction-rates.ts";
import { evictionOrder } from "../../../services/pod-writer/rates/eviction-order.policy.ts";
import { WINDOW_MS } from "../../../services/pod-writer/rates/eviction-window.ts";

const S = 1000;
const NEVER = Number.POSITIVE_INFINITY;
const ALL = "evictions.maxPerMinute";
const NAMESPACE = "evictions.maxPerNamespacePerMinute";

/** `a1 b2`: pods 1 of namespace a and 2 of namespace b, in this order. */
function waitingPods(text: string) {
  return text.split(" ").map((uid) => ({ uid, namespace: uid.slice(0, 1) }));
}

/** Each pod with its instant in seconds. */
function ordered(
  { perMinuteMax = null, perNamespacePerMinuteMax = null }: Partial<EvictionRates>,
  waiting: string,
  counted: readonly (readonly [string, number])[] = [],
): string {
  const start = {
    rates: { perMinuteMax, perNamespacePerMinuteMax },
    waiting: waitingPods(waiting),
    counted: counted.map(([namespace, seconds]) => ({ namespace, untilMs: seconds * S })),
    fromMs: 0,
  };
  return [...evictionOrder(start)].map(({ pod, atMs }) => `${pod.uid}@${atMs / S}`).join(" ");
}

describe("evictionOrder", () => {
  test.each([
    ["one below the limit goes at once", { perMinuteMax: 2 }, "a1", [["a", 7]], "a1@0"],
    ["one at the limit waits for the first that ends", { perMinuteMax: 1 }, "a1", [["a", 7]], "a1@7"],
    [
      "above a lowered limit more have to end",
      { perMinuteMax: 1 },
      "a1",
      [
        ["a", 7],
        ["a", 9],
      ],
      "a1@9",
    ],
    [
      "the unsorted ends of permits count in order",
      { perMinuteMax: 2 },
      "a1",
      [
        ["a", 9],
        ["a", 7],
      ],
      "a1@7",
    ],
    ["an eviction counts for a minute", { perMinuteMax: 2 }, "a1 a2 a3 a4 a5", [], "a1@0 a2@0 a3@60 a4@60 a5@120"],
    ["a limit of nobody holds everybody", { perMinuteMax: 0 }, "a1 b1", [], `a1@${NEVER} b1@${NEVER}`],
    ["a namespace has its own limit", { perNamespacePerMinuteMax: 1 }, "a1 a2 b1", [], "a1@0 b1@0 a2@60"],
    [
      "a full namespace holds back no other",
      { perMinuteMax: 9, perNamespacePerMinuteMax: 1 },
      "a1 b1",
      [["a", 5]],
      "b1@0 a1@5",
    ],
    ["both limits hold", { perMinuteMax: 2, perNamespacePerMinuteMax: 1 }, "a1 a2 b1 c1", [], "a1@0 b1@0 a2@60 c1@60"],
    [
      "evictions of others count in all alone",
      { perMinuteMax: 1, perNamespacePerMinuteMax: 1 },
      "a1",
      [["b", 5]],
      "a1@5",
    ],
  ] as const)("%s", (_, rates, waiting, counted, expected) => {
    expect(ordered(rates, waiting, counted)).toBe(expected);
  });

  test.each([
    [{ perMinuteMax: 1 }, "a1", [["b", 5]], ALL],
    [{ perNamespacePerMinuteMax: 1 }, "a1", [["a", 5]], NAMESPACE],
    [{ perMinuteMax: 1, perNamespacePerMinuteMax: 1 }, "a1", [["a", 5]], ALL],
    [{ perMinuteMax: 2, perNamespacePerMinuteMax: 1 }, "a1", [["a", 5]], NAMESPACE],
    [
      { perMinuteMax: 9, perNamespacePerMinuteMax: 1 },
      "b1 a1",
      [
        ["a", 5],
        ["b", 5],
      ],
      NAMESPACE,
    ],
  ] as const)("%o, %s: named is the field that ends last", (rates, waiting, counted, field) => {
    const start = {
      rates: { perMinuteMax: null, perNamespacePerMinuteMax: null, ...rates },
      waiting: waitingPods(waiting),
      counted: counted.map(([namespace, seconds]) => ({ namespace, untilMs: seconds * S })),
      fromMs: 0,
    };
    expect(new Set([...evictionOrder(start)].map((each) => each.field))).toEqual(new Set([field]));
  });
});

describe("a pod that counts, because it changed as it was evicted,", () => {
  const counted = [
    { uid: "a2", namespace: "a", untilMs: 30 * S },
    { uid: "b9", namespace: "b", untilMs: 40 * S },
  ];

  test.each([
    ["goes again at once, and keeps its place", { perMinuteMax: 2 }, "a1 a2", "a2@0 a1@30"],
    ["goes again at once in its namespace", { perNamespacePerMinuteMax: 1 }, "a1 a2", "a2@0 a1@30"],
    ["waits above a lowered limit", { perMinuteMax: 1 }, "a2", "a2@40"],
    ["waits above a lowered limit of its namespace", { perNamespacePerMinuteMax: 0 }, "a2", `a2@${NEVER}`],
  ])("%s", (_, rates, waiting, expected) => {
    const limits = { perMinuteMax: null, perNamespacePerMinuteMax: null, ...rates };
    const order = [...evictionOrder({ rates: limits, waiting: waitingPods(waiting), counted, fromMs: 0 })];
    expect(order.map(({ pod, atMs }) => `${pod.uid}@${atMs / S}`).join(" ")).toBe(expected);
  });
});

test("in the order no minute exceeds a limit, and nobody is left out", () => {
  const namespaces = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 40 });
  const limit = fc.option(fc.integer({ min: 1, max: 5 }));
  fc.assert(
    fc.property(namespaces, limit, limit, (pods, perMinuteMax, perNamespacePerMinuteMax) => {
      const waiting = pods.map((namespace, index) => ({ uid: String(index), namespace }));
      const rates = { perMinuteMax, perNamespacePerMinuteMax };
      const order = [...evictionOrder({ rates, waiting, counted: [], fromMs: 0 })];
      expect(order).toHaveLength(pods.length);
      for (const { atMs } of order) {
        const within = order.filter((each) => each.atMs > atMs - WINDOW_MS && each.atMs <= atMs);
        expect(within.length).toBeLessThanOrEqual(perMinuteMax ?? NEVER);
        for (const namespace of ["a", "b", "c"]) {
          const own = within.filter(({ pod }) => pod.namespace === namespace);
          expect(own.length).toBeLessThanOrEqual(perNamespacePerMinuteMax ?? NEVER);
        }
      }
      for (const namespace of ["a", "b", "c"]) {
        const places = order.filter(({ pod }) => pod.namespace === namespace).map(({ pod }) => Number(pod.uid));
        expect(places).toEqual(places.toSorted((left, right) => left - right));
      }
    }),
  );
});
