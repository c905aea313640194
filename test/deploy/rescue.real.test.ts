/** The job that rescues Vigil: its pod may run where Vigil may, and its rights are those that it uses. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { apiMicroTime } from "../../services/domain/api-time.ts";
import { RawClient } from "../contract/kube.provided.ts";
import { type KubeApiserver, startKubeApiserver } from "../support/kube-apiserver.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { writeKubeconfig } from "../support/kubectl.ts";
import { VigilProcess } from "../support/vigil-process.ts";
import { objectsOf } from "./chart.ts";
import { applyTo, mismatches } from "./installed.ts";
import { type Manifests, type PodTemplate, renderWithRescue } from "./manifests.ts";

const NAMESPACE = "vigil-system";
const ACCOUNT = `system:serviceaccount:${NAMESPACE}:vigil-rescue`;
const NODE = "silent-node";
const SILENT_MS = 3_600_000;
vi.setConfig({ testTimeout: 120_000 });

interface CronJob {
  readonly spec: { readonly jobTemplate: { readonly spec: { readonly template: { readonly spec: PodTemplate } } } };
}

function podOf(manifests: Manifests): PodTemplate {
  const job = objectsOf(manifests)[`CronJob ${NAMESPACE}/vigil-rescue`] as CronJob;
  return job.spec.jobTemplate.spec.template.spec;
}

describeWithKube("the job that rescues Vigil", () => {
  const folder = mkdtempSync(join(tmpdir(), "vigil-rescue-"));
  let manifests: Manifests;
  let api: KubeApiserver;

  beforeAll(async () => {
    manifests = await renderWithRescue("full-without-nats");
    api = await startKubeApiserver({ audit: { group: `system:serviceaccounts:${NAMESPACE}` } });
    await applyTo(api, join(folder, "all.yaml"), manifests);
  });
  afterAll(async () => {
    await api?.stop();
    rmSync(folder, { recursive: true });
  });

  /** A pod of a ReplicaSet on a node whose lease was not renewed for an hour. */
  async function losePod(): Promise<void> {
    const client = new RawClient(api.wire());
    const labels = { "app.kubernetes.io/name": "vigil" };
    const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "vigil", uid: "set", controller: true };
    const metadata = { name: "lost", labels, ownerReferences: [owner] };
    const spec = { nodeName: NODE, containers: [{ name: "vigil", image: "vigil" }] };
    const renewTime = apiMicroTime(Date.now() - SILENT_MS);
    const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    const lease = { metadata: { name: NODE }, spec: { holderIdentity: NODE, renewTime } };
    const pod = await client.post(`/api/v1/namespaces/${NAMESPACE}/pods`, { metadata, spec });
    expect([pod.status, (await client.post(leases, lease)).status]).toEqual([201, 201]);
  }

  test("runs where processes of Vigil may run, and as confined", () => {
    const [process] = manifests.pods();
    const { tolerations, priorityClassName, securityContext, containers } = podOf(manifests);
    expect({ tolerations, priorityClassName, securityContext }).toEqual({
      tolerations: process?.tolerations,
      priorityClassName: process?.priorityClassName,
      securityContext: process?.securityContext,
    });
    expect(containers[0]?.securityContext).toEqual(process?.containers[0]?.securityContext);
  });

  test("deletes a lost pod with the rights that it has, and has no other", async () => {
    await losePod();
    const { stdout } = await api.kubectl("create", "token", "vigil-rescue", `--namespace=${NAMESPACE}`);
    const server = { server: api.url, token: stdout.trim(), caFile: api.caFile };
    const kubeconfig = writeKubeconfig(join(folder, "kubeconfig"), server);
    const args = podOf(manifests).containers[0]?.args ?? [];
    const vigil = new VigilProcess([...args, "--observe=20s", `--kubeconfig=${kubeconfig}`]);
    expect(await vigil.exited(), vigil.err).toBe(0);
    expect(vigil.out).toContain(`deleted: pod ${NAMESPACE}/lost\n`);
    const pod = await api.kubectl("get", "pod", "lost", `--namespace=${NAMESPACE}`, "--output=jsonpath={.metadata}");
    expect(JSON.parse(pod.stdout)).toMatchObject({ deletionGracePeriodSeconds: 30 });
    const grants = manifests.grants().filter(({ account }) => account === ACCOUNT);
    expect(mismatches({ grants, requests: api.audited() })).toEqual([]);
  });
});
