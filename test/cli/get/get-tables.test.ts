/** Shows how `vigil get` and `vigil explain` print a console's answers. */
import { describe, expect, test } from "vitest";
import type { PendingEviction, PolicyReport } from "../../../protocols/ledger-reader.ts";
import { MEMBERS, remarkOn, withShards } from "../../../services/cli/get/fleet-members.ts";
import {
  FREEZES,
  freezeRows,
  NODES,
  POLICIES,
  type Table,
  TIMERS,
  ZONES,
} from "../../../services/cli/get/get-tables.ts";
import { compared } from "../../../services/cli/get/watch.policy.ts";
import { tableText } from "../../../services/cli/output/text-table.ts";
import { explanationText } from "../../../services/cli/verbs/explain.ts";

const NOW = Date.UTC(2026, 10, 20, 12);
const shownIn = <R>({ heading, cells }: Table<R>, rows: readonly R[]) =>
  tableText(
    heading,
    rows.map((row) => cells(row, NOW)),
  );

test("a table is as wide as its widest cells, and shows an empty one as -", () => {
  expect(
    tableText(
      ["A", "LONG"],
      [
        ["1", ""],
        ["222", "x"],
      ],
    ),
  ).toBe("A     LONG\n1     -\n222   x\n");
});

test("zones show their state and their eviction rate", () => {
  const zone = { zone: "", title: "eu/a", since: NOW - 50_000, size: 20, notReady: 14, tokens: 0, queueLength: 13 };
  const disrupted = { ...zone, state: "PartialDisruption", taintsPerSecond: 0, halted: false } as const;
  const halted = { ...zone, title: "eu/b", state: "FullDisruption", taintsPerSecond: 0.1, halted: true } as const;
  expect(shownIn(ZONES, [disrupted, halted])).toBe(
    [
      "ZONE   STATE                     FOR    NODES   NOT READY   EVICTION RATE    QUEUE",
      "eu/a   PartialDisruption         50 s   20      14          no node at all   13",
      "eu/b   FullDisruption (halted)   50 s   20      14          no node at all   13\n",
    ].join("\n"),
  );
});

test.each([
  [{ policy: "gpu", field: "maxUnhealthy", nodes: 3 }, "13 (3 held back by maxUnhealthy of gpu)"],
  [{ policy: "", field: "circuitBreaker", nodes: 3 }, "13 (3 held back by circuitBreaker)"],
  [{ policy: null, field: null, nodes: 3 }, "13 (3 frozen)"],
])("a zone shows what holds its queue back: %j", (hold, queue) => {
  const counts = { size: 20, notReady: 14, taintsPerSecond: 1, tokens: 0, queueLength: 13, halted: false };
  const zone = { zone: "", title: "eu/a", state: "Normal", since: NOW, ...counts, heldBack: [hold] } as const;
  expect(ZONES.cells(zone, NOW)).toContain(queue);
});

test.each([
  [0.01, "one node every 100 s"],
  [0.3, "one node every 3.3 s"],
  [1, "1 node per second"],
  [1.1, "1.1 nodes per second"],
  [20, "20 nodes per second"],
])("a rate of %d, published as a float32, is shown as it was set: %s", (perSecond, rate) => {
  const zone = { zone: "", title: "eu/a", since: NOW, size: 60, notReady: 0, tokens: 0, queueLength: 0 };
  const shown = { ...zone, state: "Normal", taintsPerSecond: Math.fround(perSecond), halted: false } as const;
  expect(shownIn(ZONES, [shown])).toContain(`   ${rate}   `);
});

const GPU: PolicyReport = {
  name: "gpu",
  mode: "Enforce",
  nodes: 20,
  unhealthy: 3,
  conflicts: 0,
  breaker: null,
  budget: null,
  holds: [],
  freeze: null,
};

