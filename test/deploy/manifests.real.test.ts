/** What every pod of the install must have, in every overlay. It needs kubectl and no server. */
import { beforeAll, describe, expect, test } from "vitest";
import { describeWithKube } from "../support/kube-assets.ts";
import { type Manifests, render, renderUserPerProcess } from "./manifests.ts";

const OVERLAYS = ["shadow", "taint-eviction-only", "full"];

const BOTH = ["vigil-reader", "vigil-writer"];

describeWithKube("every pod", () => {
  describe.each([
    ...OVERLAYS.map((overlay) => [overlay, render, BOTH] as const),
    ...OVERLAYS.map((overlay) => [`${overlay} with a user for each process`, renderUserPerProcess, BOTH] as const),
    ["beside", render, ["vigil-beside"]] as const,
    ["full-without-nats", render, ["vigil-controller"]] as const,
  ])("of overlay %s", (name, renderOverlay, workloads) => {
    let manifests: Manifests;
    beforeAll(async () => {
      manifests = await renderOverlay(name.split(" ")[0] ?? "");
    });

    test("runs as user nobody, cannot write its root, and has no capability", () => {
      for (const { containers, securityContext } of manifests.pods()) {
        expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
        for (const container of containers) {
          expect(container.securityContext).toEqual({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ["ALL"] },
          });
        }
      }
    });

    test("leaves a lost node after 30 s and tolerates no other NoExecute", () => {
      for (const { tolerations } of manifests.pods()) {
        const lasting = tolerations.filter(({ effect }) => effect !== "NoSchedule");
        expect(lasting).toEqual(
          ["not-ready", "unreachable"].map((condition) => ({
            key: `node.kubernetes.io/${condition}`,
            operator: "Exists",
            effect: "NoExecute",
            tolerationSeconds: 30,
          })),
        );
      }
    });

    test("may start where only Vigil takes taints off, not on lost nodes", () => {
      for (const { tolerations } of manifests.pods()) {
        const started = tolerations.filter(({ effect }) => effect === "NoSchedule");
        expect(started.map(({ key }) => key)).toEqual([
          "node.kubernetes.io/not-ready",
          "node.kubernetes.io/network-unavailable",
          "node.kubernetes.io/memory-pressure",
          "node.kubernetes.io/disk-pressure",
          "node.kubernetes.io/pid-pressure",
          "node-role.kubernetes.io/control-plane",
          "node-role.kubernetes.io/master",
        ]);
      }
    });

    test("has probes and a priority", () => {
      for (const { containers, priorityClassName } of manifests.pods()) {
        expect(priorityClassName).toBe("system-cluster-critical");
        for (const { livenessProbe, readinessProbe } of containers) {
          expect(livenessProbe).toBeDefined();
          expect(readinessProbe).toBeDefined();
        }
      }
    });

    test("of Vigil is scraped, and takes an image already on the node", () => {
      const own = manifests.pods().filter(({ labels }) => labels["app.kubernetes.io/name"] === "vigil");
      expect(own.length).toBe(workloads.length);
      for (const { annotations, containers } of own) {
        expect(annotations).toEqual({ "prometheus.io/scrape": "true", "prometheus.io/port": "8080" });
        expect(containers.map(({ imagePullPolicy }) => imagePullPolicy)).toEqual(["IfNotPresent"]);
      }
    });

    test("is spread, with a disruption budget and a network policy", () => {
      for (const { labels, affinity } of manifests.pods()) {
        const terms = affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution;
        expect(terms.map(({ podAffinityTerm }) => podAffinityTerm)).toEqual(
          ["kubernetes.io/hostname", "topology.kubernetes.io/zone"].map((topologyKey) => ({
            topologyKey,
            labelSelector: { matchLabels: labels },
          })),
        );
        expect(manifests.selectorsOf("PodDisruptionBudget")).toContainEqual(labels);
        const policies = manifests.selectorsOf("NetworkPolicy").map((selector) => selector["app.kubernetes.io/name"]);
        expect(policies).toContain(labels["app.kubernetes.io/name"]);
      }
    });

    test("accepts named clients; its console monitoring and namespace", () => {
      expect(manifests.openPorts()).toEqual([]);
      expect(manifests.peersOf("vigil", 8080)).toEqual([
        { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } } },
        { podSelector: {} },
      ]);
    });

    test("of Vigil that is not ready does not keep a node from being drained", () => {
      const policies = manifests.drainPolicies();
      for (const workload of workloads) expect(policies[workload]).toBe("AlwaysAllow");
    });
  });
}, ["kubectl"]);

describeWithKube("with a NATS user for each process", () => {
  test.each(OVERLAYS)(
    "the processes of overlay %s have stable names, the same spec, and a seed each",
    async (overlay) => {
      const [usual, named] = [await render(overlay), await renderUserPerProcess(overlay)];
      expect(named.workloads()).toEqual(["StatefulSet nats", "StatefulSet vigil-reader", "StatefulSet vigil-writer"]);
      for (const workload of ["vigil-reader", "vigil-writer"])
        expect(named.argsOf(workload)).toEqual(usual.argsOf(workload));
      expect(named.grants()).toEqual(usual.grants());
      expect(named.seedsOf("vigil-reader")).toEqual({ "/etc/vigil/nats/reader.nk": "$(POD_NAME).nk" });
      expect(named.seedsOf("vigil-writer")).toEqual({
        "/etc/vigil/nats/writer.nk": "$(POD_NAME).nk",
        "/etc/vigil/nats/history.nk": "history.nk",
      });
    },
  );
}, ["kubectl"]);
