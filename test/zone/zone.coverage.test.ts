/** Which zones are seen well enough to decide about, shard by shard. */
import { beforeEach, describe, expect, test } from "vitest";
import { SHARD_COUNT, shardOf } from "../../protocols/subjects.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { ZoneCoverage } from "../../services/zone/zone.coverage.ts";
import { ZoneRoster } from "../../services/zone/zone.roster.ts";
import { judgedNode, observedNode } from "../support/observed-objects.ts";

const BLIND_MS = 10_000;
const NEAR = "r:\u0000:near";
const FAR = "r:\u0000:far";
const EMPTY = "r:\u0000:empty";
/** A node of zone FAR, whose shard is in doubt in these tests. */
const LOST = "lost";

let inDoubt: Set<number>;
let roster: ZoneRoster;
let sight: ZoneCoverage;

beforeEach(() => {
  inDoubt = new Set();
  roster = new ZoneRoster("taint");
  const feeds = Array.from({ length: SHARD_COUNT }, (_, shard) => {
    const view = { blindness: () => (inDoubt.has(shard) ? "messages are missing" : null) };
    return { view };
  });
  sight = new ZoneCoverage(feeds, roster, { profile: { watchBlindMs: BLIND_MS }, metrics: createMetrics() });
});

function add(name: string, zone: string, ready: "True" | "Unknown" = "True"): void {
  const [region, , title] = zone.split(":");
  const labels = {
    "topology.kubernetes.io/region": region ?? "",
    "topology.kubernetes.io/zone": title?.replace("\u0000", "") ?? "",
  };
  roster.takeObserved(observedNode(name, { ready, labels }));
  roster.takeJudged(judgedNode(name, { ready, zone }), "cause");
}

/** Puts so many shards in doubt that hold none of these nodes. */
function doubt(count: number, ...holding: readonly string[]): void {
  const held = new Set(holding.map(shardOf));
  for (let shard = 0; inDoubt.size < count; shard++) if (!held.has(shard)) inDoubt.add(shard);
}

describe("once every shard has been whole", () => {
  beforeEach(() => {
    add("near", NEAR);
    add(LOST, FAR);
    sight.update(0);
    expect([sight.suffices, sight.covers(NEAR), sight.covers(FAR), sight.covers(EMPTY), sight.isPartial]).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
  });

  test("one in doubt hides the zones it has nodes of, those without any node, and no other", () => {
    inDoubt.add(shardOf(LOST));
    sight.update(1);
    expect([sight.suffices, sight.isPartial]).toEqual([true, true]);
    expect([sight.covers(NEAR), sight.covers(FAR), sight.covers(EMPTY)]).toEqual([true, false, false]);
  });

  test("four in doubt may be, and five are too many", () => {
    doubt(4, "near", LOST);
    sight.update(1);
    expect([sight.suffices, sight.covers(NEAR)]).toEqual([true, true]);
    doubt(5, "near", LOST);
    sight.update(2);
    expect(sight.suffices).toBe(false);
  });

  test("a zone that is not seen whole is known not to be down by one ready node elsewhere", () => {
    inDoubt.add(shardOf(LOST));
    sight.update(1);
    expect(sight.certainDamage(FAR)).toBeNull();
    add("silent", FAR, "Unknown");
    expect(sight.certainDamage(FAR)).toBeNull();
    add("alive", FAR);
    expect(sight.certainDamage(FAR)).toBe("normal");
  });

  test("a node without a judgement hides its zone", () => {
    roster.takeObserved(observedNode("new", { labels: { "topology.kubernetes.io/zone": "other" } }));
    expect([sight.covers(":\u0000:other"), sight.covers(NEAR), sight.isPartial]).toEqual([false, true, true]);
  });
});

describe("at a start", () => {
  test("the last shards are waited for until they have been missing for watch-blind", () => {
    add("near", NEAR);
    doubt(5, "near");
    sight.update(0);
    inDoubt.delete(Math.max(...inDoubt));
    sight.update(5_000);
    expect(sight.suffices).toBe(false);
    sight.update(5_000 + BLIND_MS - 1);
    expect(sight.suffices).toBe(false);
    sight.update(5_000 + BLIND_MS);
    expect([sight.suffices, sight.covers(NEAR)]).toEqual([true, true]);
  });

  test("more than four that were never whole are waited for without end", () => {
    doubt(5);
    for (const at of [0, BLIND_MS, 100 * BLIND_MS]) {
      sight.update(at);
      expect(sight.suffices).toBe(false);
    }
  });
});
