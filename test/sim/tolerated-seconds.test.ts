/** How long a pod tolerates a taint by Lt and Gt, with and without their gate. */
import { expect, test } from "vitest";
import type { CheckedPod, CheckedToleration } from "./invariants.ts";
import { isUnreadable, secondsFor } from "./tolerated-seconds.ts";

const METADATA = { namespace: "default", name: "p", uid: "u", creationTimestamp: "" };
const podWith = (...tolerations: readonly CheckedToleration[]): CheckedPod => ({
  metadata: METADATA,
  spec: { tolerations },
});
const level = (value: string) => ({ key: "level", value, effect: "NoExecute" });
const than = (operator: "Lt" | "Gt", value: string) => ({ key: "level", operator, value, tolerationSeconds: 15 });
const ANY: CheckedToleration = { key: "level", operator: "Exists", tolerationSeconds: 40 };

test.each<[string, CheckedToleration[], string, number | null]>([
  ["below its value", [than("Lt", "7")], "6", 15],
  ["at its value", [than("Lt", "7")], "7", null],
  ["above its value", [than("Gt", "7")], "8", 15],
  ["above a negative one", [than("Gt", "-10")], "0", 15],
  ["of a text", [than("Gt", "7")], "high", null],
  ["with leading zeros", [than("Gt", "1")], "007", null],
  ["beyond 64 bits", [than("Gt", "1")], "9223372036854775808", null],
  ["by the next toleration", [than("Lt", "7"), ANY], "8", 40],
])("a taint %s", (_what, tolerations, value, seconds) => {
  expect(secondsFor(podWith(...tolerations), level(value), true)).toBe(seconds);
});

test("without the gate a pod may tolerate it, so it stays", () => {
  expect(secondsFor(podWith(than("Lt", "7"), ANY), level("8"))).toBe(Number.POSITIVE_INFINITY);
  expect(isUnreadable(podWith(than("Lt", "7"), ANY), level("8"), false)).toBe(true);
  expect(isUnreadable(podWith(ANY, than("Lt", "7")), level("8"), false)).toBe(false);
});
