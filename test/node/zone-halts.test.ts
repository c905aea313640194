/** Tests of when a zone counts as halted, by the announcements of one owner or of two that disagree. */
import { expect, test } from "vitest";
import { type HaltChange, ZoneHalts } from "../../services/node/zone-halts.ts";

const S = 1000;
const PROFILE = { pulseTimeoutMs: 4 * S, nodeMonitorGraceMs: 50 * S };

/** Owners of one zone that announce it. */
function scene() {
  const halts = new ZoneHalts(PROFILE);
  const says = (source: string, atS: number, halted: boolean, rest: { since?: number; size?: number } = {}) =>
    halts.take({ zone: "z", halted, since: 100, size: 3, ...rest }, source, atS * S);
  return { halts, says };
}

test("a halt begins and ends by the word of its owner", () => {
  const { says } = scene();
  const changes = [
    says("a", 0, false),
    says("a", 1, true),
    says("a", 2, true),
    says("a", 3, false),
    says("a", 4, false),
  ];
  expect(changes).toEqual([null, "began", null, "ended", null]);
});

test("while two owners disagree the halt goes on, and it ends once when nobody claims it any more", () => {
  const { says } = scene();
  expect(says("a", 0, true)).toBe("began");
  const changes: (HaltChange | null)[] = [];
  for (let atS = 1; atS < 60; atS++) changes.push(says("b", atS, false, { since: 7 }), says("a", atS, true));
  expect(new Set(changes)).toEqual(new Set([null]));
  expect(says("a", 60, false)).toBe("ended");
  expect(says("b", 61, false)).toBeNull();
});

test("an owner that is not heard any more claims nothing", () => {
  const { says } = scene();
  says("a", 0, true);
  expect(says("b", 3.999, false)).toBeNull();
  expect(says("b", 4, false)).toBe("ended");
});

test("an owner that has taken a halted zone over ends the halt at once", () => {
  const { says } = scene();
  says("a", 0, true);
  expect(says("b", 1, true)).toBeNull();
  expect(says("b", 2, false)).toBe("ended");
});

test("a halt that ended does not begin again within a grace, and another one does", () => {
  const { says } = scene();
  says("a", 0, true);
  says("b", 4, false);
  expect(says("a", 5, true)).toBeNull();
  expect(says("a", 6, true, { since: 101 })).toBe("began");
  expect(says("a", 7, false)).toBe("ended");
});

test("a halt still claimed a grace after its end is believed, so that its nodes get their grace when it ends", () => {
  const { says } = scene();
  says("a", 0, true);
  says("b", 4, false);
  expect(says("a", 54, true)).toBeNull();
  expect(says("a", 54.001, true)).toBe("began");
  expect(says("a", 55, false)).toBe("ended");
});

test("nothing is kept of a zone that was never halted, has lost its nodes, or was not halted for a grace", () => {
  const { halts, says } = scene();
  says("a", 0, false);
  expect(halts.size).toBe(0);
  says("a", 1, true);
  expect(says("a", 2, false, { size: 0 })).toBe("ended");
  expect(halts.size).toBe(0);
  says("a", 3, true);
  says("a", 4, false);
  says("a", 54, false);
  expect(halts.size).toBe(1);
  says("a", 54.001, false);
  expect(halts.size).toBe(0);
});
