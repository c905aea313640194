/** The writer when requests about some objects are accepted and never answered. */
import { beforeEach, expect, test } from "vitest";
import { type Kube, Urgency } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { createKube } from "../../../services/platform/kube/kube.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { ScriptedWire } from "./scripted-wire.ts";

const IN_FLIGHT_MAX = 32;
/** Places at the start. */
const PLACES = 16;

let clock: VirtualClock;
let wire: ScriptedWire;
let kube: Kube;

beforeEach(() => {
  clock = new VirtualClock();
  wire = new ScriptedWire();
  const profile = { ...STANDARD_PROFILE, writesInFlightMax: IN_FLIGHT_MAX };
  kube = createKube({ wire, clock, random: () => 0.5, log: silentLog, metrics: createMetrics(), profile });
});

function remove(name: string, node = "n"): void {
  const ref = { kind: "Pod", namespace: "ns", name, node } as const;
  kube.write({ ref, urgency: Urgency.eviction, verb: "delete" }, () => {});
}

/** Requests sent about pods whose names begin so, of those that are not aborted. */
function inFlight(prefix: string): number {
  return wire.requests.filter(({ path, aborted }) => !aborted && path.includes(`/pods/${prefix}`)).length;
}

/** Answers every request about a pod whose name begins so. */
function answer(prefix: string): void {
  for (const request of wire.requests.filter(({ path }) => path.includes(`/pods/${prefix}`))) request.answer(200, {});
}

test("a request that hangs gives its place to another after a second", () => {
  for (let index = 0; index < PLACES; index++) remove(`hung-${index}`);
  remove("next");
  clock.advance(900);
  expect(inFlight("next")).toBe(0);
  clock.advance(600);
  expect(inFlight("next")).toBe(1);
});

test("all requests in flight, with those that hang, have a ceiling", () => {
  for (let index = 0; index < 3 * IN_FLIGHT_MAX; index++) remove(`hung-${index}`, `n-${index}`);
  remove("answered");
  clock.advance(10_000);
  expect(inFlight("")).toBe(IN_FLIGHT_MAX);
});

test("an object whose request hung before has one of few places the next time", () => {
  for (let index = 0; index < 4; index++) remove(`hung-${index}`);
  remove("answered");
  answer("answered");
  clock.advance(16_000);
  for (let index = 0; index < 4; index++) remove(`hung-${index}`);
  for (let index = 0; index < 4; index++) remove(`hung-${index}`, "other");
  remove("fresh");
  expect(inFlight("fresh")).toBe(1);
});

test("a time-out of an object takes nothing off the limit while others are answered", () => {
  remove("hung");
  clock.advance(100);
  remove("answered");
  answer("answered");
  clock.advance(15_000);
  for (let index = 0; index < PLACES; index++) remove(`later-${index}`);
  expect(inFlight("later")).toBe(PLACES);
});

test("a time-out halves the limit while nothing is answered", () => {
  for (let index = 0; index < PLACES; index++) remove(`hung-${index}`);
  clock.advance(20_000);
  for (let index = 0; index < PLACES; index++) remove(`later-${index}`);
  expect(inFlight("later")).toBeLessThan(PLACES);
});
