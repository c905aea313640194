/** Hollow nodes as their manifest installs them: no pod is scheduled to one, and its rights are those that it uses. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { RawClient } from "../contract/kube.provided.ts";
import { type KubeApiserver, startKubeApiserver } from "../support/kube-apiserver.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { writeKubeconfig } from "../support/kubectl.ts";
import { until } from "../support/until.ts";
import { VigilProcess } from "../support/vigil-process.ts";
import { applyTo, mismatches } from "./installed.ts";
import { type Manifests, renderHollow } from "./manifests.ts";

const NAMESPACE = "vigil-hollow";
const FEW = { "--nodes": "3" };
vi.setConfig({ testTimeout: 120_000 });

describeWithKube("the manifest of hollow nodes", () => {
  const folder = mkdtempSync(join(tmpdir(), "vigil-hollow-"));
  let manifests: Manifests;
  let api: KubeApiserver;

  beforeAll(async () => {
    manifests = await renderHollow();
    api = await startKubeApiserver({ audit: { group: `system:serviceaccounts:${NAMESPACE}` } });
    await applyTo(api, join(folder, "all.yaml"), manifests);
  });
  afterAll(async () => {
    await api?.stop();
    rmSync(folder, { recursive: true });
  });

  /** A token of the account that the pod has. */
  async function token(): Promise<string> {
    const path = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/${NAMESPACE}/token`;
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const { object } = await new RawClient(api.wire()).post(path, request);
    return (object.status as { token: string }).token;
  }

  /** Creates a node as a pod that was killed left it. */
  async function leaveBehind(name: string): Promise<void> {
    const labels = { "vigil.io/hollow": "true" };
    const taints = [{ key: "vigil.io/hollow", value: "true", effect: "NoSchedule" }];
    const node = { apiVersion: "v1", kind: "Node", metadata: { name, labels }, spec: { taints } };
    expect((await new RawClient(api.wire()).post("/api/v1/nodes", node)).status).toBe(201);
  }

  const nodes = async (): Promise<string> => {
    const taints = "{range .items[*]}{.metadata.name} {.spec.taints[?(@.effect=='NoSchedule')].key};{end}";
    const { stdout } = await api.kubectl("get", "nodes", "-l", "vigil.io/hollow=true", `--output=jsonpath=${taints}`);
    return stdout;
  };

  test("registers and removes tainted nodes with the rights that it has", async () => {
    const server = { server: api.url, token: await token(), caFile: api.caFile };
    const kubeconfig = writeKubeconfig(join(folder, "kubeconfig"), server);
    await leaveBehind("hollow-2");
    const args = [...manifests.argsOf("vigil-hollow", FEW), "--pods-per-node=1", `--socket=${join(folder, "s")}`];
    const vigil = new VigilProcess([...args, `--kubeconfig=${kubeconfig}`]);
    await until("its nodes are registered", () => vigil.out.includes("3 registered"), { withinMs: 60_000 });
    const shown = await nodes();
    expect(shown.match(/hollow-\d [^;]*vigil\.io\/hollow/g), shown).toHaveLength(3);
    await api.kubectl("delete", "pod", "hollow-0-pod-0", "--namespace=default");
    await api.kubectl("delete", "node", "hollow-1");
    await until("a deleted node is registered again", async () => (await nodes()).includes("hollow-1"));
    vigil.signal("SIGTERM");
    expect(await vigil.exited(), vigil.err).toBe(0);
    expect(await nodes()).toBe("");
    const account = `system:serviceaccount:${NAMESPACE}:${NAMESPACE}`;
    const grants = manifests.grants().filter((grant) => grant.account === account);
    expect(mismatches({ grants, requests: api.audited() })).toEqual([]);
  });
});
