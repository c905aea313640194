/** Signs of life: since when a node counts as silent for those who know only some of them. */
import { expect, test } from "vitest";
import { HeartbeatRecord } from "../../services/node/heartbeats.ts";

const KNOWN_SINCE_MS = 100_000;

test("a lease out of use makes no silence of a node whose status has not been told", () => {
  const signs = new HeartbeatRecord(KNOWN_SINCE_MS);
  signs.take({ kind: "lease", renewedAt: 1 }, 60_000, "lease");
  expect(signs.lastMs).toBe(KNOWN_SINCE_MS);
});

test("signs from before a node came to be known count from when they were seen", () => {
  const signs = new HeartbeatRecord(KNOWN_SINCE_MS);
  signs.take({ kind: "lease", renewedAt: 1 }, 60_000, "lease");
  signs.take({ kind: "status", renewedAt: 2 }, 90_000, "status");
  expect(signs.lastMs).toBe(90_000);
});

test("a node without a lease is silent since its status was posted", () => {
  const signs = new HeartbeatRecord(KNOWN_SINCE_MS);
  signs.take({ kind: "status", renewedAt: null }, 60_000, "status");
  expect(signs.lastMs).toBe(60_000);
});

test("a grace given anew outlives signs from before it", () => {
  const signs = new HeartbeatRecord(KNOWN_SINCE_MS);
  signs.rebase(130_000);
  signs.take({ kind: "status", renewedAt: 2 }, 90_000, "status");
  expect(signs.lastMs).toBe(130_000);
});

test("a heartbeat is witnessed when its stamp changes, not when it is found or a grace is given again", () => {
  const signs = new HeartbeatRecord(KNOWN_SINCE_MS);
  signs.take({ kind: "lease", renewedAt: 1 }, 60_000, "lease");
  signs.rebase(130_000);
  expect(signs.witnessedMs).toBe(Number.NEGATIVE_INFINITY);
  signs.take({ kind: "lease", renewedAt: 2 }, 140_000, "lease");
  signs.rebase(150_000);
  expect(signs.witnessedMs).toBe(140_000);
});
