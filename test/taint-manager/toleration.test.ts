/** When taints evict a pod: matching, first match, minimum, and the arithmetic at its edges. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Taint, Toleration } from "../../protocols/objects.ts";
import {
  evictionOf,
  noExecuteTaints,
  tolerates,
  unreadableText,
  unreadableTolerationOf,
} from "../../services/domain/toleration.ts";
import { noExecute } from "../support/observed-objects.ts";

const PLAIN = { comparisonOperators: false };
const COMPARING = { comparisonOperators: true };
const SINCE = 1_000_000;
const S = 1000;
const exists = (key: string, tolerationSeconds?: number): Toleration => ({
  key,
  operator: "Exists",
  ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
});
const standing = (...taints: Taint[]) => taints.map((taint) => ({ taint, since: SINCE }));
const k1 = noExecute("k1");
const k2 = noExecute("k2");

describe("matching (R8.33)", () => {
  const taint: Taint = { key: "k", value: "v", effect: "NoExecute" };
  test.each<[string, Toleration, boolean]>([
    ["an empty toleration with Exists matches everything", { operator: "Exists" }, true],
    ["an empty toleration without operator compares values", {}, false],
    ["an empty key with Equal compares the value alone", { operator: "Equal", value: "v" }, true],
    ["Equal by default", { key: "k", value: "v" }, true],
    ["Equal with another value", { key: "k", operator: "Equal", value: "w" }, false],
    ["Exists ignores values", { key: "k", operator: "Exists", value: "w" }, true],
    ["another key", { key: "x", operator: "Exists" }, false],
    ["another effect", { key: "k", operator: "Exists", effect: "NoSchedule" }, false],
    ["the same effect", { key: "k", operator: "Exists", effect: "NoExecute" }, true],
    ["an unknown operator matches nothing", { key: "k", operator: "In", value: "v" }, false],
    ["Gt without its flag matches nothing", { key: "k", operator: "Gt", value: "1" }, false],
  ])("%s", (_what, toleration, matches) => {
    expect(tolerates(toleration, taint, PLAIN)).toBe(matches);
  });

  test("a missing value equals an empty one", () => {
    expect(tolerates({ key: "k1" }, k1, PLAIN)).toBe(true);
    expect(tolerates({ key: "k1", value: "" }, noExecute("k1", { value: "" }), PLAIN)).toBe(true);
  });

  test.each<[operator: string, taintValue: string, value: string, boolean]>([
    ["Lt", "5", "10", true],
    ["Lt", "10", "10", false],
    ["Gt", "11", "10", true],
    ["Gt", "10", "10", false],
    ["Lt", "-3", "0", true],
    ["Gt", "9223372036854775807", "9223372036854775806", true],
    ["Lt", "-9223372036854775808", "-9223372036854775807", true],
    ["Gt", "9223372036854775808", "1", false],
    ["Gt", "1", "-9223372036854775808", true],
    ["Gt", "1", "-9223372036854775809", false],
    ["In", "7", "1", false],
    ["Gt", "007", "1", false],
    ["Gt", "+7", "1", false],
    ["Gt", "7.5", "1", false],
    ["Gt", " 7", "1", false],
    ["Lt", "-0", "1", false],
    ["Gt", "", "1", false],
    ["Gt", "7", "", false],
  ])("%s of %j and %j is %s, if both are canonical int64", (operator, taintValue, value, matches) => {
    const taint = noExecute("k", { value: taintValue });
    expect(tolerates({ key: "k", operator, value }, taint, COMPARING)).toBe(matches);
    expect(tolerates({ key: "k", operator, value }, taint, PLAIN)).toBe(false);
  });
});

describe("a toleration that cannot be read", () => {
  const taint = noExecute("k", { value: "7" });
  const semver: Toleration = { key: "k", operator: "SemverGt", value: "6" };
  test.each<[string, Toleration[], boolean]>([
    ["an unknown operator", [semver], true],
    ["an unknown operator of every key", [{ operator: "SemverGt", value: "6" }], true],
    ["an unknown operator of another key", [{ ...semver, key: "x" }], false],
    ["an unknown operator of another effect", [{ ...semver, effect: "NoSchedule" }], false],
    ["an unknown operator of an unknown effect", [{ ...semver, effect: "NoAdmit" }], true],
    ["Gt without its gate", [{ ...semver, operator: "Gt" }], true],
    ["Lt without its gate", [{ ...semver, operator: "Lt" }], true],
    ["an unknown effect that would match", [{ key: "k", operator: "Exists", effect: "NoAdmit" }], true],
    ["an unknown effect with another value", [{ key: "k", value: "8", effect: "NoAdmit" }], false],
    ["behind one that matches", [exists("k", 300), semver], false],
    ["before one that matches", [semver, exists("k", 300)], true],
  ])("%s", (_what, tolerations, isHeld) => {
    const held = unreadableTolerationOf([taint], tolerations, PLAIN);
    expect(held !== null).toBe(isHeld);
    if (isHeld) expect(evictionOf(standing(taint), tolerations, 0, PLAIN)).toBeNull();
    else expect(evictionOf(standing(taint), tolerations, 0, PLAIN)).not.toBeNull();
  });

  test("holds no pod that another taint evicts", () => {
    expect(evictionOf(standing(taint, k1), [semver, exists("k1", 60)], 0, PLAIN)).toMatchObject({
      at: SINCE + 60 * S,
      taint: k1,
    });
  });

  test("is none once its gate is on", () => {
    expect(unreadableTolerationOf([taint], [{ ...semver, operator: "Gt" }], COMPARING)).toBeNull();
    expect(unreadableTolerationOf([taint], [{ ...semver, operator: "Lt" }], COMPARING)).toBeNull();
  });

  test("is named with its remedy", () => {
    expect(unreadableText({ operator: "Gt" })).toBe(
      "toleration operator Gt: give --feature-gates=TaintTolerationComparisonOperators=true or delete the pod by hand",
    );
    expect(unreadableText(semver)).toBe(
      "toleration operator SemverGt: this version of Vigil does not know it, so upgrade Vigil or delete the pod by hand",
    );
    expect(unreadableText({ operator: "Exists", effect: "NoAdmit" })).toBe(
      "toleration effect NoAdmit: this version of Vigil does not know it, so upgrade Vigil or delete the pod by hand",
    );
  });
});

describe("when a pod must leave", () => {
  const now = Number.NEGATIVE_INFINITY;
  test.each<[string, Taint[], Toleration[], number | "never"]>([
    ["k1, nothing tolerated", [k1], [], now],
    ["k1, 0 seconds", [k1], [exists("k1", 0)], now],
    ["k1, -5 seconds", [k1], [exists("k1", -5)], now],
    ["k1, 1 second", [k1], [exists("k1", 1)], SINCE + S],
    [
      "k1, 10 s before for ever: the first match counts (R8.35)",
      [k1],
      [exists("k1", 10), exists("k1")],
      SINCE + 10 * S,
    ],
    ["k1, for ever before 10 s", [k1], [exists("k1"), exists("k1", 10)], "never"],
    ["k1 for ever and k2 60 s", [k1, k2], [exists("k1"), exists("k2", 60)], SINCE + 60 * S],
    ["any key for 30 s", [k1, k2], [{ operator: "Exists", tolerationSeconds: 30 }], SINCE + 30 * S],
    ["k1=v by value", [noExecute("k1", { value: "v" })], [{ key: "k1", value: "v" }], "never"],
    ["k1=v against w", [noExecute("k1", { value: "v" })], [{ key: "k1", operator: "Equal", value: "w" }], now],
    ["k1 tolerated for another effect", [k1], [{ ...exists("k1"), effect: "NoSchedule" }], now],
    ["k1 tolerated, k2 not", [k1, k2], [exists("k1")], now],
    ["no taint at all (R8.14, L26)", [], [], "never"],
  ])("%s", (_what, taints, tolerations, at) => {
    expect(evictionOf(standing(...taints), tolerations, 0, PLAIN)?.at ?? "never").toBe(at);
  });

  test("the earliest end decides, with its taint and its seconds", () => {
    const eviction = evictionOf(standing(k1, k2), [exists("k1", 60), exists("k2", 20)], 0, PLAIN);
    expect(eviction).toEqual({ at: SINCE + 20 * S, taint: k2, tolerationSeconds: 20, toleratedTaint: null });
  });

  test("each taint counts from its own start", () => {
    const taints = [
      { taint: k1, since: SINCE },
      { taint: k2, since: SINCE + 100 * S },
    ];
    const eviction = evictionOf(taints, [exists("k1", 300), exists("k2", 210)], 0, PLAIN);
    expect(eviction).toMatchObject({ at: SINCE + 300 * S, taint: k1 });
  });

  test("a pod bound after the taint counts from its binding", () => {
    expect(evictionOf(standing(k1), [exists("k1", 10)], SINCE + 7 * S, PLAIN)?.at).toBe(SINCE + 17 * S);
  });

  test.each([Number.MAX_SAFE_INTEGER, 2 ** 63, 9.2e12])(
    "%d seconds are for ever and overflow nothing (8.6)",
    (seconds) => {
      expect(evictionOf(standing(k1), [exists("k1", seconds)], 0, PLAIN)).toBeNull();
    },
  );

  test("9.3e9 s, which overflow upstream's ns, are far away", () => {
    expect(evictionOf(standing(k1), [exists("k1", 9.3e9)], 0, PLAIN)?.at).toBe(SINCE + 9.3e9 * S);
  });

  test("only NoExecute taints evict", () => {
    expect(noExecuteTaints([{ key: "a", effect: "NoSchedule" }, k1, { key: "b", effect: "PreferNoSchedule" }])).toEqual(
      [k1],
    );
  });
});

describe("a pod bound during a swap", () => {
  const AT = SINCE + 69 * S;
  const lineage = { first: k1, second: k2, since: SINCE, secondSince: AT };
  const noises = [-0.01, 0, 0.01];

  test.each(noises)("stays as long as either of two stamps %d ms apart", (apartMs) => {
    const swapped = [{ taint: k2, since: AT, lineage }];
    const ends = [
      [exists("k1", 60), exists("k2", 150)],
      [exists("k1", 150), exists("k2", 60)],
    ].map((tolerations) => evictionOf(swapped, tolerations, AT + apartMs, PLAIN)?.at);
    for (const end of ends) expect(end).toBeCloseTo(AT + 150 * S, 1);
  });

  test.each(noises)("stays as long if the first is back, %d ms apart", (apartMs) => {
    const back = [{ taint: k1, since: AT + 29 * S, lineage }];
    const end = evictionOf(back, [exists("k1", 60), exists("k2", 150)], AT + apartMs, PLAIN)?.at;
    expect(end).toBeCloseTo(AT + 150 * S, 1);
  });

  test.each<[string, number, number, number, string | undefined]>([
    ["the other taint where that is tolerated for longer", 150, 60, 150, "k1"],
    ["no other taint where its own is tolerated for longer", 60, 150, 150, undefined],
    ["no other taint where both are tolerated alike", 60, 60, 60, undefined],
  ])("names %s", (_what, first, second, tolerationSeconds, other) => {
    const swapped = [{ taint: k2, since: AT, lineage }];
    const eviction = evictionOf(swapped, [exists("k1", first), exists("k2", second)], AT, PLAIN);
    expect(eviction).toMatchObject({ taint: k2, tolerationSeconds });
    expect(eviction?.toleratedTaint?.key).toBe(other);
  });
});

test.each<[string, number | undefined, number, number, number]>([
  ["that was bound before it continues", 300, SINCE, 0, SINCE + 300 * S],
  ["that was bound after it counts by the new taint", 300, SINCE, SINCE + 80 * S, SINCE + (80 + 150) * S],
  ["that tolerates the first taint for ever counts by the second", undefined, SINCE, 0, SINCE + (69 + 150) * S],
  ["counts from the later stamp if a clock was set back", 300, SINCE + 90 * S, 0, SINCE + (69 + 300) * S],
])("after a taint swap the countdown of a pod %s", (_what, first, since, boundAt, at) => {
  const swapAt = SINCE + 69 * S;
  const swapped = [{ taint: k2, since: swapAt, lineage: { first: k1, second: k2, since, secondSince: swapAt } }];
  expect(evictionOf(swapped, [exists("k1", first), exists("k2", 150)], boundAt, PLAIN)?.at).toBe(at);
});

const key = fc.constantFrom("k1", "k2", "k3");
const taint = key.map((name) => noExecute(name));
const toleration = fc.record(
  {
    key: fc.oneof(key, fc.constant("")),
    operator: fc.constantFrom("Exists", "Equal", ""),
    effect: fc.constantFrom("", "NoExecute", "NoSchedule"),
    tolerationSeconds: fc.integer({ min: -10, max: 1000 }),
  },
  { requiredKeys: ["operator"] },
);

test("a pod that tolerates every taint without limit is never evicted (P7)", () => {
  fc.assert(
    fc.property(fc.array(taint), fc.array(toleration), (taints, more) => {
      expect(evictionOf(standing(...taints), [{ operator: "Exists" }, ...more], 0, PLAIN)).toBeNull();
    }),
  );
});

test("a pod that tolerates not every taint is evicted without delay (P8)", () => {
  fc.assert(
    fc.property(fc.array(taint), fc.array(toleration), (taints, tolerations) => {
      const lacking = tolerations.filter(({ key: name = "" }) => name !== "");
      const eviction = evictionOf(standing(...taints, noExecute("alone")), lacking, 0, PLAIN);
      expect(eviction).toMatchObject({ at: Number.NEGATIVE_INFINITY });
    }),
  );
});

test("otherwise a pod leaves at the least of the first matches' seconds (P9, R8.34)", () => {
  fc.assert(
    fc.property(fc.array(taint), fc.array(toleration), (taints, tolerations) => {
      const firsts = taints.map((each) => tolerations.find((candidate) => tolerates(candidate, each, PLAIN)));
      fc.pre(taints.length > 0 && firsts.every((first) => first !== undefined));
      const seconds = firsts.flatMap((first) => first?.tolerationSeconds ?? []);
      const least = Math.min(...seconds);
      const at = evictionOf(standing(...taints), tolerations, 0, PLAIN)?.at;
      if (seconds.length === 0) expect(at).toBeUndefined();
      else expect(at).toBe(least <= 0 ? Number.NEGATIVE_INFINITY : SINCE + least * S);
    }),
  );
});
