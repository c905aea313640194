/** The screen of `vigil top`, line by line, and what keys do to it. */
import { describe, expect, test } from "vitest";
import type {
  NodeReport,
  Overview,
  PendingEviction,
  PolicyReport,
  ZoneReport,
} from "../../../protocols/ledger-reader.ts";
import { type Screen, screenOf } from "../../../services/cli/top/top-screen.ts";
import { afterKey, FIRST_STATE, type TopAnswer, type TopState } from "../../../services/cli/top/top-state.ts";
import { byTrouble } from "../../../services/console/query.routes.ts";

const NOW = Date.UTC(2026, 10, 20, 12);
const SCREEN: Screen = { columns: 110, rows: 18, color: false, nowMs: NOW, server: "http://127.0.0.1:8080" };

const zone = (title: string, changes: Partial<ZoneReport> = {}): ZoneReport => ({
  zone: title,
  title,
  state: "Normal",
  since: NOW - 3_600_000,
  size: 10,
  notReady: 0,
  taintsPerSecond: Math.fround(0.1),
  tokens: 1,
  queueLength: 0,
  halted: false,
  ...changes,
});
const node = (name: string, changes: Partial<NodeReport> = {}): NodeReport => ({
  name,
  readiness: "unknown",
  ready: "Unknown",
  since: NOW - 60_000,
  heartbeatAt: NOW - 110_000,
  eviction: "toBeEvicted",
  queuePlace: 1,
  zone: "eu:\u0000:b",
  ...changes,
});
const pod = (name: string): PendingEviction => ({
  namespace: "shop",
  name,
  uid: name,
  node: "worker-7",
  deadlineAt: NOW + 240_000,
  taint: { key: "node.kubernetes.io/unreachable", effect: "NoExecute" },
  tolerationSeconds: 300,
});
const WATCHES = { nodes: 9, leases: 9, pods: 9 };
const OVERVIEW: Overview = {
  at: NOW,
  nodes: { starting: 0, ready: 17, notReady: 1, unknown: 2 },
  zones: [zone("eu/a"), zone("eu/b", { state: "PartialDisruption", notReady: 3, queueLength: 2 })],
  pendingEvictions: 2,
  watchHealth: { shards: 64, blindShards: 0, oldestPulseMs: 1, watches: WATCHES },
};
const ANSWER: TopAnswer = {
  overview: OVERVIEW,
  about: { cluster: "prod", version: "0.1.0", shadow: false, beside: false },
  nodes: [
    node("worker-7"),
    node("worker-8", { queuePlace: 2 }),
    node("worker-9", { readiness: "notReady", ready: "False" }),
  ],
  pods: [pod("cart-0"), pod("cart-1")],
  policies: [],
  messagesPerSecond: 311.6,
};
const STATE: TopState = { ...FIRST_STATE, answer: ANSWER };
const shown = (state: TopState, screen: Partial<Screen> = {}) => screenOf(state, { ...SCREEN, ...screen });
const pressed = (...keys: string[]): TopState | null =>
  keys.reduce<TopState | null>((state, key) => state && afterKey(state, key), STATE);

test("zones by trouble, then the troubled nodes with their countdowns", () => {
  expect(shown(STATE)).toEqual([
    "Vigil 0.1.0 · cluster prod",
    "17 ready · 1 not ready · 2 unknown · 0 starting · 2 pods to evict · 312 messages/s",
    "",
    "ZONE   STATE               FOR      NODES   NOT READY   EVICTION RATE         QUEUE",
    "eu/b   PartialDisruption   60 min   10      3           one node every 10 s   2",
    "eu/a   Normal              60 min   10      0           one node every 10 s   0",
    "",
    "  NODE       READINESS   FOR    HEARTBEAT   EVICTION                 ZONE",
    "> worker-7   unknown     60 s   110 s ago   toBeEvicted (number 1)   eu/b",
    "  worker-8   unknown     60 s   110 s ago   toBeEvicted (number 2)   eu/b",
    "  worker-9   notReady    60 s   110 s ago   toBeEvicted (number 1)   eu/b",
    "",
    "",
    "",
    "",
    "",
    "",
    "q quit · ↑↓ select · enter explain · tab nodes/pods/policies · / filter · esc clear",
  ]);
});

