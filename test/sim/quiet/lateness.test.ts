/** How late something may be in a quiet run, before and after its fault. */
import { expect, test } from "vitest";
import type { AnyMessage } from "../../../protocols/messages.ts";
import type { Wrong, WrongKind } from "../oracle.ts";
import { drawSwarm } from "../swarm.ts";
import { World } from "../world.ts";
import { Lateness } from "./lateness.ts";

const S = 1000;
/** Two seconds for messages and requests, and one for another node of the zone. */
const WAY_S = 3;
/** The pause that a server requests, and that of the requester. */
const RETRY_S = 3;

function wrongOf(kind: WrongKind, node = "zone-1-n1"): Wrong {
  return { kind, node, pod: null, text: `${node}: ${kind}` };
}

/** A quiet run in which one thing is wrong from its beginning on. */
function quietRun(wrong: Wrong) {
  const world = new World(drawSwarm(1, { quiet: true }));
  const lateness = new Lateness(world);
  const process = { warnings: new Set<string>() };
  const after = (seconds: number) => {
    world.clock.advance(seconds * S);
    return () => lateness.look([wrong], [process]);
  };
  after(0)();
  return { world, lateness, process, after };
}

test("what is due is done within its way", () => {
  const { after } = quietRun(wrongOf("noSchedule"));
  expect(after(WAY_S)).not.toThrow();
  expect(after(0.5)).toThrow("zone-1-n1: noSchedule");
});

test("the failed request delays by the wait for it and one retry", () => {
  const { world, after } = quietRun(wrongOf("status"));
  world.failedRequest = { knownAtMs: world.clock.wallMs() + 10 * S, isOfView: false };
  expect(after(10 + RETRY_S + WAY_S)).not.toThrow();
  expect(after(0.5)).toThrow("zone-1-n1: status");
});

test("what a lasting fault makes impossible must be reported", () => {
  const { world, lateness, after } = quietRun(wrongOf("status"));
  const fault = { isOfView: false, lagMs: 0, unseen: null, isShown: false };
  world.lastingFault = { ...fault, knownAtMs: world.clock.wallMs(), excuses: ({ kind }) => kind === "status" };
  expect(lateness.possible([wrongOf("status"), wrongOf("noSchedule")])).toEqual([wrongOf("noSchedule")]);
  expect(after(RETRY_S + WAY_S + 15)).not.toThrow();
  expect(after(10)).toThrow("nothing reports");
});

test("a memory that cannot be written must be warned about", () => {
  const { world, process, after } = quietRun(wrongOf("mark"));
  const fault = { isOfView: false, lagMs: 0, unseen: null, isShown: true, warning: "the memory cannot be written" };
  world.lastingFault = { ...fault, knownAtMs: world.clock.wallMs(), excuses: () => true };
  expect(after(60)).toThrow("no process warns that the memory cannot be written");
  process.warnings.add("the memory cannot be written: a restart forgets it");
  expect(after(0)).not.toThrow("no process warns");
});

test("a warning reports what no process can see", () => {
  const { world, process, after } = quietRun(wrongOf("mark"));
  const fault = { isOfView: false, lagMs: 0, unseen: "pods", isShown: false };
  world.lastingFault = { ...fault, knownAtMs: world.clock.wallMs(), excuses: () => true };
  expect(after(60)).toThrow("nothing reports");
  process.warnings.add("the watch of pods is broken: 403: forbidden");
  expect(after(1)).not.toThrow();
});

test("where watches are behind, a silence may count from the return of a view", () => {
  const { world, lateness, after } = quietRun(wrongOf("status"));
  const { nodeMonitorGraceMs, pulsePeriodMs } = world.swarm.profile;
  const fault = { isOfView: false, lagMs: S, unseen: null, isShown: true, excuses: () => false };
  world.lastingFault = { ...fault, knownAtMs: world.clock.wallMs() };
  const watch = { synced: true, since: world.clock.wallMs() };
  lateness.onMessage({ type: "observed.pulse", body: { watches: { nodes: watch, leases: watch } } } as AnyMessage);
  expect(after((nodeMonitorGraceMs + pulsePeriodMs) / S + WAY_S + 2)).not.toThrow();
  expect(after(0.5)).toThrow("zone-1-n1: status");
});
