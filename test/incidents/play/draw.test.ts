/** A seed picks numbers within their ranges, and always the same ones. */
import { expect, test } from "vitest";
import { INCIDENTS } from "../catalogue.ts";
import { drawIncident } from "./draw.ts";

const [incident] = INCIDENTS;
if (incident === undefined) throw new Error("there is no incident");
const SEEDS = Array.from({ length: 50 }, (_, seed) => seed);
const TOLERANCE = { from: 3, to: 5 };
const ranged = { ...incident, groups: { dead: { nodes: 1, pod: { toleratesLoss: TOLERANCE } } } };

test("a seed always gives the same incident", () => {
  expect(drawIncident(incident, 7)).toEqual(drawIncident(incident, 7));
});

test("sizes are whole numbers of their range, all of them", () => {
  const drawn = new Set(SEEDS.map((seed) => drawIncident(ranged, seed).groups.dead?.pod?.toleratesLoss));
  expect(drawn).toEqual(new Set([3, 4, 5]));
});

test("times are within their range, to a tenth of a second", () => {
  const late = { ...incident, timeline: [{ after: TOLERANCE, observe: "all" as const }] };
  const drawn = SEEDS.map((seed) => drawIncident(late, seed).timeline[0]?.after ?? 0);
  expect(Math.min(...drawn)).toBeGreaterThanOrEqual(TOLERANCE.from);
  expect(Math.max(...drawn)).toBeLessThanOrEqual(TOLERANCE.to);
  expect(drawn.some((seconds) => !Number.isInteger(seconds))).toBe(true);
});
