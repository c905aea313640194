/**
 * Shadow mode on the embedded and on a real API: every step from a silent node to the deletion of its pod, unwritten.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { SERVICE_NAMES } from "../../protocols/ports.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { until } from "../support/until.ts";
import { JourneyFixture, PROFILE } from "./fixture.ts";
import { embeddedApi, type JourneyApi, memoryBus, realApi } from "./worlds.ts";

vi.setConfig({ testTimeout: 120_000 });

const TOLERATED_S = 6;
const WITHIN = { withinMs: 30_000, everyMs: 50 };
/** Stamps are whole seconds, and a busy machine is late. */
const LATE_MS = 3_000;
const NODE = { kind: "Node", namespace: "", name: "actor" } as const;
const POD = { kind: "Pod", namespace: "default", name: "guest" } as const;

function shadowJourney(makeApi: () => Promise<JourneyApi>): void {
  let fixture: JourneyFixture;
  const atMs = (ask: string): number => fixture.shadowed.find((write) => write.ask === ask)?.atMs ?? Number.NaN;
  const happens = (ask: string, name: string) =>
    until(`${ask} about ${name} is shadowed`, () => shadowedOf(ask, name).length > 0, WITHIN);
  const shadowedOf = (ask: string, name: string) =>
    fixture.shadowed.filter((write) => write.ask === ask && write.name === name);

  beforeAll(async () => {
    fixture = new JourneyFixture(await makeApi(), await memoryBus());
    await fixture.begin();
    await fixture.addPod("guest", TOLERATED_S);
    await fixture.start("shadow", SERVICE_NAMES, true);
  });

  afterAll(() => fixture.end());

  test("verdict and deletion come when they would have, unwritten", async () => {
    await happens("asked.taint", "actor");
    fixture.shadowed.length = 0;
    fixture.actor.stop();
    await happens("asked.condition", "actor");
    const before = JSON.stringify(await fixture.read(NODE));
    await happens("asked.eviction", "guest");
    const waitedMs = atMs("asked.eviction") - atMs("asked.condition");
    expect(waitedMs).toBeGreaterThan(TOLERATED_S * 1000 - 1_100);
    expect(waitedMs).toBeLessThan(TOLERATED_S * 1000 + LATE_MS);
    expect(JSON.stringify(await fixture.read(NODE))).toBe(before);
    expect(await fixture.read(POD)).toMatchObject({ metadata: { name: "guest" } });
    expect(await fixture.read(POD)).not.toHaveProperty("metadata.deletionTimestamp");
    expect([...fixture.madeUnknown]).toEqual(["actor"]);
  });

  test("a node that returns and falls silent again counts from the start", async () => {
    fixture.shadowed.length = 0;
    fixture.actor.resume();
    await happens("asked.taint", "actor");
    fixture.shadowed.length = 0;
    const stoppedMs = performance.now();
    fixture.actor.stop();
    await happens("asked.eviction", "guest");
    const leastMs = PROFILE.nodeMonitorGraceMs + TOLERATED_S * 1000 - 1_100;
    expect(atMs("asked.eviction") - stoppedMs).toBeGreaterThan(leastMs);
  });
}

describe("shadow mode on the embedded API", () => shadowJourney(embeddedApi));
describeWithKube("shadow mode on a real kube-apiserver", () => shadowJourney(realApi));