test.each([
  [{ shadow: true }, "shadow: nothing is written"],
  [{ beside: true }, "beside kube-controller-manager: no pod is evicted"],
])("of a process with %o, that it is %s", (mode, words) => {
  const about = { ...ANSWER.about, ...mode };
  expect(shown({ ...STATE, answer: { ...ANSWER, about } })[0]).toBe(`Vigil 0.1.0 · cluster prod · ${words}`);
});

test("tab shows the pods and when each goes", () => {
  const lines = shown(pressed("tab") ?? STATE);
  expect(lines.slice(7, 10)).toEqual([
    "  NAMESPACE   POD      NODE       DUE        TAINT",
    "> shop        cart-0   worker-7   in 4 min   node.kubernetes.io/unreachable:NoExecute",
    "  shop        cart-1   worker-7   in 4 min   node.kubernetes.io/unreachable:NoExecute",
  ]);
});

const POLICY: PolicyReport = {
  name: "gpu",
  mode: "Enforce",
  nodes: 8,
  unhealthy: 2,
  conflicts: 0,
  breaker: null,
  budget: { nodes: 3, left: 1 },
  holds: [],
  freeze: null,
};

test("a second tab shows the policies, and enter explains one", () => {
  const state = pressed("tab", "tab") ?? STATE;
  expect(state.view).toBe("policies");
  expect(shown(state)).toContain("no node policies are known");
  const withPolicy = { ...state, answer: { ...ANSWER, policies: [POLICY] } };
  expect(shown(withPolicy).slice(7, 9)).toEqual([
    "  POLICY   MODE      NODES   UNHEALTHY   BREAKER   BUDGET LEFT   FROZEN BY   UNTIL",
    "> gpu      Enforce   8       2           -         1 of 3        -           -",
  ]);
  expect(afterKey(withPolicy, "enter")?.explained?.path).toBe("/api/explain/policy/gpu");
  const ofAll = { ...state, answer: { ...ANSWER, policies: [{ ...POLICY, name: "" }] } };
  expect(afterKey(ofAll, "enter")?.explained).toBeNull();
  expect(afterKey(withPolicy, "tab")?.view).toBe("nodes");
});

test("policies that evict nobody are named first", () => {
  const freeze = { sinceAt: NOW, untilAt: null, causes: [{ policy: "gpu", by: "alice", reason: "switches" }] };
  const policies: PolicyReport[] = [
    { ...POLICY, freeze },
    { ...POLICY, name: "spot", breaker: { state: "open", resetAt: null } },
  ];
  expect(shown({ ...STATE, answer: { ...ANSWER, policies } }).slice(2, 4)).toEqual([
    "! the nodes of policy gpu are frozen by alice (switches) through NodePolicy gpu",
    "! the circuit breaker of the nodes of policy spot is open",
  ]);
});

test.each([
  [80, 24],
  [40, 12],
  [20, 5],
  [1, 1],
  [200, 60],
])("a screen of %d columns and %d rows is filled and not exceeded", (columns, rows) => {
  const zones = Array.from({ length: 50 }, (_, index) => zone(`eu/${index}`));
  const nodes = Array.from({ length: 400 }, (_, index) => node(`worker-${index}`));
  const state = { ...STATE, selected: 300, answer: { ...ANSWER, nodes, overview: { ...OVERVIEW, zones } } };
  const lines = shown(state, { columns, rows });
  expect(lines).toHaveLength(rows);
  expect(lines.filter((line) => Array.from(line).length > columns)).toEqual([]);
  if (rows >= 12) expect(lines.join("\n")).toContain("> worker-300");
});