test("a freeze of all nodes stands in place of the rate, and is listed once", () => {
  const zone = { zone: "a", title: "a", state: "Normal", since: NOW, size: 3, notReady: 0, tokens: 1 } as const;
  const rated = { ...zone, taintsPerSecond: 0.1, queueLength: 0, halted: false, frozenBy: "alice" };
  expect(ZONES.cells(rated, NOW)).toContain("frozen");
  expect(ZONES.wide?.cells(rated).at(-1)).toBe("0");
  const ofAll = { policy: null, by: "alice", reason: "switch" };
  const freeze = { sinceAt: NOW - 60_000, untilAt: null, causes: [ofAll] };
  const own = { ...freeze, untilAt: NOW, causes: [ofAll, { policy: "gpu", by: "bob", reason: null }] };
  const rows = freezeRows([
    { ...GPU, name: "", mode: null, freeze },
    { ...GPU, freeze: own },
    { ...GPU, name: "spot" },
  ]);
  expect(rows.map((row) => FREEZES.cells(row, NOW))).toEqual([
    ["(all nodes)", "alice", "switch", "2026-11-20T11:59:00Z", "thawed"],
    ["gpu", "bob", "", "2026-11-20T11:59:00Z", "2026-11-20T12:00:00Z"],
  ]);
});

test("policies show their nodes, their limits, and who froze them until when", () => {
  const freeze = { sinceAt: NOW - 60_000, untilAt: NOW, causes: [{ policy: "gpu", by: "alice", reason: "switch" }] };
  const limited = { breaker: { state: "open", resetAt: NOW }, budget: { nodes: 3, left: 2 } } as const;
  const all = { ...GPU, name: "", mode: null, freeze: { ...freeze, untilAt: null, causes: [] } };
  const cells = [all, { ...GPU, ...limited, freeze }, { ...GPU, name: "spot" }].map((row) => POLICIES.cells(row, NOW));
  const until = "2026-11-20T12:00:00Z";
  expect([POLICIES.heading, ...cells]).toEqual([
    ["POLICY", "MODE", "NODES", "UNHEALTHY", "BREAKER", "BUDGET LEFT", "FROZEN BY", "UNTIL"],
    ["(all nodes)", "", "20", "3", "", "", "a request that has ended", "thawed"],
    ["gpu", "Enforce", "20", "3", `open until ${until}`, "2 of 3", "alice (switch) through NodePolicy gpu", until],
    ["spot", "Enforce", "20", "3", "", "", "", ""],
  ]);
});

test("a policy is reported again when its breaker opens, not for instants that move", () => {
  const open = (resetAt: number) => ({ ...GPU, breaker: { state: "open", resetAt } as const });
  const answer = (row: PolicyReport) => ({ rows: [row], total: 1, blind: null });
  const { known } = compared(new Map([["gpu", GPU]]), answer(open(NOW)), POLICIES);
  expect(compared(new Map([["gpu", GPU]]), answer(open(NOW)), POLICIES).changes).toMatchObject([{ event: "MODIFIED" }]);
  expect(compared(known, answer(open(NOW + 1)), POLICIES).changes).toEqual([]);
});

test("policies show what they hold back, and conflicts, in -o wide", () => {
  const hold = { policy: "gpu", field: "budgets", untilAt: null, detail: "2 of 20 nodes are evicted", nodes: 4 };
  const breaker = { ...hold, policy: "", field: "circuitBreaker", nodes: 1 };
  const held = "budgets (4), circuitBreaker of the cluster (1)";
  expect(POLICIES.wide?.cells({ ...GPU, holds: [hold, breaker], conflicts: 2 })).toEqual(["", held, "", "", "2"]);
  expect(POLICIES.wide?.cells({ ...GPU, name: "", holds: [breaker] })[1]).toBe("circuitBreaker (1)");
});

