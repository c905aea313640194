/** What Vigil in shadow mode would have done beside what upstream does, on one cluster and on virtual time. */
import { describe, expect, test } from "vitest";
import type { ComparedStep, ComparisonReport, LedgerReader } from "../../protocols/ledger-reader.ts";
import { startLedger } from "../../services/ledger/ledger.service.ts";
import { readOnlyKube } from "../../services/platform/kube/shadow/shadow-kube.ts";
import { BesideWorld } from "../support/beside-world.ts";
import { EVICTING } from "../support/eviction-world.ts";

const S = 1000;
/** Upstream's grace is 50 s, so a verdict of Vigil comes this much earlier. */
const VIGIL_GRACE_MS = 40 * S;
const EARLIER_S = 10;

/** A zone of eight nodes under upstream, and Vigil in shadow mode beside it; its comparison so far. */
function comparedWorld(): { world: BesideWorld; compare: (sinceAt?: number) => ComparisonReport } {
  const world = new BesideWorld();
  for (const node of world.addZone("a", 8)) world.addTolerantPod(node, `pod-${node}`);
  let reader: LedgerReader | null = null;
  const ledger = (io: Parameters<typeof startLedger>[0]) => {
    const kube = readOnlyKube(world.kube, (run) => io.clock.soon(run));
    const started = startLedger({ ...io, kube }, { isShadow: true });
    reader = started.reader;
    return started.stop;
  };
  world.start({ ...EVICTING, ledger }, { isShadow: true, profile: { nodeMonitorGraceMs: VIGIL_GRACE_MS } });
  world.startUpstream();
  world.advance(30 * S);
  const compare = (sinceAt = 0) => {
    if (reader === null) throw new Error("the ledger has not started");
    return reader.compare(sinceAt);
  };
  return { world, compare };
}

/** Silences a node for some seconds, and lets some more pass after its return. */
function fail(world: BesideWorld, node: string, silentS: number, thenS: number): void {
  world.silence([node]);
  world.advance(silentS * S);
  world.revive([node]);
  world.advance(thenS * S);
}

const leadS = ({ leadMs }: ComparedStep) => (leadMs === null ? null : Math.round(leadMs / S));

describe("a node silent for good", () => {
  test("is found and emptied by both, earlier by Vigil", () => {
    const { world, compare } = comparedWorld();
    world.silence(["a-0"]);
    world.advance(600 * S);
    const { nodes, pods } = compare();
    expect(nodes.map(({ node, to }) => [node, to])).toEqual([["a-0", null]]);
    expect(nodes.map(({ unknown, noExecute }) => [leadS(unknown), leadS(noExecute)])).toEqual([[EARLIER_S, EARLIER_S]]);
    expect(pods.map(({ name, notReady, deleted }) => [name, leadS(notReady), leadS(deleted)])).toEqual([
      ["pod-a-0", EARLIER_S, EARLIER_S],
    ]);
  });
});

describe("a node that returns", () => {
  test("before upstream's grace is over was found by Vigil alone", () => {
    const { world, compare } = comparedWorld();
    fail(world, "a-0", 45, 60);
    const [compared] = compare().nodes;
    expect(compared?.to).not.toBeNull();
    expect(compared?.unknown).toMatchObject({ others: null, why: "the failure ended before the others did it" });
    expect(compare().nodes).toHaveLength(1);
  });

  test("before its pod's time is over keeps the pod on both sides", () => {
    const { world, compare } = comparedWorld();
    fail(world, "a-0", 200, 400);
    expect(compare().pods.map(({ deleted }) => [deleted.vigil?.isPlanned, deleted.others])).toEqual([[true, null]]);
  });

  test("and fails again is a failure of its own", () => {
    const { world, compare } = comparedWorld();
    for (let round = 0; round < 3; round++) fail(world, "a-0", 100, 100);
    expect(compare().nodes.map(({ node, unknown }) => [node, leadS(unknown)])).toEqual(
      Array.from({ length: 3 }, () => ["a-0", EARLIER_S]),
    );
  });
});

test("a scripted afternoon of 40 faults: every difference is right", () => {
  const { world, compare } = comparedWorld();
  const expected = { both: 0, vigil: 0 };
  for (let fault = 0; fault < 40; fault++) {
    const isShort = fault % 3 === 0;
    const node = `a-${fault % 8}`;
    // The last renewal is now, so it is certain for which node the grace is over.
    world.kubelet(node).renew();
    fail(world, node, isShort ? 45 : 110, 40);
    expected[isShort ? "vigil" : "both"] += 1;
  }
  const { nodes } = compare();
  const sides = nodes.map(({ unknown }) => (unknown.others === null ? "vigil" : "both"));
  expect(sides.filter((side) => side === "both")).toHaveLength(expected.both);
  expect(sides.filter((side) => side === "vigil")).toHaveLength(expected.vigil);
  expect(nodes.every(({ unknown }) => unknown.vigil !== null)).toBe(true);
  expect(new Set(nodes.flatMap(({ unknown }) => leadS(unknown) ?? []))).toEqual(new Set([EARLIER_S]));
});

test("only failures since the instant asked for are reported, and a late start is said", () => {
  const { world, compare } = comparedWorld();
  fail(world, "a-0", 100, 100);
  const sinceAt = world.clock.wallMs();
  world.silence(["a-1"]);
  world.advance(100 * S);
  expect(compare(sinceAt).nodes.map(({ node }) => node)).toEqual(["a-1"]);
  expect([compare(sinceAt).isCut, compare(0).isCut]).toEqual([false, true]);
});
