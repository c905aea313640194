/** The Helm chart on a real API server, which takes it from helm and from a kubectl, both much newer than itself. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWithHelm, helm, modernKubectl } from "../support/helm.ts";
import { type KubeApiserver, startKubeApiserver } from "../support/kube-apiserver.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { CHART, renderChart } from "./chart.ts";

const OF_RELEASE = "--selector=app.kubernetes.io/instance=vigil";
const KINDS = "deployments,statefulsets,services,configmaps,serviceaccounts,poddisruptionbudgets,networkpolicies";
/** Custom resources of the Prometheus operator are unknown to the API server. */
const DASHBOARD = { grafanaDashboard: { enabled: true } };
const CLUSTER_KINDS = "clusterroles,clusterrolebindings,roles,rolebindings";

describeWithKube("on a real kube-apiserver", () => {
  describeWithHelm("the chart", () => {
    const folder = mkdtempSync(join(tmpdir(), "vigil-chart-"));
    let api: KubeApiserver;
    beforeAll(async () => {
      api = await startKubeApiserver();
    });
    afterAll(async () => {
      await api?.stop();
      rmSync(folder, { recursive: true });
    });

    const release = (verb: string, ...args: string[]): Promise<string> =>
      helm(verb, "vigil", ...args, "--namespace=vigil-system", `--kubeconfig=${api.kubeconfig}`);
    const kubectl = (...args: string[]): Promise<string> => modernKubectl(...args, `--kubeconfig=${api.kubeconfig}`);
    const objects = async (): Promise<string[]> => {
      const [own, others] = await Promise.all([
        kubectl("get", KINDS, OF_RELEASE, "--namespace=vigil-system", "--output=name"),
        kubectl("get", CLUSTER_KINDS, OF_RELEASE, "--all-namespaces", "--output=name"),
      ]);
      return `${own}${others}`.split("\n").filter(Boolean);
    };
    const workloads = async (): Promise<string[]> => (await objects()).filter((name) => name.includes(".apps/"));

    test("is installed, becomes a fleet and a shadow by upgrades, and is fully removed", async () => {
      await release("install", CHART, "--create-namespace");
      expect(await workloads()).toEqual(["deployment.apps/vigil-controller"]);
      await release("upgrade", CHART, "--set=fleet.enabled=true");
      expect(await workloads()).toEqual([
        "deployment.apps/vigil-reader",
        "deployment.apps/vigil-writer",
        "statefulset.apps/nats",
      ]);
      await release("upgrade", CHART, "--set=mode=shadow");
      const args = await kubectl("get", "deployments", "--namespace=vigil-system", "--output=jsonpath={..args}");
      expect(args).toContain("--shadow");
      await release("uninstall");
      expect(await objects()).toEqual([]);
    });

    test("runs a second time in shadow, without the objects that a cluster has once", async () => {
      const second = (verb: string, ...args: string[]): Promise<string> =>
        helm(verb, "second", ...args, "--namespace=second", `--kubeconfig=${api.kubeconfig}`);
      const values = ["--create-namespace", "--set=mode=shadow,nameOverride=second"];
      await release("install", CHART, "--create-namespace");
      await expect(second("install", CHART, ...values)).rejects.toThrow(/exists and cannot be imported/);
      await second("install", CHART, ...values, "--set=clusterObjects=false");
      expect((await kubectl("get", "deployments", "--all-namespaces", "--output=name")).trim().split("\n")).toEqual([
        "deployment.apps/second-controller",
        "deployment.apps/vigil-controller",
      ]);
      await second("uninstall");
      expect(await kubectl("get", "configmap", "vigil-freeze", "--namespace=kube-system", "--output=name")).toContain(
        "vigil-freeze",
      );
      await release("uninstall");
    });

    test.each([
      ["shadow", {}],
      ["beside", {}],
      ["taint-eviction-only", { rescue: { enabled: true } }],
      ["full", { fleet: { enabled: true }, rescue: { enabled: true }, monitoring: DASHBOARD }],
      ["shadow", { fleet: { enabled: true, userPerProcess: true }, console: { authentication: "kubernetes" } }],
    ])("in mode %s with %j is applied by kubectl, and again changes nothing", async (mode, values) => {
      const file = join(folder, "all.yaml");
      const all = { mode, createNamespace: true, ...values };
      writeFileSync(file, (await renderChart(all, "--kube-version=1.20.2")).text);
      await kubectl("apply", "--filename", file);
      const lines = (await kubectl("apply", "--filename", file)).trim().split("\n");
      expect(lines.filter((line) => !line.endsWith(" unchanged"))).toEqual([]);
    });
  });
});
