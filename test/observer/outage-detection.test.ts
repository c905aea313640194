/** Outages that the observer finds at its start, and while it runs. */
import { expect, test } from "vitest";
import type { FrozenInterval } from "../../protocols/policy-set.ts";
import type { Io, Kube } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { apiMicroTime } from "../../services/domain/api-time.ts";
import { OutageDetection } from "../../services/observer/outage-detection.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { recordingLog } from "../support/recording-log.ts";

const HOUR_MS = 3_600_000;
/** Leases were renewed after the last record of what was heard, as it is written less often. */
const BEYOND_RECORD_MS = 3_000;
/** An API server without a record of what was heard. */
const WITHOUT_RECORD: Partial<Kube> = {
  read: (_ref, done) => done({ outcome: "gone", detail: "404" }),
  componentLeases: (done) => done([]),
};

test("an outage that lasts is never reported as over", () => {
  const clock = new VirtualClock();
  clock.advance(3 * HOUR_MS);
  const recordAt = clock.wallMs() - 2 * HOUR_MS;
  const record = { metadata: { name: "vigil-heartbeats" }, spec: { renewTime: apiMicroTime(recordAt) } };
  const kube: Partial<Kube> = {
    read: (_ref, done) => clock.soon(() => done({ outcome: "ok", object: record })),
    componentLeases: (done) => clock.soon(() => done([])),
  };
  const io: Partial<Io> = { clock, kube: kube as Kube, log: recordingLog(), profile: STANDARD_PROFILE };
  const reported: (readonly FrozenInterval[])[] = [];
  const detection = new OutageDetection(
    io as Io,
    {
      isSynced: () => true,
      leasesVersion: () => "10",
      stamps: () => [{ by: "a", at: recordAt + BEYOND_RECORD_MS }],
      countingSinceAt: () => recordAt - HOUR_MS,
      changed: () => reported.push(detection.outages),
      restored: () => {},
    },
    null,
  );
  for (let pulse = 0; pulse < 5; pulse++) {
    detection.review();
    reported.push(detection.outages);
    clock.advance(1_000);
  }
  expect(reported.filter((outages) => outages.at(-1)?.toAt !== null)).toEqual([]);
  expect(reported.at(-1)).toEqual([{ fromAt: recordAt + BEYOND_RECORD_MS, toAt: null }]);
});

test("an outage before any countdown is known for a grace", () => {
  const clock = new VirtualClock();
  const heardAt = clock.wallMs();
  const io: Partial<Io> = { clock, log: recordingLog(), profile: STANDARD_PROFILE };
  const cluster = {
    isSynced: () => true,
    leasesVersion: () => null,
    stamps: () => [],
    countingSinceAt: () => null,
    changed: () => {},
    restored: () => {},
  };
  const before = { heard: { at: heardAt, leasesVersion: null }, outages: [] };
  const detection = new OutageDetection(io as Io, cluster, before);
  clock.advance(100_000);
  const toAt = clock.wallMs();
  for (const by of ["a", "b"]) detection.onStamp({ by, at: toAt }, false);
  clock.advance(2_000);
  expect(detection.outages).toEqual([{ fromAt: heardAt, toAt }]);
});

test("an outage before a start counts for a grace, even if no countdown met it", () => {
  const clock = new VirtualClock();
  clock.advance(HOUR_MS);
  const [recordAt, backAt] = [clock.wallMs() - 300_000, clock.wallMs() - 5_000];
  const record = { metadata: { name: "vigil-heartbeats" }, spec: { renewTime: apiMicroTime(recordAt) } };
  const kube: Partial<Kube> = {
    read: (_ref, done) => done({ outcome: "ok", object: record }),
    componentLeases: (done) => done([]),
  };
  const io: Partial<Io> = { clock, kube: kube as Kube, log: recordingLog(), profile: STANDARD_PROFILE };
  const cluster = {
    isSynced: () => true,
    leasesVersion: () => "10",
    stamps: () => ["a", "b", "c"].map((by) => ({ by, at: backAt })),
    countingSinceAt: () => null,
    changed: () => {},
    restored: () => {},
  };
  const detection = new OutageDetection(io as Io, cluster, null);
  detection.review();
  clock.advance(1_000);
  expect(detection.outages).toEqual([{ fromAt: recordAt, toAt: backAt }]);
});