test.each([
  [{ untilAt: null, remainingMs: 192_000 }, "frozen, 3m12s left"],
  [{ untilAt: NOW + 60_000, remainingMs: 500 }, "frozen until 2026-11-20T12:01:00Z, 1s left"],
  [{ untilAt: null, remainingMs: 0 }, "frozen, due then"],
  [{ untilAt: null, remainingMs: null }, "frozen"],
])("a frozen pod shows what is left and not when it is due: %j", (freeze, due) => {
  const pod = { namespace: "shop", name: "cart-0", uid: "u", node: "n1", taint: null, tolerationSeconds: null };
  const frozen = { ...freeze, by: "alice through NodePolicy gpu" };
  expect(TIMERS.cells({ ...pod, deadlineAt: NOW - 1000, frozen }, NOW)).toContain(due);
  expect(TIMERS.wide?.cells({ ...pod, deadlineAt: null, frozen })).toContain("alice through NodePolicy gpu");
});

test("nodes show their readiness and their last heartbeat", () => {
  const node = { ready: "Unknown", since: NOW - 1000, heartbeatAt: NOW - 51_000, eviction: "evicted" } as const;
  const silent = { ...node, name: "n1", readiness: "unknown", zone: "eu:\u0000:a" } as const;
  const starting = { ...node, name: "n2", readiness: "starting", heartbeatAt: null, zone: "" } as const;
  const alive = { ...node, name: "n3", readiness: "ready", zone: "" } as const;
  expect(shownIn(NODES, [silent, starting, alive])).toBe(
    [
      "NODE   READINESS   FOR   HEARTBEAT   EVICTION   ZONE",
      "n1     unknown     1 s   51 s ago    evicted    eu/a",
      "n2     starting    1 s   -           evicted    (no zone)",
      "n3     ready       1 s   51 s ago    evicted    (no zone)\n",
    ].join("\n"),
  );
});

test("timers before their node is admitted show the earliest time", () => {
  const pod = {
    namespace: "shop",
    uid: "u",
    node: "n1",
    tolerationSeconds: null,
    taint: null,
    isEarliest: true,
  } as const;
  const table = shownIn(TIMERS, [
    { ...pod, name: "cart-0", deadlineAt: NOW + 50_000 },
    { ...pod, name: "cart-1", deadlineAt: null },
    { ...pod, name: "cart-2", deadlineAt: NOW },
  ]);
  expect(table).toMatch(/cart-0 +n1 +in 50 s at the earliest +-\n/);
  expect(table).toMatch(/cart-1 +n1 +once its node is admitted +-\n/);
  expect(table).toMatch(/cart-2 +n1 +once its node is admitted +-\n/);
});

test("timers show when a pod is due, and the taint that decides", () => {
  const pod = { namespace: "shop", uid: "u", node: "n1", tolerationSeconds: 300 };
  const taint = { key: "node.kubernetes.io/unreachable", effect: "NoExecute" };
  const table = shownIn(TIMERS, [
    { ...pod, name: "cart-0", deadlineAt: NOW + 300_000, taint },
    { ...pod, name: "cart-1", deadlineAt: null, taint: null },
  ]);
  expect(table).toContain("shop        cart-0   n1     in 5 min   node.kubernetes.io/unreachable:NoExecute\n");
  expect(table).toContain("shop        cart-1   n1     now        -\n");
});

test("wide timers show whose seconds count if it is another taint", () => {
  const taint = { key: "node.kubernetes.io/unreachable", effect: "NoExecute" };
  const pod = { namespace: "shop", name: "cart-0", uid: "u", node: "n1", deadlineAt: 0, taint, tolerationSeconds: 300 };
  const toleratedTaint = { ...taint, key: "node.kubernetes.io/not-ready" };
  const toleratedOf = (timer: PendingEviction) => TIMERS.wide?.cells(timer).at(-1);
  expect(toleratedOf(pod)).toBe("300 s");
  expect(toleratedOf({ ...pod, toleratedTaint })).toBe("300 s (node.kubernetes.io/not-ready:NoExecute)");
});

