/** The Helm chart as it renders: its objects are those of kustomize, and values that cannot be are refused. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { describeWithHelm, helm } from "../support/helm.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { CHART, objectsOf, renderChart, renderChartAt } from "./chart.ts";
import { render, renderWith, renderWithRescue } from "./manifests.ts";

const OVERLAYS = readdirSync(join(CHART, "../../kustomize/overlays"));
/** Values under which the chart is an overlay: kustomize makes the namespace, and names no release of the image. */
const ALIKE = { createNamespace: true, image: { tag: "latest" } };
/** The mode of the chart for each overlay whose processes elect a leader; the others are a fleet in their own mode. */
const WITHOUT_NATS: Readonly<Record<string, string>> = { beside: "beside", "full-without-nats": "full" };
const ELECTED = [
  "--leader-elect",
  "--leader-elect-resource-name=vigil",
  "--leader-elect-resource-namespace=vigil-system",
];
/** Values for each component of kustomize. */
const COMPONENTS = {
  "user-per-process": { fleet: { enabled: true, userPerProcess: true } },
  "console-authentication": { fleet: { enabled: true }, console: { authentication: "kubernetes" } },
};
const MONITORING = {
  monitoring: {
    podMonitor: { enabled: true, labels: { release: "prometheus" } },
    prometheusRule: { enabled: true },
    grafanaDashboard: { enabled: true },
  },
};

