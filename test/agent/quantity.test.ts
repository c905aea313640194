/** Quantities as text and number. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  amountOf,
  bytesText,
  countText,
  isExtended,
  isHugePages,
  quantityText,
} from "../../services/agent/resource-quantity.ts";

describe("quantities", () => {
  it.each([
    ["0", 0],
    ["2", 2],
    ["1900m", 1.9],
    [".5", 0.5],
    ["1e3", 1000],
    ["2E", 2e18],
    ["100Mi", 104_857_600],
    ["24684092Ki", 25_276_510_208],
    ["1.5Gi", 1_610_612_736],
    ["-3k", -3000],
  ])("reads %s as %d", (text, amount) => {
    expect(amountOf(text)).toBeCloseTo(amount, 6);
  });

  it.each(["", "Ki", "1 Gi", "12x", "1e", "one"])("refuses %j", (text) => {
    expect(amountOf(text)).toBeNull();
  });

  it("reads back every number of bytes it writes", () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (bytes) => {
        expect(amountOf(bytesText(bytes))).toBe(bytes);
      }),
    );
  });

  it("writes bytes with the largest suffix that leaves a whole number", () => {
    expect([0, 1023, 1024, 1536 * 1024, 1024 ** 3].map(bytesText)).toEqual(["0", "1023", "1Ki", "1536Ki", "1Gi"]);
  });

  it("writes counts whole or in thousandths", () => {
    expect([0, 2, 1.9, 0.0004].map(countText)).toEqual(["0", "2", "1900m", "0"]);
  });

  it("writes memory, storage and huge pages in bytes, others as counts", () => {
    const resources = ["memory", "ephemeral-storage", "hugepages-2Mi", "cpu", "pods", "nvidia.com/gpu"];
    expect(resources.map((resource) => quantityText(resource, 2048))).toEqual([
      "2Ki",
      "2Ki",
      "2Ki",
      "2048",
      "2048",
      "2048",
    ]);
  });

  it.each([
    ["nvidia.com/gpu", true],
    ["cpu", false],
    ["kubernetes.io/batch-cpu", false],
    ["sub.kubernetes.io/thing", false],
    ["notkubernetes.io/thing", true],
    ["requests.example.com/gpu", false],
    ["example.com/a/b", false],
    ["Example.com/gpu", false],
    ["example.com/", false],
    [`${"a".repeat(250)}.com/gpu`, false],
  ])("takes %s as extended: %s (R9.7)", (resource, extended) => {
    expect(isExtended(resource)).toBe(extended);
  });

  it("knows huge pages by their prefix (R9.7)", () => {
    expect(["hugepages-2Mi", "memory", "x/hugepages-1Gi"].map(isHugePages)).toEqual([true, false, false]);
  });
});
