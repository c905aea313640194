/** Conditions that become taints, by `vigil run` on a real kube-apiserver, with `kill -9` in the middle. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HEARTBEATS_LEASE } from "../../protocols/names.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { freePort } from "../support/nats-server.ts";
import { Stage, vigilWith } from "../support/stage.ts";
import { until } from "../support/until.ts";
import { EvictionRecord } from "./eviction-record.ts";

const CONFIG = `
policyMaxTaintedPercentage: 100
policies:
  - name: gpu
    spec:
      selector: { matchLabels: { topology.kubernetes.io/zone: gpu } }
      nodeEvictionRate: 10
      budgets: [{ nodes: 1 }]
      maintenance: { hold: [DrainInProgress], atMost: 5m }
      unhealthyConditions:
        - { type: KernelDeadlock, status: "True", duration: 3s, taint: { key: vigil.io/deadlock, effect: NoSchedule } }
        - { type: GpuLost, status: "True", duration: 1s, taint: { key: vigil.io/gpu-lost, effect: NoExecute } }
`;
const WITHIN = { withinMs: 30_000, everyMs: 50 };

describeWithKube("conditions of a policy on a real kube-apiserver", () => {
  const folder = mkdtempSync(join(tmpdir(), "vigil-conditions-"));
  let stage: Stage;
  let record: EvictionRecord;

  const isTaintedFor = (node: string) => taints(node).includes("vigil.io/gpu-lost:NoExecute");
  const taints = (name: string) => record.nodes.get(name)?.taints.map(({ key, effect }) => `${key}:${effect}`) ?? [];

  beforeAll(async () => {
    const listen = `127.0.0.1:${await freePort()}`;
    const config = join(folder, "vigil.yaml");
    writeFileSync(config, CONFIG);
    stage = await Stage.open(vigilWith({ listen, config }));
    record = new EvictionRecord(stage.kube, Date.now);
    stage.register({ "gpu-0": "gpu", "gpu-1": "gpu", other: "other" });
    await until("the nodes are registered", () => record.nodes.size === 3, WITHIN);
    await stage.create([{ name: "job", node: "gpu-0", tolerations: [] }]);
    await stage.restart();
    await until(
      "what Vigil hears is recorded",
      async () => (await stage.leaseRenewedAt(HEARTBEATS_LEASE)) !== null,
      WITHIN,
    );
  });

  afterAll(async () => {
    record.stop();
    await stage.close();
    rmSync(folder, { recursive: true });
  });

  test("become taints, over kill -9, and the taints go when they heal", async () => {
    for (const node of ["gpu-0", "gpu-1", "other"]) stage.report(node, "KernelDeadlock", "True");
    await until("the condition is recorded", () => record.nodes.get("gpu-1")?.conditionSightings !== undefined, WITHIN);
    const since = record.nodes.get("gpu-1")?.conditionSightings?.[0]?.since ?? 0;
    await stage.restart();
    await until("NoSchedule is on", () => taints("gpu-1").includes("vigil.io/deadlock:NoSchedule"), WITHIN);
    expect(Date.now() - since).toBeGreaterThan(3000);
    stage.report("gpu-0", "DrainInProgress", "True");
    await until("the maintenance is recorded", () => record.nodes.get("gpu-0")?.holds !== undefined, WITHIN);
    for (const node of ["gpu-0", "gpu-1"]) stage.report(node, "GpuLost", "True");
    await until("the node without maintenance is tainted", () => isTaintedFor("gpu-1"), WITHIN);
    stage.report("gpu-1", "GpuLost", "False");
    await until("it is healed", () => !isTaintedFor("gpu-1"), WITHIN);
    expect([isTaintedFor("gpu-0"), record.deletedAt.has("job")]).toEqual([false, false]);
    stage.report("gpu-0", "DrainInProgress", "False");
    stage.report("gpu-1", "GpuLost", "True");
    await until("the pod has gone", () => record.deletedAt.has("job"), WITHIN);
    expect(isTaintedFor("gpu-1")).toBe(false);
    for (const node of ["gpu-0", "gpu-1"]) {
      stage.report(node, "GpuLost", "False");
      stage.report(node, "KernelDeadlock", "False");
    }
    const isClean = (node: string) =>
      taints(node).length === 0 && record.nodes.get(node)?.conditionTaints === undefined;
    await until("all taints are off", () => isClean("gpu-0") && isClean("gpu-1"), WITHIN);
    expect(taints("other")).toEqual([]);
  }, 120_000);
});
