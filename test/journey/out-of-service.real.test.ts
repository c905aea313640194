/**
 * A node that is proved to be off is declared out of service by `vigil run` on a real kube-apiserver, with `kill -9` in
 * the middle, and is back in service when it returns. This kube-controller-manager is too old to act on the taint.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommandLine } from "../../services/cli/command-line.ts";
import { fakeHost } from "../cli/fake-host.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { Stage, vigilWith } from "../support/stage.ts";
import { until } from "../support/until.ts";
import { EvictionRecord } from "./eviction-record.ts";

const CONFIG = `
policies:
  - name: gpu
    spec:
      selector: { matchLabels: { topology.kubernetes.io/zone: gpu } }
      outOfService: { after: 2s, proof: [Manual] }
`;
const FLAGS = {
  "node-monitor-grace-period": "6s",
  "node-eviction-rate": "1",
  "pulse-period": "250ms",
  "pulse-timeout": "2s",
  "watch-blind": "4s",
};
/** Without these, admission adds tolerations of 300 s. */
const AT_ONCE = ["not-ready", "unreachable"].map((name) => {
  return { key: `node.kubernetes.io/${name}`, operator: "Exists", effect: "NoExecute", tolerationSeconds: 0 };
});
const OUT = "node.kubernetes.io/out-of-service";
const WITHIN = { withinMs: 60_000, everyMs: 100 };

describeWithKube("the out-of-service taint on a real kube-apiserver", () => {
  const folder = mkdtempSync(join(tmpdir(), "vigil-out-of-service-"));
  let stage: Stage;
  let record: EvictionRecord;

  const taint = () => record.nodes.get("gpu-0")?.taints.find(({ key }) => key === OUT);
  const carries = (key: string) => record.nodes.get("gpu-0")?.taints.some((each) => each.key.endsWith(key)) === true;
  const vigil = async (...words: string[]) => {
    const host = fakeHost();
    const flags = [`--kubeconfig=${stage.kubeconfig}`];
    const code = await runCommandLine([...words, ...flags], host);
    return { code, out: host.out(), err: host.err() };
  };
  const proveDown = (node: string) =>
    vigil("prove-down", node, "--reason=power off", "--by=oncall", "--node-monitor-grace-period=6s");
  const stuck = async () =>
    JSON.parse((await vigil("get", "stuck", "-o=json")).out).items as { name: string; heldBy: { why: string }[] }[];

  beforeAll(async () => {
    const config = join(folder, "vigil.yaml");
    writeFileSync(config, CONFIG);
    stage = await Stage.open(vigilWith({ ...FLAGS, config }));
    record = new EvictionRecord(stage.kube, Date.now);
    stage.register({ "gpu-0": "gpu", "gpu-1": "gpu", other: "other" });
    await until("the nodes are registered", () => record.nodes.size === 3, WITHIN);
    await stage.create([{ name: "db-0", node: "gpu-0", tolerations: AT_ONCE, terminationGracePeriodSeconds: 1 }]);
    await stage.restart();
    await until("the nodes are well", () => record.ready("gpu-0") === "True" && !carries("not-ready"), WITHIN);
  });

  afterAll(async () => {
    record.stop();
    await stage.close();
    rmSync(folder, { recursive: true });
  });

  test("comes by a proof alone, and goes when the node returns", async () => {
    expect(await proveDown("gpu-0")).toEqual({
      code: 1,
      out: "",
      err: "vigil: node gpu-0 is alive: its Ready condition is True\n",
    });
    stage.silence("gpu-0");
    await until("its pod is stuck", async () => (await stuck()).some(({ name }) => name === "db-0"), WITHIN);
    expect((await stuck())[0]?.heldBy.map(({ why }) => why)).toEqual(["node gpu-0 is silent, and not proved down"]);
    expect(carries("/unreachable")).toBe(true);
    expect(taint()).toBeUndefined();
    const { out } = await proveDown("gpu-0");
    expect(out).toMatch(/^proved down: node gpu-0 at \S+ by oncall: power off\n$/);
    await until("it is out of service", () => taint() !== undefined, WITHIN);
    expect(taint()).toMatchObject({ value: "vigil-nodeshutdown", effect: "NoExecute" });
    await stage.restart();
    expect((await stuck())[0]?.heldBy.map(({ why }) => why)).toEqual([
      expect.stringContaining("node gpu-0 is out of service"),
    ]);
    expect(await proveDown("other")).toMatchObject({ code: 1 });
    stage.resume("gpu-0");
    await until("it is back", () => record.ready("gpu-0") === "True" && taint() === undefined, WITHIN);
    await until(
      "no record is left",
      async () => !JSON.stringify(await stage.kubectl("get", "node", "gpu-0")).includes("proved-down"),
      WITHIN,
    );
    expect(JSON.stringify(await stage.kubectl("get", "node", "gpu-0"))).not.toContain("out-of-service");
  }, 120_000);
});
