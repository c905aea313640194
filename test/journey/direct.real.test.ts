/** Direct mode of `vigil run` on a real kube-apiserver, without a restart and with `kill -9` on the way. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeWithKube } from "../support/kube-assets.ts";
import { type Seen, seeLeases } from "../support/kube-probe.ts";
import { Stage, vigilWith } from "../support/stage.ts";
import { until } from "../support/until.ts";
import { EvictionRecord } from "./eviction-record.ts";

/** Long enough after a verdict for a node to return in time. */
const TIMEOUT_SECONDS = 12;
/** How late a drain may be after its timeout or after the restart of Vigil. */
const LATE_SECONDS = 6;
const FLAGS = {
  "eviction-mode": "direct",
  "pod-eviction-timeout": `${TIMEOUT_SECONDS}s`,
  "node-monitor-grace-period": "5s",
  "node-eviction-rate": "1",
  "pulse-period": "250ms",
  "pulse-timeout": "2s",
  "watch-blind": "4s",
};
const WITHIN = { withinMs: 60_000, everyMs: 50 };
const NODES = ["dead", "back", "steady-0", "steady-1"];
const DAEMON = { apiVersion: "apps/v1", kind: "DaemonSet", name: "agent", uid: "a", controller: true };

describeWithKube("direct mode on a real kube-apiserver", () => {
  describe.each([
    ["without a restart", false],
    ["killed with SIGKILL in the middle and started again", true],
  ])("%s", (_life, isKilled) => {
    let stage: Stage;
    let record: EvictionRecord;
    let leases: Seen<"leases">;
    let runsMs = 0;

    beforeAll(async () => {
      stage = await Stage.open(vigilWith(FLAGS));
      record = new EvictionRecord(stage.kube, Date.now);
      leases = seeLeases(stage.kube);
      stage.register(Object.fromEntries(NODES.map((name) => [name, "a"])));
      await stage.restart();
      await until("all nodes are well", () => NODES.every((name) => record.ready(name) === "True"), WITHIN);
      await stage.create([
        { name: "web", node: "dead", tolerations: [{ operator: "Exists" }] },
        { name: "agent", node: "dead", tolerations: [], ownerReferences: [DAEMON] },
        { name: "lucky", node: "back", tolerations: [] },
        { name: "well", node: "steady-0", tolerations: [] },
      ]);
      stage.silence("dead", "back");
      const bothUnknown = () => ["dead", "back"].every((name) => record.ready(name) === "Unknown");
      await until("both are Unknown", bothUnknown, WITHIN);
      stage.resume("back");
      if (isKilled) await stage.restart();
      runsMs = Date.now();
      await until("the pod of the dead node is deleted", () => record.deletedAt.has("web"), WITHIN);
    }, 180_000);
    afterAll(async () => {
      record?.stop();
      leases?.watch.stop();
      await stage?.close();
    });

    test("a dead node is drained after pod-eviction-timeout despite tolerations (R5.3)", () => {
      // A silent node's timeout counts from its last heartbeat.
      const lastSignMs = leases.present.get("dead")?.renewedAt ?? Number.NaN;
      const dueMs = lastSignMs + TIMEOUT_SECONDS * 1000;
      expect(record.deletedAt.get("web")).toBeGreaterThan(dueMs);
      expect(record.deletedAt.get("web")).toBeLessThan(Math.max(dueMs, runsMs) + LATE_SECONDS * 1000);
    });

    test("DaemonSet pods and pods of healthy and returned nodes are kept (R5.12, R5.16)", () => {
      expect([...record.deletedAt.keys()]).toEqual(["web"]);
    });

    test("a pod that lands on the drained node is deleted at once (R5.8)", async () => {
      await stage.create([{ name: "late", node: "dead", tolerations: [] }]);
      await until("it is deleted", () => record.deletedAt.has("late"), WITHIN);
    });

    test("no NoExecute taint was ever written (P14)", () => {
      expect([...record.taintedAt.keys()]).toEqual([]);
    });
  });
});
