/** What the dashboard shows beside the eviction rate of a zone, without a browser. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";

const MODULE = join(import.meta.dirname, "../../services/console/page/zone-rate.js");
const { rateOf, freezeSentences } = await import(pathToFileURL(MODULE).href);
const ZONE = { halted: false, taintsPerSecond: 2 };
const FROZEN = { ...ZONE, frozenBy: "ConfigMap vigil-freeze" };

test.each([
  [ZONE, "2 nodes a second", ""],
  [{ ...ZONE, taintsPerSecond: Math.fround(0.01) }, "one node every 100 s", ""],
  [{ ...ZONE, taintsPerSecond: 0 }, "0 nodes a second", "care"],
  [{ ...ZONE, halted: true }, "halted: all zones are disrupted", "harm"],
  [FROZEN, "frozen by ConfigMap vigil-freeze", "harm"],
  [{ ...FROZEN, halted: true, taintsPerSecond: 0 }, "frozen by ConfigMap vigil-freeze", "harm"],
])("the rate of a zone %j is %s", (zone, text, mood) => {
  const span = (ms: number): string => `${Math.round(ms / 1000)} s`;
  expect(rateOf(zone, span)).toEqual({ text, mood });
});

test("a freeze of all nodes is said once for all zones", () => {
  const said = "All nodes are frozen by ConfigMap vigil-freeze: none is tainted and no pod is evicted.";
  expect(freezeSentences([FROZEN, FROZEN])).toEqual([said]);
  expect(freezeSentences([ZONE, FROZEN])).toEqual([said]);
});

test("without a freeze none is said", () => {
  expect(freezeSentences([ZONE])).toEqual([]);
});
