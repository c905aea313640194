/**
 * Kubelets that write with their own credentials on a real kube-apiserver with NodeRestriction: what of their Node they
 * may write, and that `vigil run` treats none of it as written by another client.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Annotation, PROOF_SEAL_LABEL } from "../../protocols/names.ts";
import { runCommandLine } from "../../services/cli/command-line.ts";
import { apiTime } from "../../services/domain/api-time.ts";
import { downProofText } from "../../services/domain/down-proof.ts";
import { fakeHost } from "../cli/fake-host.ts";
import { RawClient } from "../contract/kube.provided.ts";
import { type KubeApiserver, kubeletToken, startKubeApiserver } from "../support/kube-apiserver.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { Stage, vigilWith } from "../support/stage.ts";
import { until } from "../support/until.ts";
import { EvictionRecord } from "./eviction-record.ts";

const CONFIG = `
policies:
  - name: gpu
    spec:
      selector: { matchLabels: { topology.kubernetes.io/zone: gpu } }
      outOfService: { after: 1s, proof: [Manual] }
      unhealthyConditions:
        - { type: GpuLost, status: "True", duration: 1s, taint: { key: vigil.io/gpu-lost, effect: NoExecute } }
`;
const FLAGS = {
  "node-monitor-grace-period": "6s",
  "node-eviction-rate": "10",
  "pulse-period": "250ms",
  "pulse-timeout": "2s",
  "watch-blind": "4s",
};
const OUT = { key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" };
const GPU_LOST = { key: "vigil.io/gpu-lost", effect: "NoExecute" };
const WITHIN = { withinMs: 60_000, everyMs: 100 };
/** A silent node that forges its proof, two Ready ones that forge the records of taints, and an honest one. */
const NODES = { prover: "gpu", taker: "gpu", cleaner: "gpu", honest: "gpu", "other-0": "other", "other-1": "other" };

describeWithKube("kubelets under NodeRestriction on a real kube-apiserver", () => {
  const folder = mkdtempSync(join(tmpdir(), "vigil-kubelet-rights-"));
  let api: KubeApiserver;
  let stage: Stage;
  let record: EvictionRecord;

  /** The status of a write to a Node with the token of a kubelet. */
  const writes = async (kubelet: string, node: string, body: object): Promise<number> => {
    const client = new RawClient(api.wire({ token: kubeletToken(kubelet) }));
    return (await client.patch(`/api/v1/nodes/${node}`, "merge-patch", body)).status;
  };
  const annotates = (node: string, name: string, text: string) =>
    writes(node, node, { metadata: { annotations: { [name]: text } } });
  const taints = (node: string) => (record.nodes.get(node)?.taints ?? []).map(({ key }) => key.split("/").at(-1));
  const isOut = (node: string) => taints(node).includes("out-of-service");
  const provesDown = (node: string) =>
    runCommandLine(
      ["prove-down", node, "--reason=off", "--node-monitor-grace-period=6s", `--kubeconfig=${api.kubeconfig}`],
      fakeHost(),
    );

  beforeAll(async () => {
    const config = join(folder, "vigil.yaml");
    writeFileSync(config, CONFIG);
    api = await startKubeApiserver({ kubelets: Object.keys(NODES) });
    stage = await Stage.open(vigilWith({ ...FLAGS, config }), api);
    record = new EvictionRecord(stage.kube, Date.now);
    stage.register(NODES);
    await until("the nodes are registered", () => record.nodes.size === Object.keys(NODES).length, WITHIN);
    await stage.restart();
    const isWell = (node: string) => record.ready(node) === "True" && taints(node).length === 0;
    await until("the nodes are well", () => Object.keys(NODES).every(isWell), WITHIN);
  });

  afterAll(async () => {
    record.stop();
    await stage.close();
    rmSync(folder, { recursive: true });
  });

  test("write their annotations, and no taint, seal or other node", async () => {
    expect(await annotates("other-1", Annotation.provedDown, "{}")).toBe(200);
    expect(await writes("other-1", "other-0", { metadata: { annotations: { a: "b" } } })).toBe(403);
    expect(await writes("other-1", "other-1", { spec: { taints: [GPU_LOST] } })).toBe(403);
    expect(await writes("other-1", "other-1", { metadata: { labels: { [PROOF_SEAL_LABEL]: "x" } } })).toBe(403);
  });

  test("prove nothing and remove no taint of another client", async () => {
    const timeAdded = apiTime(Date.now());
    await stage.specify("taker", { taints: [{ ...OUT, timeAdded }] });
    await stage.specify("cleaner", { taints: [GPU_LOST] });
    expect(await annotates("taker", Annotation.outOfService, timeAdded)).toBe(200);
    expect(await annotates("cleaner", Annotation.conditionTaints, '{"vigil.io/gpu-lost:NoExecute":"GpuLost"}')).toBe(
      200,
    );
    stage.report("cleaner", "GpuLost", "False");
    stage.silence("prover", "honest");
    const areFound = () => ["prover", "honest"].every((node) => taints(node).includes("unreachable"));
    await until("both silent nodes wait for a proof", areFound, WITHIN);
    const proof = { proof: "Manual", by: "admin", reason: "off", at: Date.now() + 1_000 } as const;
    expect(await annotates("prover", Annotation.provedDown, downProofText(proof))).toBe(200);
    await until("the honest node is proved", async () => (await provesDown("honest")) === 0, WITHIN);
    await until("it is out of service", () => isOut("honest"), WITHIN);
    stage.resume("honest");
    await until("it is back", () => record.ready("honest") === "True" && !isOut("honest"), WITHIN);
    expect(isOut("prover")).toBe(false);
    expect([taints("taker"), taints("cleaner")]).toEqual([["out-of-service"], ["gpu-lost"]]);
  }, 180_000);
});
