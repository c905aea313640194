/** The readiness of a process and the text of its probes. */
import { describe, expect, test } from "vitest";
import type { WatchHealthReport } from "../../protocols/ledger-reader.ts";
import {
  type Check,
  probeAnswer,
  type ReadinessInputs,
  reachabilityCheck,
  readinessOf,
  shardsCheck,
} from "../../services/console/readiness.policy.ts";

const OPEN: WatchHealthReport = {
  shards: 64,
  blindShards: 0,
  oldestPulseMs: 800,
  watches: { nodes: 1000, leases: 1000, pods: 1000 },
};
const vitals = (changes: Partial<ReadinessInputs> = {}): ReadinessInputs => ({
  busConnected: true,
  watchHealth: OPEN,
  own: [],
  ...changes,
});
const problems = (checks: readonly Check[]) =>
  Object.fromEntries(checks.filter(({ problem }) => problem !== null).map(({ name, problem }) => [name, problem]));

describe("a process", () => {
  test("is ready when its bus is connected and every watch is synced", () => {
    const checks = readinessOf(vitals());
    expect(checks.map(({ name }) => name)).toEqual([
      "bus",
      "cache-nodes",
      "cache-leases",
      "cache-pods",
      "watch-health",
      "lease-path",
      "outage",
    ]);
    expect(problems(checks)).toEqual({});
  });

  test("is ready while an object exceeds the size of a message, and notes it", () => {
    const checks = readinessOf(vitals({ watchHealth: { ...OPEN, unpublished: { nodes: 1, pods: 2 } } }));
    expect(problems(checks)).toEqual({});
    expect(probeAnswer("readyz", checks, true).text).toContain(
      "[+]watch-health ok: 1 nodes and 2 pods exceed the size of a message and are not watched; the observer's log names them\n",
    );
  });

  test.each([
    [Date.UTC(2026, 0, 1), "no node can be heard since 2026-01-01T00:00:00Z; countdowns"],
    [null, "no node can be heard; countdowns"],
  ])("is ready while no node can be heard since %s, and notes it", (sinceAt, note) => {
    const checks = readinessOf(vitals({ watchHealth: { ...OPEN, outage: { sinceAt } } }));
    expect(problems(checks)).toEqual({});
    expect(probeAnswer("readyz", checks, true).text).toContain(`[+]outage ok: ${note}`);
  });

  test("is not ready without its bus", () => {
    expect(problems(readinessOf(vitals({ busConnected: false })))).toEqual({ bus: "not connected to NATS" });
  });

  test("is not ready while a watch is not synced, and names it", () => {
    const watchHealth = { ...OPEN, blindShards: 64, watches: { ...OPEN.watches, leases: null } };
    expect(problems(readinessOf(vitals({ watchHealth })))).toEqual({
      "cache-leases": "the watch of leases is not synced",
      "watch-health": "blind in 64 of 64 shards, the oldest pulse came 800 ms ago",
    });
  });

  test("is not ready before the first pulse of every shard", () => {
    const watchHealth = {
      ...OPEN,
      blindShards: 1,
      oldestPulseMs: null,
      watches: { nodes: null, leases: null, pods: null },
    };
    expect(problems(readinessOf(vitals({ watchHealth })))).toEqual({
      "cache-nodes": "no pulse from the observer yet",
      "cache-leases": "no pulse from the observer yet",
      "cache-pods": "no pulse from the observer yet",
      "watch-health": "no pulse from the observer yet",
    });
  });

  test("is not ready while the API is unreachable, and reports since when, why", () => {
    const report = { able: true, isFailing: false, failingForMs: 0, problem: "" };
    expect(reachabilityCheck(report)).toEqual({ name: "api", problem: null });
    const failing = { ...report, isFailing: true, failingForMs: 8_000, problem: "connect ECONNREFUSED" };
    expect(reachabilityCheck(failing)).toEqual({ name: "api", problem: null });
    const unable = { ...failing, able: false, failingForMs: 12_400 };
    const problem = "requests have failed for 12 s: connect ECONNREFUSED";
    expect(reachabilityCheck(unable)).toEqual({ name: "api", problem });
  });

  test("is ready while shards are suspect, and notes it", () => {
    expect(shardsCheck(null)).toEqual({ name: "shards", problem: null });
    expect(shardsCheck(0)).toEqual({ name: "shards", problem: null });
    expect(probeAnswer("readyz", readinessOf(vitals({ own: [shardsCheck(3)] })), true).text).toContain(
      "[+]shards ok: 3 are suspect until their next resync; no zone with a node in them is judged\n",
    );
  });

  test("is not ready when one of its own checks fails", () => {
    const own = [{ name: "shutdown", problem: "stopping" }];
    expect(problems(readinessOf(vitals({ own })))).toEqual({ shutdown: "stopping" });
  });
});

describe("a probe", () => {
  const well: Check = { name: "bus", problem: null };
  const ill: Check = { name: "watch-health", problem: "blind" };

  test("is answered with ok when every check passes", () => {
    expect(probeAnswer("readyz", [well], false)).toEqual({ status: 200, text: "ok" });
  });

  test("lists every check when verbose", () => {
    expect(probeAnswer("readyz", [well], true)).toEqual({ status: 200, text: "[+]bus ok\nreadyz check passed\n" });
  });

  test("lists every check when one fails", () => {
    const text = "[+]bus ok\n[-]watch-health failed: blind\nreadyz check failed\n";
    expect(probeAnswer("readyz", [well, ill], false)).toEqual({ status: 500, text });
  });
});