test("a record about a store that went back since says nothing of this one", () => {
  const clock = new VirtualClock();
  clock.advance(HOUR_MS);
  const nowAt = clock.wallMs();
  const [backupAt, recordAt, backAt] = [nowAt - 300_000, nowAt - 10_000, nowAt - 3_000];
  const annotations = { "vigil.v1/leases-version": "900" };
  const record = { metadata: { name: "vigil-heartbeats", annotations }, spec: { renewTime: apiMicroTime(recordAt) } };
  const kube: Partial<Kube> = {
    read: (_ref, done) => done({ outcome: "ok", object: record }),
    componentLeases: (done) => done([]),
  };
  const io: Partial<Io> = { clock, kube: kube as Kube, log: recordingLog(), profile: STANDARD_PROFILE };
  const cluster = {
    isSynced: () => true,
    leasesVersion: () => "10",
    stamps: () => [...["a", "b", "c"].map((by) => ({ by, at: backupAt })), { by: "d", at: backAt }],
    countingSinceAt: () => backupAt,
    changed: () => {},
    restored: () => {},
  };
  const detection = new OutageDetection(io as Io, cluster, null);
  detection.review();
  clock.advance(1_000);
  expect(detection.outages.at(-1)).toMatchObject({ toAt: null });
});

test("a backup restored during an outage is noticed by the versions shown in it", () => {
  const clock = new VirtualClock();
  clock.advance(HOUR_MS);
  const heardAt = clock.wallMs();
  const io: Partial<Io> = { clock, kube: WITHOUT_RECORD as Kube, log: recordingLog(), profile: STANDARD_PROFILE };
  let version = "500";
  let restorations = 0;
  const cluster = {
    isSynced: () => true,
    leasesVersion: () => version,
    stamps: () => ["a", "b", "c"].map((by) => ({ by, at: heardAt })),
    countingSinceAt: () => heardAt,
    changed: () => {},
    restored: () => {
      restorations += 1;
    },
  };
  const detection = new OutageDetection(io as Io, cluster, {
    heard: { at: heardAt, leasesVersion: "500" },
    outages: [],
  });
  clock.advance(100_000);
  for (const shown of ["560", "540"]) {
    version = shown;
    detection.review();
  }
  expect(restorations).toBe(1);
  expect(detection.outages).toEqual([{ fromAt: heardAt, toAt: null }]);
});

test.each([
  ["an outage where heartbeats are old", [300, 290, 280], 290],
  ["none where two nodes were heard", [300, 5, 4], null],
  ["none where no node has a heartbeat", [], null],
])("a start without a record finds %s", (_what, agesS, sinceS) => {
  const clock = new VirtualClock();
  clock.advance(HOUR_MS);
  const nowAt = clock.wallMs();
  const io: Partial<Io> = { clock, kube: WITHOUT_RECORD as Kube, log: recordingLog(), profile: STANDARD_PROFILE };
  const cluster = {
    isSynced: () => true,
    leasesVersion: () => "10",
    stamps: () => agesS.map((seconds, index) => ({ by: `n${index}`, at: nowAt - seconds * 1000 })),
    countingSinceAt: () => null,
    changed: () => {},
    restored: () => {},
  };
  const detection = new OutageDetection(io as Io, cluster, null);
  detection.review();
  expect(detection.outages).toEqual(sinceS === null ? [] : [{ fromAt: nowAt - sinceS * 1000, toAt: null }]);
});
