/**
 * Scenarios on virtual time: Vigil loses its view of a healthy cluster. It must make no false verdict meanwhile, and it
 * must find dead nodes afterwards.
 */
import { describe, expect, test } from "vitest";
import { shardOf } from "../../protocols/subjects.ts";
import { HandFleet } from "../support/hand-fleet.ts";
import { metricValue } from "../support/metric-value.ts";
import type { TestKubelet } from "../support/test-kubelet.ts";
import { VirtualCluster, type VirtualProcess } from "../support/virtual-cluster.ts";
import { ALL_UNKNOWN, ALL_WELL, JUDGES, NODE, OBSERVER, SPINE } from "./spine.ts";

const LIVE = ["live-1", "live-2", "live-3"];

interface Fixture {
  readonly cluster: VirtualCluster;
  /** A node whose kubelet the test stops. */
  readonly doomed: TestKubelet;
}

/** Three nodes that stay alive and one to stop. */
function createFixture(): Fixture {
  const cluster = new VirtualCluster();
  for (const name of LIVE) cluster.addNode({ name });
  return { cluster, doomed: cluster.addNode({ name: "doomed" }) };
}

function expectLiveNodesWell({ cluster }: Fixture): void {
  for (const name of LIVE) {
    expect(cluster.conditions(name)).toEqual(ALL_WELL);
    expect(cluster.taints(name)).toEqual([]);
  }
}

/** Kills the doomed node now and expects Vigil to find it within its grace and the slack. */
function expectDeathFound({ cluster, doomed }: Fixture, slackMs: number): void {
  doomed.stop();
  cluster.advance(50_001 + slackMs);
  expect(cluster.conditions("doomed")).toEqual(ALL_UNKNOWN);
}

/** How many lists of leases a process has begun. */
function listsOf({ metrics }: VirtualProcess): Promise<number> {
  return metricValue(metrics, "vigil_kube_lists_total", { resource: "leases" });
}

describe("the API server", () => {
  test("is gone for 5 min: no node is silent, a dead one is found later", () => {
    const fixture = createFixture();
    const { cluster, doomed } = fixture;
    cluster.start(SPINE);
    cluster.advance(30_000);
    const back = cluster.api.faults.refuse();
    doomed.stop();
    cluster.advance(300_000);
    back();
    cluster.advance(49_000);
    expectLiveNodesWell(fixture);
    expect(cluster.conditions("doomed")).toEqual(ALL_WELL);
    cluster.advance(15_000);
    expectLiveNodesWell(fixture);
    expect(cluster.conditions("doomed")).toEqual(ALL_UNKNOWN);
  });

  test("is gone for a moment: silence counts on, no verdict is late", () => {
    const fixture = createFixture();
    const { cluster, doomed } = fixture;
    cluster.start(SPINE);
    cluster.advance(30_000);
    doomed.stop();
    cluster.advance(20_000);
    const back = cluster.api.faults.refuse();
    cluster.advance(3_000);
    back();
    cluster.advance(27_001);
    expect(cluster.conditions("doomed")).toEqual(ALL_UNKNOWN);
    expectLiveNodesWell(fixture);
  });

  test.each(["end", "break"] as const)("drops every watch (%s): no verdict is wrong and none is late", (how) => {
    const fixture = createFixture();
    const { cluster } = fixture;
    cluster.start(SPINE);
    cluster.advance(30_000);
    cluster.api.faults.cutWatches({ how });
    cluster.advance(10_000);
    expectDeathFound(fixture, 0);
    expectLiveNodesWell(fixture);
  });

  test("answers 410 to resumed watches: relists find what was missed", () => {
    const fixture = createFixture();
    const { cluster } = fixture;
    cluster.start(SPINE);
    cluster.advance(30_000);
    const back = cluster.api.faults.refuse();
    cluster.advance(1_000);
    back();
    cluster.write({ verb: "delete", urgency: 0, ref: { kind: "Node", namespace: "", name: "live-3" } });
    cluster.api.faults.compact();
    cluster.advance(15_000);
    expect(cluster.published("observed.gone").map(({ body }) => body.node)).toEqual(["live-3"]);
    expectDeathFound(fixture, 0);
    for (const name of ["live-1", "live-2"]) expect(cluster.conditions(name)).toEqual(ALL_WELL);
  });

  test("answers 429 to lists (k/k#138701): retries back off, unsynced", async () => {
    const fixture = createFixture();
    const { cluster, doomed } = fixture;
    const vigil = cluster.start(SPINE);
    cluster.advance(30_000);
    const refusal = { kind: "status", code: 429, retryAfterSeconds: 1 } as const;
    const accept = cluster.api.faults.add({ fault: refusal, when: ({ verb }) => verb === "list" });
    const back = cluster.api.faults.refuse();
    cluster.advance(1_000);
    back();
    cluster.patch({ kind: "Node", namespace: "", name: "live-1" }, { metadata: { labels: { a: "b" } } });
    cluster.api.faults.compact();
    doomed.stop();
    const before = await listsOf(vigil);
    cluster.advance(300_000);
    expectLiveNodesWell(fixture);
    expect(cluster.conditions("doomed")).toEqual(ALL_WELL);
    const lists = (await listsOf(vigil)) - before;
    expect(lists).toBeGreaterThan(300 / 5);
    expect(lists).toBeLessThan(300);
    expect(cluster.published("observed.pulse").at(-1)?.body.watches.leases).toEqual({ synced: false, since: null });
    expect(await metricValue(vigil.metrics, "vigil_watch_synced", { watch: "leases" })).toBe(0);
    const warnings = vigil.log.lines.filter(({ message }) => message.startsWith("the watch of leases is broken: 429"));
    expect(warnings).toHaveLength(1);
    accept();
    cluster.advance(5_000);
    expect(await metricValue(vigil.metrics, "vigil_watch_synced", { watch: "leases" })).toBe(1);
    cluster.advance(55_000);
    expectLiveNodesWell(fixture);
    expect(cluster.conditions("doomed")).toEqual(ALL_UNKNOWN);
  });

  test("has a stale lease watch (85221): live nodes stay, dead are found", () => {
    const fixture = createFixture();
    const { cluster, doomed } = fixture;
    cluster.start(SPINE);
    cluster.advance(30_000);
    const fresh = cluster.api.faults.silenceWatches("leases");
    doomed.stop();
    cluster.advance(120_000);
    expectLiveNodesWell(fixture);
    fresh();
    cluster.advance(60_000);
    expectLiveNodesWell(fixture);
    expect(cluster.conditions("doomed")).toEqual(ALL_UNKNOWN);
  });
});

