/** Which zones a process may decide on, shard by shard. */
import { beforeEach, describe, expect, test } from "vitest";
import { SHARD_COUNT, shardOf } from "../../protocols/subjects.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { ZoneCoverage } from "../../services/zone/zone.coverage.ts";
import { ZoneRoster } from "../../services/zone/zone.roster.ts";
import { HandPolicies } from "../support/hand-policies.ts";
import { judgedNode, observedNode } from "../support/observed-objects.ts";

const BLIND_MS = 10_000;
const NEAR = "r:\u0000:near";
const FAR = "r:\u0000:far";
const EMPTY = "r:\u0000:empty";
/** A node of zone FAR, whose shard is suspect in these tests. */
const LOST = "lost";

let suspects: Set<number>;
let roster: ZoneRoster;
let coverage: ZoneCoverage;

beforeEach(() => {
  suspects = new Set();
  roster = new ZoneRoster({ profile: { evictionMode: "taint" }, policies: new HandPolicies() });
  const feeds = Array.from({ length: SHARD_COUNT }, (_, shard) => {
    const view = { blindness: () => (suspects.has(shard) ? "messages are missing" : null) };
    return { view };
  });
  coverage = new ZoneCoverage(feeds, roster, { profile: { watchBlindMs: BLIND_MS }, metrics: createMetrics() });
});

function add(name: string, zone: string, ready: "True" | "Unknown" = "True"): void {
  const [region, , title] = zone.split(":");
  const labels = {
    "topology.kubernetes.io/region": region ?? "",
    "topology.kubernetes.io/zone": title?.replace("\u0000", "") ?? "",
  };
  roster.onObserved(observedNode(name, { ready, labels }));
  roster.onJudged(judgedNode(name, { ready, zone }), "cause");
}

/** Makes this many shards suspect that hold none of these nodes. */
function suspect(count: number, ...holding: readonly string[]): void {
  const held = new Set(holding.map(shardOf));
  for (let shard = 0; suspects.size < count; shard++) if (!held.has(shard)) suspects.add(shard);
}

describe("once shards are synced", () => {
  beforeEach(() => {
    add("near", NEAR);
    add(LOST, FAR);
    coverage.update(0);
    expect([
      coverage.suffices,
      coverage.covers(NEAR),
      coverage.covers(FAR),
      coverage.covers(EMPTY),
      coverage.isPartial,
    ]).toEqual([true, true, true, true, false]);
  });

  test("a suspect one hides its nodes' zones and empty zones only", () => {
    suspects.add(shardOf(LOST));
    coverage.update(1);
    expect([coverage.suffices, coverage.isPartial]).toEqual([true, true]);
    expect([coverage.covers(NEAR), coverage.covers(FAR), coverage.covers(EMPTY)]).toEqual([true, false, false]);
  });

  test("four may be suspect, and five are too many", () => {
    suspect(4, "near", LOST);
    coverage.update(1);
    expect([coverage.suffices, coverage.covers(NEAR)]).toEqual([true, true]);
    suspect(5, "near", LOST);
    coverage.update(2);
    expect(coverage.suffices).toBe(false);
  });

  test("a ready node in a synced one proves its zone is not down", () => {
    suspects.add(shardOf(LOST));
    coverage.update(1);
    expect(coverage.certainDamage(FAR)).toBeNull();
    add("silent", FAR, "Unknown");
    expect(coverage.certainDamage(FAR)).toBeNull();
    add("alive", FAR);
    expect(coverage.certainDamage(FAR)).toBe("normal");
  });

  test("a node without a judgement hides its zone", () => {
    roster.onObserved(observedNode("new", { labels: { "topology.kubernetes.io/zone": "other" } }));
    expect([coverage.covers(":\u0000:other"), coverage.covers(NEAR), coverage.isPartial]).toEqual([false, true, true]);
  });
});

describe("at a start", () => {
  test("the last shards are awaited for at most watch-blind", () => {
    add("near", NEAR);
    suspect(5, "near");
    coverage.update(0);
    suspects.delete(Math.max(...suspects));
    coverage.update(5_000);
    expect(coverage.suffices).toBe(false);
    coverage.update(5_000 + BLIND_MS - 1);
    expect(coverage.suffices).toBe(false);
    coverage.update(5_000 + BLIND_MS);
    expect([coverage.suffices, coverage.covers(NEAR)]).toEqual([true, true]);
  });

  test("more than four that never synced are awaited without end", () => {
    suspect(5);
    for (const at of [0, BLIND_MS, 100 * BLIND_MS]) {
      coverage.update(at);
      expect(coverage.suffices).toBe(false);
    }
  });
});
