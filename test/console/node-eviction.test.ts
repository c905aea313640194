/** What the dashboard's list of nodes shows of an eviction, without a browser. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";

const MODULE = join(import.meta.dirname, "../../services/console/page/node-eviction.js");
const { evictionText } = await import(pathToFileURL(MODULE).href);
const WAITS = { eviction: "toBeEvicted", queuePlace: 1 };

test.each([
  [{ eviction: "unmarked" }, "–"],
  [WAITS, "to be evicted (number 1)"],
  [{ ...WAITS, heldBy: "maxUnhealthy" }, "to be evicted (held back by maxUnhealthy)"],
  [{ ...WAITS, heldBy: "maxUnhealthy", isFrozen: true }, "to be evicted (frozen)"],
  [{ eviction: "unmarked", heldBy: "budgets" }, "held back by budgets"],
  [{ eviction: "unmarked", isFrozen: true }, "frozen"],
  [{ eviction: "evicted", isShadow: true }, "would be evicted"],
])("of a node %j is %s", (node, text) => {
  expect(evictionText(node)).toBe(text);
});
