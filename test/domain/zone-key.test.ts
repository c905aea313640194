/** Zone keys from labels, and the exclusion from disruption checks. */
import { describe, expect, test } from "vitest";
import { isCounted, metricsZoneOf, namesZone, zoneKeyOf } from "../../services/domain/zone-key.ts";

const ZONE = "topology.kubernetes.io/zone";
const REGION = "topology.kubernetes.io/region";
const ZONE_BETA = "failure-domain.beta.kubernetes.io/zone";
const REGION_BETA = "failure-domain.beta.kubernetes.io/region";

test.each([
  ["", ""],
  [":\u0000:z", "z"],
  ["r:\u0000:", "r/"],
  ["r:\u0000:z", "r/z"],
])("the zone key %j has a readable label of its own in metrics", (key, label) => {
  expect(metricsZoneOf(key, "readable")).toBe(label);
  expect(metricsZoneOf(key, "upstream")).toBe(key);
});

test.each([
  ["r:\u0000:z", true],
  ["r/z", true],
  ["z", true],
  ["r", false],
  ["", false],
])("%j names the zone r/z: %s", (text, isNamed) => {
  expect(namesZone(text, "r:\u0000:z")).toBe(isNamed);
});

describe("a zone key", () => {
  test.each([
    ["nothing (R2.3)", {}, ""],
    ["a zone alone", { [ZONE]: "z" }, ":\u0000:z"],
    ["a region alone", { [REGION]: "r" }, "r:\u0000:"],
    ["both", { [ZONE]: "z", [REGION]: "r" }, "r:\u0000:z"],
    ["the beta zone before the stable one (R2.1)", { [ZONE_BETA]: "b", [ZONE]: "z" }, ":\u0000:b"],
    ["an empty beta zone too: its presence counts", { [ZONE_BETA]: "", [ZONE]: "z", [REGION]: "r" }, "r:\u0000:"],
    ["beta zone with stable region (R2.2)", { [ZONE_BETA]: "b", [REGION]: "r", [ZONE]: "z" }, "r:\u0000:b"],
    ["the beta region before the stable one", { [REGION_BETA]: "q", [REGION]: "r" }, "q:\u0000:"],
    ["labels that are both empty", { [ZONE]: "", [REGION]: "" }, ""],
  ])("comes from %s", (_what, labels, key) => {
    expect(zoneKeyOf(labels)).toBe(key);
  });
});

test("the exclusion label counts by its presence, with any value", () => {
  expect(isCounted({})).toBe(true);
  for (const value of ["", "false", "true"]) {
    expect(isCounted({ "node.kubernetes.io/exclude-disruption": value })).toBe(false);
  }
});