describe("the observer", () => {
  test("stops: no verdict until a takeover, and earlier silence counts", () => {
    const fixture = createFixture();
    const { cluster, doomed } = fixture;
    const first = cluster.start(OBSERVER, { member: "observer-1" });
    cluster.start(JUDGES);
    cluster.advance(30_000);
    doomed.stop();
    cluster.advance(40_000);
    first.kill();
    cluster.advance(5_000);
    cluster.start(OBSERVER, { member: "observer-2" });
    cluster.advance(5_001);
    expect(cluster.conditions("doomed")).toEqual(ALL_UNKNOWN);
    expectLiveNodesWell(fixture);
  });

  test("is away for a minute: every node gets its full grace again", () => {
    const fixture = createFixture();
    const { cluster, doomed } = fixture;
    const first = cluster.start(OBSERVER, { member: "observer-1" });
    cluster.start(JUDGES);
    cluster.advance(30_000);
    doomed.stop();
    first.kill();
    cluster.advance(60_000);
    expect(cluster.published("asked.condition")).toEqual([]);
    cluster.start(OBSERVER, { member: "observer-2" });
    cluster.advance(49_000);
    expect(cluster.conditions("doomed")).toEqual(ALL_WELL);
    cluster.advance(2_000);
    expect(cluster.conditions("doomed")).toEqual(ALL_UNKNOWN);
    expectLiveNodesWell(fixture);
  });
});

describe("the bus", () => {
  test("is cut before the judges for 2 min: no verdict is wrong or late", () => {
    const fixture = createFixture();
    const { cluster, doomed } = fixture;
    const observer = cluster.start(OBSERVER, { member: "observer-1" });
    cluster.start(JUDGES);
    cluster.advance(30_000);
    doomed.stop();
    const join = observer.cutBus();
    cluster.advance(120_000);
    expect(cluster.published("asked.condition")).toEqual([]);
    join();
    cluster.advance(5_000);
    expect(cluster.conditions("doomed")).toEqual(ALL_UNKNOWN);
    expectLiveNodesWell(fixture);
  });
});

describe("the node service", () => {
  test("takes a shard over in a silence and counts from its beginning", () => {
    const fixture = createFixture();
    const { cluster, doomed } = fixture;
    const shard = shardOf("doomed");
    const [one, two] = [new HandFleet("one"), new HandFleet("two")];
    for (const service of ["observer", "node-writer"] as const) {
      for (let each = 0; each < 64; each++) one.set(service, each, true);
    }
    one.set("node", shard, true);
    cluster.start(SPINE, { member: "one", fleet: one });
    cluster.start(NODE, { member: "two", fleet: two });
    cluster.advance(30_000);
    doomed.stop();
    cluster.advance(30_000);
    one.set("node", shard, false);
    two.set("node", shard, true);
    cluster.advance(20_000);
    expect(cluster.conditions("doomed")).toEqual(ALL_WELL);
    cluster.advance(1);
    expect(cluster.conditions("doomed")).toEqual(ALL_UNKNOWN);
  });
});

test("a live lease read refutes a verdict: the view is suspect, the grace starts again", () => {
  const cluster = new VirtualCluster();
  cluster.addNode({ name: "live-1", statusPeriodMs: null });
  cluster.start(SPINE);
  cluster.advance(30_000);
  // The lease watch is stale and the reads that check it fail too. Only the read before the write is left.
  cluster.api.faults.silenceWatches("leases");
  const leaseReads = cluster.api.faults.add({
    fault: { kind: "status", code: 500 },
    when: (call) => call.verb === "get" && cluster.clock.monotonicMs() < 80_000,
  });
  cluster.advance(60_000);
  leaseReads();
  expect(cluster.conditions("live-1")).toEqual(ALL_WELL);
  const [refused] = cluster.published("done.write").filter(({ body }) => body.outcome === "refused");
  expect(refused?.body).toMatchObject({ ask: "asked.condition", name: "live-1" });
  expect(cluster.published("asked.resync").at(-1)?.body.reason).toContain("live-1");
  cluster.advance(300_000);
  expect(cluster.conditions("live-1")).toEqual(ALL_WELL);
});