describe("the fleet", () => {
  const member = (name: string, services: string[], clusterUid: string | null = null) => {
    return { member: name, services, since: NOW - 60_000, lagMs: 1, clusterUid, unableSince: null, withheld: [] };
  };

  test("shares the shards of a service among those that run it", () => {
    const [first, second, third] = withShards([
      member("b", ["node"]),
      member("a", ["node", "zone"]),
      member("c", ["ledger"]),
    ]);
    expect(first?.member).toBe("a");
    expect((first?.shards ?? 0) + (second?.shards ?? 0)).toBe(128);
    expect(second?.shards).toBeGreaterThan(20);
    expect(third?.shards).toBe(64);
  });

  test("of each cluster owns its shards; one of none shares with all", () => {
    const members = [member("west", ["node"], "uid-w"), member("b", ["node"], "uid-e"), member("a", ["node"], "uid-e")];
    const [first, second, third] = withShards(members);
    expect([first?.member, second?.member, third]).toMatchObject(["a", "b", { member: "west", shards: 64 }]);
    expect((first?.shards ?? 0) + (second?.shards ?? 0)).toBe(64);
    const withUnknown = withShards([...members, member("c", ["node"])]);
    expect(withUnknown.map((each) => each.member)).toEqual(["a", "b", "c", "west"]);
    expect(withUnknown.find((each) => each.member === "west")?.shards).toBeLessThan(64);
  });

  test("of two Kubernetes clusters gets a remark with the members of each", () => {
    const [a, b, west] = [member("a", [], "uid-e"), member("b", [], "uid-e"), member("west", [], "uid-w")];
    expect(remarkOn(withShards([a, b, member("c", [])]))).toBeNull();
    expect(remarkOn(withShards([west, a, b]))).toBe(
      "members of 2 Kubernetes clusters share this NATS and --cluster: a, b (kube-system has uid uid-e); " +
        "west (uid-w)",
    );
  });

  test("is shown as a table", () => {
    expect(shownIn(MEMBERS, withShards([member("a", ["node", "zone"], "7c1f3a52-0d6e-4f0b")]))).toBe(
      "MEMBER   UP     SHARDS       LAG    CLUSTER    API   SERVICES\n" +
        "a        60 s   128 of 128   1 ms   7c1f3a52   ok    node,zone\n",
    );
  });

  test("shows what a member withholds, and since when it is cut off", () => {
    const cutOff = { ...member("a", ["node"]), unableSince: NOW - 90_000, withheld: ["observer", "ledger"] };
    expect(shownIn(MEMBERS, withShards([cutOff]))).toContain("unreachable for 90 s   node (not observer,ledger)\n");
  });
});

test("an explanation is its sentences, then the timeline with the object of each line", () => {
  const decision = {
    id: "1",
    cause: null,
    type: "judged.node",
    object: { kind: "Node" as const, namespace: "", name: "n1" },
  };
  const zone = { kind: "Zone" as const, namespace: "", name: "eu:\u0000:a" };
  const pod = { kind: "Pod" as const, namespace: "shop", name: "cart-0" };
  const timeline = [
    { ...decision, at: NOW, text: "judged Unknown", times: 2 },
    { ...decision, at: NOW, object: zone, text: "is Normal", times: 1 },
    { ...decision, at: NOW, object: pod, text: "must go", times: 1 },
  ];
  expect(explanationText({ sentences: ["n1 is Unknown."], timeline })).toBe(
    [
      "n1 is Unknown.",
      "",
      "What led there:",
      "  2026-11-20T12:00:00Z  node n1 judged Unknown (2 times)",
      "  2026-11-20T12:00:00Z  zone eu/a is Normal",
      "  2026-11-20T12:00:00Z  pod shop/cart-0 must go\n",
    ].join("\n"),
  );
  expect(explanationText({ sentences: ["All is well."], timeline: [] })).toBe("All is well.\n");
});
