/**
 * Evictions by `vigil run` on a real kube-apiserver, without a restart and with `kill -9` on the way. All zones of a
 * cluster are disrupted at the same time, because the rules of a zone apply to it alone.
 */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeWithKube } from "../support/kube-assets.ts";
import { Stage, vigilWith } from "../support/stage.ts";
import { until } from "../support/until.ts";
import { EvictionRecord } from "./eviction-record.ts";

const GRACE_SECONDS = 6;
const PER_SECOND = 0.5;
const SECONDARY_PER_SECOND = 0.2;
/** How much too early by the rate a taint may appear, because stamps are whole seconds. */
const STAMP_SECONDS = 1.1;
/** How late a pod may go after its deadline or after the restart of Vigil. */
const LATE_SECONDS = 6;
/** The toleration of the pod whose node returns, which is after the swap and after the restart. */
const BACK_SECONDS = 28;
/** How long after an instant the test expects that nothing happened at it. */
const SETTLED_MS = 1_000;
const FLAGS = {
  "node-monitor-grace-period": `${GRACE_SECONDS}s`,
  "node-eviction-rate": String(PER_SECOND),
  "secondary-node-eviction-rate": String(SECONDARY_PER_SECOND),
  "large-cluster-size-threshold": "5",
  "pulse-period": "250ms",
  "pulse-timeout": "2s",
  "watch-blind": "4s",
};
const FOREIGN = "example.com/maintenance";
const WITHIN = { withinMs: 90_000, everyMs: 50 };

const named = (prefix: string, count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => `${prefix}-${from + index}`);
const zoneOf = (zone: string, count: number) => named(zone, count).map((name) => ({ name, zone, region: "r" }));
const tolerating = (key: string, tolerationSeconds?: number) => ({
  key,
  operator: "Exists",
  effect: "NoExecute",
  ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
});
const both = (seconds: number) =>
  ["not-ready", "unreachable"].map((name) => tolerating(`node.kubernetes.io/${name}`, seconds));

const EXCLUDED = { "node.kubernetes.io/exclude-disruption": "" };
const NODES = [
  ...zoneOf("single", 3),
  ...zoneOf("back", 3),
  ...zoneOf("swap", 3),
  ...zoneOf("small", 5),
  ...zoneOf("large", 8),
  ...zoneOf("full", 3),
  ...zoneOf("excluded", 2),
  ...named("excluded", 3, 2).map((name) => ({ name, zone: "excluded", region: "r", labels: EXCLUDED })),
  ...named("unlabelled", 3).map((name) => ({ name })),
  ...zoneOf("table", 2),
];
const DEAD = ["single-0", "back-0", ...named("small", 3), ...named("large", 5), ...named("full", 3), "unlabelled-0"];
const EXCLUDED_DEAD = named("excluded", 3, 2);
/** All nodes that are granted sooner or later. */
const TAINTED = [...DEAD.filter((name) => !name.startsWith("small")), ...EXCLUDED_DEAD];
/** Tolerations against one foreign taint, and after how many seconds the pod is evicted; null for never. */
const TABLE: readonly (readonly [name: string, tolerations: object[], afterSeconds: number | null])[] = [
  ["none", [], 0],
  ["zero", [tolerating(FOREIGN, 0)], 0],
  ["negative", [tolerating(FOREIGN, -5)], 0],
  ["five", [tolerating(FOREIGN, 5)], 5],
  ["five-first", [tolerating(FOREIGN, 5), tolerating(FOREIGN)], 5],
  ["for-ever-first", [tolerating(FOREIGN), tolerating(FOREIGN, 5)], null],
  ["for-ever", [tolerating(FOREIGN)], null],
  ["everything", [{ operator: "Exists" }], null],
  ["other-effect", [{ key: FOREIGN, operator: "Exists", effect: "NoSchedule" }], 0],
  ["wrong-value", [{ key: FOREIGN, operator: "Equal", value: "no", effect: "NoExecute" }], 0],
];

