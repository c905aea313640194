/** When a zone counts as halted, by the announcements of one owner or of two that disagree. */
import { expect, test } from "vitest";
import { type HaltChange, ZoneHalts } from "../../../services/platform/shard-view/zone-halts.ts";

const S = 1000;
const PROFILE = { pulseTimeoutMs: 4 * S, nodeMonitorGraceMs: 50 * S };

/** One zone and its owners' announcements. */
function scene() {
  const halts = new ZoneHalts(PROFILE);
  const announce = (source: string, atS: number, halted: boolean, rest: { since?: number; size?: number } = {}) =>
    halts.onZone({ zone: "z", halted, since: 100, size: 3, ...rest }, source, atS * S);
  return { halts, announce };
}

test("a halt begins and ends when its owner announces it", () => {
  const { announce } = scene();
  const changes = [
    announce("a", 0, false),
    announce("a", 1, true),
    announce("a", 2, true),
    announce("a", 3, false),
    announce("a", 4, false),
  ];
  expect(changes).toEqual([null, "began", null, "ended", null]);
});

test("a halt lasts while two owners disagree, and ends once when no owner claims it", () => {
  const { announce } = scene();
  expect(announce("a", 0, true)).toBe("began");
  const changes: (HaltChange | null)[] = [];
  for (let atS = 1; atS < 60; atS++) changes.push(announce("b", atS, false, { since: 7 }), announce("a", atS, true));
  expect(new Set(changes)).toEqual(new Set([null]));
  expect(announce("a", 60, false)).toBe("ended");
  expect(announce("b", 61, false)).toBeNull();
});

test("the claim of an owner expires when its announcements stop", () => {
  const { announce } = scene();
  announce("a", 0, true);
  expect(announce("b", 3.999, false)).toBeNull();
  expect(announce("b", 4, false)).toBe("ended");
});

test("an owner that has taken over a halted zone ends the halt at once", () => {
  const { announce } = scene();
  announce("a", 0, true);
  expect(announce("b", 1, true)).toBeNull();
  expect(announce("b", 2, false)).toBe("ended");
});

test("a halt that ended does not begin again within a grace, but another one does", () => {
  const { announce } = scene();
  announce("a", 0, true);
  announce("b", 4, false);
  expect(announce("a", 5, true)).toBeNull();
  expect(announce("a", 6, true, { since: 101 })).toBe("began");
  expect(announce("a", 7, false)).toBe("ended");
});

test("a halt that is still claimed a grace after its end begins again", () => {
  const { announce } = scene();
  announce("a", 0, true);
  announce("b", 4, false);
  expect(announce("a", 54, true)).toBeNull();
  expect(announce("a", 54.001, true)).toBe("began");
  expect(announce("a", 55, false)).toBe("ended");
});

test("a zone that was never halted or has no nodes is not kept", () => {
  const { halts, announce } = scene();
  announce("a", 0, false);
  expect(halts.size).toBe(0);
  announce("a", 1, true);
  expect(announce("a", 2, false, { size: 0 })).toBe("ended");
  expect(halts.size).toBe(0);
});

test("the end of a halt is known until the zone is halted again", () => {
  const { halts, announce } = scene();
  expect(halts.endedMs("z")).toBeNull();
  announce("a", 3, true);
  expect(halts.endedMs("z")).toBeNull();
  announce("a", 4, false);
  announce("a", 100, false);
  expect(halts.endedMs("z")).toBe(4 * S);
  announce("a", 101, true, { since: 101 });
  expect(halts.endedMs("z")).toBeNull();
});