describeWithHelm("the Helm chart", () => {
  describeWithKube("and kustomize", () => {
    test.each(OVERLAYS)("render the same objects in mode %s", async (overlay) => {
      const mode = WITHOUT_NATS[overlay] ?? overlay;
      const chart = await renderChart({ ...ALIKE, mode, fleet: { enabled: !(overlay in WITHOUT_NATS) } });
      expect(objectsOf(chart)).toEqual(objectsOf(await render(overlay)));
    });

    test.each(Object.entries(COMPONENTS))("render the same objects with %s", async (component, values) => {
      const chart = await renderChart({ ...ALIKE, ...values });
      expect(objectsOf(chart)).toEqual(objectsOf(await renderWith("full", [component])));
    });

    test.each([
      ["full", { fleet: { enabled: true } }],
      ["full-without-nats", {}],
    ])("render the same objects with a rescue in %s", async (overlay, values) => {
      const chart = await renderChart({ ...ALIKE, ...values, rescue: { enabled: true } });
      expect(objectsOf(chart)).toEqual(objectsOf(await renderWithRescue(overlay)));
    });
  }, ["kubectl"]);

  test("has rights to remediations only where values name their kinds", async () => {
    const kind = {
      namespace: "medik8s",
      group: "self-node-remediation.medik8s.io",
      resource: "selfnoderemediations",
      templateResource: "selfnoderemediationtemplates",
    };
    const isOfRemediations = (key: string): boolean => key.includes("-remediations-");
    expect(Object.keys(objectsOf(await renderChart(ALIKE))).filter(isOfRemediations)).toEqual([]);
    const objects = objectsOf(await renderChart({ ...ALIKE, remediations: [kind] }));
    const [, role] = Object.entries(objects).find(([key]) => /^Role\b.*medik8s/.test(key)) ?? [];
    expect(role).toMatchObject({
      metadata: { namespace: "medik8s" },
      rules: [
        { apiGroups: [kind.group], resources: [kind.resource], verbs: ["list", "create", "patch", "delete"] },
        { apiGroups: [kind.group], resources: [kind.templateResource], verbs: ["get"] },
      ],
    });
    await expect(renderChart({ remediations: [{ ...kind, group: "apps" }] })).rejects.toThrow("remediations");
  });

  test("passes helm's linter", async () => {
    expect(await helm("lint", "--strict", CHART)).toContain("0 chart(s) failed");
  });

  test.each([
    ["full", 2, ["run", ...ELECTED, "--member=$(POD_NAME)", "--listen=:8080"]],
    ["shadow", 1, ["run", "--member=$(POD_NAME)", "--listen=:8080", "--shadow"]],
    [
      "taint-eviction-only",
      2,
      [
        "run",
        "--services=observer,taint-manager,pod-writer,ledger,policy",
        ...ELECTED,
        "--member=$(POD_NAME)",
        "--listen=:8080",
      ],
    ],
  ])("has no NATS by default; in mode %s it has %i replicas", async (mode, replicas, args) => {
    const chart = await renderChart({ mode });
    expect(chart.workloads()).toEqual(["Deployment vigil-controller"]);
    expect(chart.argsOf("vigil-controller")).toEqual(args);
    expect(objectsOf(chart)["Deployment vigil-system/vigil-controller"]).toMatchObject({ spec: { replicas } });
  });

  test("lets its processes write the one Lease by which they elect a leader", async () => {
    const chart = objectsOf(await renderChart({ nameOverride: "other" }));
    expect(chart["Role vigil-system/other-controller"]).toMatchObject({
      rules: [
        { resources: ["leases"], resourceNames: ["other"], verbs: ["get", "list", "watch", "update"] },
        { resources: ["leases"], verbs: ["create"] },
      ],
    });
  });

  test("gives a process in shadow no right to write", async () => {
    const verbs = (await renderChart({ mode: "shadow" })).grants().map(({ verb }) => verb);
    expect(new Set(verbs)).toEqual(new Set(["get", "list", "watch"]));
  });

  test("passes settings on as flags, which take the place of the mode's", async () => {
    const settings = { "node-monitor-grace-period": "20s", "kube-api-qps": 50 };
    const args = (await renderChart({ mode: "beside", settings })).argsOf("vigil-beside");
    expect(args.slice(1)).toEqual([
      "--upstream=beside",
      ...ELECTED,
      "--member=$(POD_NAME)",
      "--listen=:8080",
      "--kube-api-qps=50",
      "--node-monitor-grace-period=20s",
    ]);
  });

  test("adds tolerations to those that every pod has", async () => {
    const added = { key: "CriticalAddonsOnly", operator: "Exists" };
    const [usual, more] = [await renderChart({}), await renderChart({ pod: { tolerations: [added] } })];
    for (const [index, { tolerations }] of more.pods().entries())
      expect(tolerations).toEqual([...(usual.pods()[index]?.tolerations ?? []), added]);
  });

  test("names the image by its digest where there is one, else by the chart's version", async () => {
    const digest = `sha256:${"0".repeat(64)}`;
    const { version } = parse(readFileSync(join(CHART, "Chart.yaml"), "utf8"));
    expect((await renderChart({ image: { digest } })).text).toContain(`image: vigil@${digest}`);
    expect((await renderChart({})).text).toContain(`image: vigil:${version}\n`);
  });

  test("has a disruption budget that each API server knows", async () => {
    expect((await renderChart({}, "--kube-version=1.20.2")).text).toContain("apiVersion: policy/v1beta1\n");
    expect((await renderChart({}, "--kube-version=1.33.0")).text).toContain("apiVersion: policy/v1\n");
  });

  test("has the alerts, the dashboard and the scrape targets of the repository's files", async () => {
    const objects = objectsOf(await renderChart(MONITORING));
    const rules = readFileSync(join(CHART, "../../prometheus/vigil.rules.yaml"), "utf8");
    const dashboard = readFileSync(join(CHART, "../../grafana/vigil.json"), "utf8");
    expect(objects["PrometheusRule vigil-system/vigil"]).toMatchObject({ spec: parse(rules) });
    const runbooks = "https://wiki.example/alerts";
    const { text } = await renderChart({ monitoring: { prometheusRule: { enabled: true, runbooks } } });
    expect(text).toContain(`runbook_url: ${runbooks}#vigilabsent\n`);
    expect(text).not.toContain("OWNER/NAME");
    expect(objects["ConfigMap vigil-system/vigil-dashboard"]).toMatchObject({ data: { "vigil.json": dashboard } });
    expect(objects["PodMonitor vigil-system/vigil"]).toMatchObject({
      metadata: { labels: { release: "prometheus" } },
      spec: {
        selector: { matchLabels: { "app.kubernetes.io/name": "vigil" } },
        podMetricsEndpoints: [{ port: "http", path: "/metrics" }],
      },
    });
  });

  test("is the same from an archive, as a registry has it", async () => {
    const folder = mkdtempSync(join(tmpdir(), "vigil-archive-"));
    try {
      await helm("package", CHART, "--destination", folder);
      const [archive = ""] = readdirSync(folder);
      const values = { ...MONITORING, fleet: { enabled: true } };
      expect(objectsOf(await renderChartAt(join(folder, archive), values))).toEqual(
        objectsOf(await renderChart(values)),
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  describe("refuses", () => {
    test.each([
      [{ mode: "ful" }, "at '/mode': value must be one of 'full', 'taint-eviction-only', 'shadow', 'beside'"],
      [{ fleet: { reader: 3 } }, "at '/fleet': additional properties 'reader' not allowed"],
      [{ image: { digest: "latest" } }, "at '/image/digest'"],
      [{ settings: { listen: ":80" } }, "invalid propertyName 'listen'"],
      [{ settings: { "node-monitor-grace": "20s" } }, "invalid propertyName 'node-monitor-grace'"],
      [{ mode: "beside", fleet: { enabled: true } }, "mode beside runs as one process: set fleet.enabled to false"],
      [{ mode: "shadow", rescue: { enabled: true } }, "mode shadow needs no rescue"],
      [{ mode: "beside", rescue: { enabled: true } }, "mode beside needs no rescue"],
      [{ fleet: { enabled: true, userPerProcess: true }, rescue: { enabled: true } }, "a pod of a StatefulSet is only"],
      [{ rescue: { enabled: true, silentFor: "soon" } }, "at '/rescue/silentFor'"],
    ])("%j", async (values, message) => {
      await expect(renderChart(values)).rejects.toThrow(message);
    });
  });
});