test("what holds evictions back is said in words", () => {
  const watchHealth = { ...OVERVIEW.watchHealth, blindShards: 64, watches: { ...WATCHES, pods: null } };
  const zones = OVERVIEW.zones.map((each) => ({ ...each, halted: true }));
  const lines = shown({ ...STATE, answer: { ...ANSWER, overview: { ...OVERVIEW, watchHealth, zones } } });
  expect(lines.slice(2, 4)).toEqual([
    "! blind in 64 of 64 shards: the watch of pods is not synced; no evictions are decided there",
    "! every zone is disrupted: evictions are halted in 2 zones",
  ]);
});

test("a console that stops answering leaves the last answer, marked as stale", () => {
  const lines = shown({ ...STATE, problem: "no console at x; retrying" });
  expect(lines[2]).toBe("! no console at x; retrying");
  expect(lines.at(-1)).toMatch(/^stale · /);
  expect(lines.join("\n")).toContain("worker-7");
});

test("colours mark what is wrong, and none are there without them", () => {
  const colored = shown(STATE, { color: true });
  expect(colored[4]?.startsWith("\u001b[33meu/b ")).toBe(true);
  expect(colored[4]?.endsWith("\u001b[0m")).toBe(true);
  expect(colored[8]?.startsWith("\u001b[7m> worker-7")).toBe(true);
  expect(colored[9]?.startsWith("\u001b[31m  worker-8")).toBe(true);
  expect(shown(STATE).join("")).not.toContain("\u001b");
});

test("names from the cluster move no cursor", () => {
  const evil = { ...ANSWER, nodes: [node("n\u001b[2J\r\nx")] };
  expect(shown({ ...STATE, answer: evil }).join("\n")).toContain("> n\\x1b[2J\\r\\nx");
});

describe("keys", () => {
  test.each([["q"], ["interrupt"], ["/", "a", "interrupt"], ["enter", "q"]])("%j ends", (...keys) => {
    expect(pressed(...keys)).toBeNull();
  });

  test("up and down select, and stay within the rows", () => {
    const selected = (...keys: string[]) => pressed(...keys)?.selected;
    expect([selected("down"), selected("j", "j", "j", "down"), selected("down", "up", "k")]).toEqual([1, 2, 0]);
  });

  test("/ filters by name while it is typed, and escape clears it", () => {
    const filtered = pressed("/", "r", "-", "8", "x", "backspace");
    expect(shown(filtered ?? STATE).slice(8, 10)).toEqual([expect.stringMatching(/^> worker-8/), ""]);
    expect(shown(filtered ?? STATE).at(-1)).toMatch(/^filter: r-8_/);
    expect(pressed("/", "q", "enter", "escape")).toMatchObject({ filter: "", isTyping: false });
    expect(shown(pressed("/", "z", "enter") ?? STATE)[7]).toBe('no nodes match "z"');
  });

  test("enter explains the selected row, and escape goes back", () => {
    expect(pressed("down", "enter")?.explained).toEqual({ path: "/api/explain/node/worker-8", lines: null, top: 0 });
    expect(pressed("tab", "enter")?.explained?.path).toBe("/api/explain/pod/shop/cart-0");
    expect(pressed("enter", "escape")?.explained).toBeNull();
    const explained = { path: "p", lines: ["one", "two", "three"], top: 0 };
    const scrolled = afterKey({ ...STATE, explained }, "down");
    expect(scrolled && shown(scrolled).slice(2, 6)).toEqual(["", "two", "three", ""]);
  });
});

test("silent nodes come first, and among equals those of longest", () => {
  const nodes = [
    node("new", { since: 3 }),
    node("starting", { readiness: "starting", since: 0 }),
    node("notReady", { readiness: "notReady", since: 0 }),
    node("old", { since: 1 }),
  ];
  expect(nodes.sort(byTrouble).map(({ name }) => name)).toEqual(["old", "new", "notReady", "starting"]);
});