describeWithKube("evictions on a real kube-apiserver", () => {
  describe.each([
    ["without a restart", false],
    ["killed with SIGKILL in the middle and started again", true],
  ])("%s", (_life, isKilled) => {
    let stage: Stage;
    let record: EvictionRecord;
    let taintedMs = 0;
    let restartedMs = 0;

    const allWell = () => NODES.every(({ name }) => record.ready(name) === "True" && !hasTaints(name));
    const hasTaints = (name: string) => (record.nodes.get(name)?.taints.length ?? 1) > 0;
    const middle = async () => {
      if (!isKilled) return;
      await stage.restart();
      restartedMs = Date.now();
    };

    beforeAll(async () => {
      stage = await Stage.open(vigilWith(FLAGS));
      record = new EvictionRecord(stage.kube, Date.now);
      stage.registerAs(NODES);
      await stage.restart();
      await until("all nodes are well", allWell, WITHIN);
      await stage.create([
        { name: "single-five", node: "single-0", tolerations: both(5) },
        { name: "single-zero", node: "single-0", tolerations: both(0) },
        { name: "single-for-ever", node: "single-0", tolerations: [{ operator: "Exists" }] },
        { name: "back-pod", node: "back-0", tolerations: both(BACK_SECONDS) },
        { name: "swap-twelve", node: "swap-0", tolerations: both(12) },
        ...TABLE.map(([name, tolerations]) => ({ name: `table-${name}`, node: "table-0", tolerations })),
      ]);
      taintedMs = Date.now();
      await stage.specify("table-0", { taints: [{ key: FOREIGN, value: "yes", effect: "NoExecute" }] });
      stage.report("swap-0", "Ready", "False");
      stage.silence(...DEAD, ...EXCLUDED_DEAD);
      await until("the first nodes are tainted", () => record.taintedAt.has("single-0"), WITHIN);
      stage.silence("swap-0");
      await pause(2_000);
      await middle();
      await until("the swap came", () => record.taints.get("swap-0")?.includes("unreachable") === true, WITHIN);
      stage.resume("back-0");
      const slowest = () => record.deletedAt.has("swap-twelve") && record.deletedAt.has("single-five");
      await until("the slowest pods are gone", slowest, WITHIN);
      const waiting = () => TAINTED.filter((name) => !record.taintedAt.has(name));
      await until(
        () => `these nodes were admitted: ${waiting().join(" ")}`,
        () => waiting().length === 0,
        WITHIN,
      );
    }, 240_000);
    afterAll(async () => {
      record?.stop();
      await stage?.close();
    });

    /** Whether a pod left this many seconds after its node was tainted, or at once if Vigil was down then. */
    const expectOnTime = (node: string, pod: string, wanted: number) => {
      const stampMs = record.stampedAt.get(node) ?? Number.NaN;
      const dueMs = stampMs + wanted * 1000;
      const deletedMs = record.deletedAt.get(pod) ?? Number.NaN;
      expect(deletedMs).toBeGreaterThanOrEqual(dueMs);
      expect(deletedMs).toBeLessThanOrEqual(Math.max(dueMs, restartedMs) + LATE_SECONDS * 1000);
    };

    test("a dead node's pods go as their tolerations and timeAdded say (R8.20, L3)", () => {
      expect(record.taints.get("single-0")).toEqual(["", "unreachable"]);
      expectOnTime("single-0", "single-five", 5);
      expectOnTime("single-0", "single-zero", 0);
      expect(record.deletedAt.has("single-for-ever")).toBe(false);
    });

    test("a node that returns during the countdown keeps its pods and loses its taints", async () => {
      const endMs = (record.taintedAt.get("back-0") ?? Number.NaN) + BACK_SECONDS * 1000;
      await until("the countdown would be over", () => Date.now() > endMs + SETTLED_MS, WITHIN);
      expect(record.taints.get("back-0")).toEqual(["", "unreachable", ""]);
      expect(record.deletedAt.has("back-pod")).toBe(false);
      expect(record.ready("back-0")).toBe("True");
    });

    test("NotReady becomes Unknown in one swap; the countdown continues (R4.7, L20)", () => {
      expect(record.taints.get("swap-0")).toEqual(["", "not-ready", "unreachable"]);
      expectOnTime("swap-0", "swap-twelve", 12);
    });

    test("a small zone is not tainted further once it is partially disrupted (R6.5)", () => {
      expect(named("small", 5).filter((name) => record.taintedAt.has(name)).length).toBeLessThanOrEqual(1);
      expect(named("small", 3).map((name) => record.ready(name))).toEqual(["Unknown", "Unknown", "Unknown"]);
    });

    test("a large zone that is partially disrupted is tainted at the secondary rate", () => {
      const pauses = record.pauses(named("large", 5));
      expect(pauses).toHaveLength(4);
      expect(pauses.filter((pause) => pause < 1 / SECONDARY_PER_SECOND - STAMP_SECONDS)).toEqual([]);
    });

    test("a zone wholly down beside others is tainted at the ordinary rate (R6.4)", () => {
      const pauses = record.pauses(named("full", 3));
      expect(pauses).toHaveLength(2);
      expect(pauses.filter((pause) => pause < 1 / PER_SECOND - STAMP_SECONDS)).toEqual([]);
    });

    test("excluded nodes are tainted and do not count in their zone (2.7)", () => {
      const pauses = record.pauses(EXCLUDED_DEAD);
      expect(pauses).toHaveLength(2);
      expect(pauses.filter((pause) => pause < 1 / PER_SECOND - STAMP_SECONDS)).toEqual([]);
    });

    test("nodes without zone labels are a zone of their own (R2.3)", () => {
      expect(record.taints.get("unlabelled-0")).toEqual(["", "unreachable"]);
      expect(record.taintedAt.has("unlabelled-1")).toBe(false);
    });

    test.each(TABLE)(
      "the tolerations of pod %s are read as the table says (17.4)",
      (name, _tolerations, afterSeconds) => {
        const deletedAt = record.deletedAt.get(`table-${name}`);
        if (afterSeconds === null) expect(deletedAt).toBeUndefined();
        else {
          const waited = ((deletedAt ?? Number.NaN) - taintedMs) / 1000;
          expect(waited).toBeGreaterThanOrEqual(afterSeconds);
          expect(waited).toBeLessThan(afterSeconds + LATE_SECONDS);
        }
      },
    );

    test("with every zone down NoExecute taints are removed, none added (R6.10)", async () => {
      stage.silence(...NODES.map(({ name }) => name));
      const allUnknown = () => NODES.every(({ name }) => record.ready(name) === "Unknown");
      await until("every node is Unknown", allUnknown, WITHIN);
      await middle();
      const noneTainted = () => NODES.every(({ name }) => (record.taints.get(name)?.at(-1) ?? "") === "");
      await until("no taint of ours is left", noneTainted, WITHIN);
      const stories = JSON.stringify([...record.taints]);
      await pause(4_000);
      expect(JSON.stringify([...record.taints])).toBe(stories);
    }, 120_000);
  });
});
