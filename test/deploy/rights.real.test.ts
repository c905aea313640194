/**
 * The manifests on a real API server: each overlay is applied, its processes run under their accounts, and every right
 * that is used was given, and every right that was given is used.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Kube } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { RawClient } from "../contract/kube.provided.ts";
import { describeWithHelm } from "../support/helm.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import type { AuditedRequest } from "../support/kube-audit.ts";
import { describeWithNats } from "../support/nats-programs.ts";
import { TestKubelet } from "../support/test-kubelet.ts";
import { until } from "../support/until.ts";
import { renderChart } from "./chart.ts";
import { InstalledCluster, mismatches } from "./installed.ts";
import { type Manifests, render } from "./manifests.ts";

const WRITES = ["create", "update", "patch", "delete", "deletecollection"];
/**
 * Longer than the lease watch may be quiet. All kubelets renew at the same time, so that it is quiet between, whatever
 * their number, and the observer looks at a lease itself.
 */
const LEASE_PERIOD_MS = 2_500;
const WITHIN = { withinMs: 40_000, everyMs: 200 };
/** A test of an install: what marks the objects of its journey, and how a mode is rendered. */
type InstallTest = (suffix: string, rendered: (mode: string) => Promise<Manifests>) => Promise<void>;
const WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
/** Refuses every deletion of a pod, because nobody answers. */
const REFUSING_WEBHOOK = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  metadata: { name: "refusing" },
  webhooks: [
    {
      name: "refusing.vigil.test",
      rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["DELETE"] }],
      clientConfig: { url: "https://127.0.0.1:1/" },
      failurePolicy: "Fail",
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
    },
  ],
};
const isRefusedDeletion = ({ verb, resource, status }: AuditedRequest): boolean =>
  verb === "delete" && resource === "pods" && status === 500;
// Longer than everything that a test waits for one after the other.
vi.setConfig({ testTimeout: 300_000 });

/** The same test of the two ways to run Vigil. The chart alone needs helm. */
function testInstalls(what: string, run: InstallTest): void {
  test(`a fleet ${what}`, () => run("of-many", (mode) => render(mode)));
  describeWithHelm("from the chart", () => {
    test(`one process ${what}`, () => run("of-one", (mode) => renderChart({ mode }, "--kube-version=1.20.2")));
  });
}

describeWithKube("on a real kube-apiserver with RBAC", () => {
  describeWithNats("and NATS with its roles", () => {
    let cluster: InstalledCluster;
    let kube: Kube;
    const kubelets = new Set<TestKubelet>();
    let renewals: NodeJS.Timeout;

    beforeAll(async () => {
      cluster = await InstalledCluster.start();
      const io = { clock: realClock(), random: systemRandom, log: silentLog, metrics: createMetrics() };
      kube = createKube({ ...io, wire: cluster.api.wire(), profile: STANDARD_PROFILE });
      renewals = setInterval(() => {
        for (const kubelet of kubelets) kubelet.renew();
      }, LEASE_PERIOD_MS);
    });
    afterAll(async () => {
      clearInterval(renewals);
      await cluster.stop();
    });

    const joins = (name: string): TestKubelet => {
      const kubelet = new TestKubelet(kube, realClock(), { name, leasePeriodMs: null, statusPeriodMs: null });
      kubelet.register();
      kubelet.renew();
      kubelets.add(kubelet);
      return kubelet;
    };
    const ask = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await cluster.api.kubectl(...args);
      return code === 0 ? stdout : `${stdout}${stderr}`;
    };
    const shows = (what: string[], wanted: RegExp) =>
      until(`${what.join(" ")} shows ${wanted}`, async () => wanted.test(await ask("get", ...what)), WITHIN);
    const taints = (node: string) => ["node", node, "-o=jsonpath={.spec.taints[*].effect}"];
    const ready = (kind: string, name: string) => [
      kind,
      name,
      '-o=jsonpath={.status.conditions[?(@.type=="Ready")].status}',
    ];
    const isLeaving = (pod: string) => shows(["pod", pod, "-o=jsonpath={.metadata.deletionTimestamp}"], /20|NotFound/);

    const runsPod = async (name: string, node: string, tolerationSeconds: number): Promise<void> => {
      const toleration = {
        key: "node.kubernetes.io/unreachable",
        operator: "Exists",
        effect: "NoExecute",
        tolerationSeconds,
      };
      const spec = { nodeName: node, tolerations: [toleration] };
      const overrides = JSON.stringify({ apiVersion: "v1", spec });
      const said = await ask("run", name, "--image=none", "--restart=Never", `--overrides=${overrides}`);
      expect(said).toContain("created");
      const status = JSON.stringify({ status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } });
      expect(await ask("patch", "pod", name, "--subresource=status", "--type=merge", `--patch=${status}`)).toContain(
        "patched",
      );
    };

    /** A pod leaves by the Eviction API, because a policy selects its node. */
    const isEvicted = async (suffix: string): Promise<void> => {
      if (!cluster.hasPolicies) return;
      const [node, pod] = [`by-api-${suffix}`, `evicted-${suffix}`];
      joins(node);
      await shows(["node", node], new RegExp(node));
      await ask("label", "node", node, "evictions=by-api");
      await runsPod(pod, node, 0);
      await ask("taint", "node", node, "maintenance:NoExecute");
      await isLeaving(pod);
    };

    /** A pod that could not be deleted at first is read before the next try. */
    const isReadBeforeRetry = async (suffix: string): Promise<void> => {
      const [node, pod] = [`refusing-${suffix}`, `refused-${suffix}`];
      joins(node);
      await shows(["node", node], new RegExp(node));
      await runsPod(pod, node, 0);
      const client = new RawClient(cluster.api.wire());
      await client.post(WEBHOOKS, REFUSING_WEBHOOK);
      const refused = async () => /webhook/.test(await ask("delete", "pod", pod, "--dry-run=server"));
      await until("deletions are refused", refused, WITHIN);
      const before = cluster.api.audited().length;
      const refusals = () => cluster.api.audited().slice(before).filter(isRefusedDeletion);
      await ask("taint", "node", node, "maintenance:NoExecute");
      await until("a deletion is refused", () => refusals().length > 0, WITHIN);
      await client.delete(`${WEBHOOKS}/${REFUSING_WEBHOOK.metadata.name}`);
      await isLeaving(pod);
    };

    const countsDown = async (url: string, pod: string): Promise<boolean> => {
      const { next } = (await (await fetch(`${url}/api/evictions`)).json()) as { next: { name: string }[] };
      return next.some(({ name }) => name === pod);
    };
    const cancellations = (pod: string) =>
      ask("get", "events", `-o=jsonpath={.items[?(@.involvedObject.name=='${pod}')].count}`);

    const wouldWrite = async (url: string, request: string): Promise<boolean> => {
      const lines = (await (await fetch(`${url}/metrics`)).text()).split("\n");
      const counts = lines.filter((line) => line.startsWith("vigil_writes_total") && line.includes('"shadowed"'));
      return counts.some((line) => line.includes(`"${request}"`));
    };

    describe("in place of taint eviction alone", () => {
      testInstalls("evicts, and only needs to read nodes", async (suffix, rendered) => {
        const [node, restless, patient] = [`marked-${suffix}`, `restless-${suffix}`, `patient-${suffix}`];
        const kubelet = joins(node);
        const use = await cluster.run(await rendered("taint-eviction-only"), async (url) => {
          await isEvicted(suffix);
          await isReadBeforeRetry(suffix);
          await runsPod(restless, node, 0);
          await runsPod(patient, node, 300);
          // Upstream's other controller has found the node silent.
          kubelets.delete(kubelet);
          const ready = { type: "Ready", status: "Unknown", lastTransitionTime: new Date().toISOString() };
          const patch = JSON.stringify({ status: { conditions: [ready] } });
          await ask("patch", "node", node, "--subresource=status", "--type=strategic", `--patch=${patch}`);
          const taint = "node.kubernetes.io/unreachable:NoExecute";
          for (const _ of [1, 2]) {
            await ask("taint", "node", node, taint);
            await isLeaving(restless);
            await until("the countdown of the other runs", () => countsDown(url, patient), WITHIN);
            await ask("taint", "node", node, `${taint}-`);
            await shows(["events"], new RegExp(`Cancelling deletion of Pod default/${patient}`));
          }
          await until("the same Event is repeated", async () => /2/.test(await cancellations(patient)), WITHIN);
        });
        expect(mismatches(use)).toEqual([]);
      });
    });

    describe("in shadow", () => {
      testInstalls("reads, counts what it would do, and writes nothing", async (suffix, rendered) => {
        const node = `doomed-${suffix}`;
        const doomed = joins(node);
        joins(`steady-${suffix}`);
        await shows(["node", node], new RegExp(node));
        await ask("label", "node", node, "evictions=read");
        await runsPod(`restless-in-shadow-${suffix}`, node, 0);
        const use = await cluster.run(await rendered("shadow"), async (url) => {
          await until("it sees", async () => (await fetch(`${url}/readyz`)).ok, WITHIN);
          kubelets.delete(doomed);
          // As the upstream controllers do, beside which a shadow runs.
          await ask("taint", "node", node, "node.kubernetes.io/unreachable:NoExecute");
          for (const request of ["asked.condition", "asked.taint", "asked.eviction"]) {
            await until(`it shadows ${request}`, () => wouldWrite(url, request), WITHIN);
          }
        });
        expect(use.requests.filter(({ verb }) => WRITES.includes(verb))).toEqual([]);
        expect(use.grants.filter(({ verb }) => WRITES.includes(verb))).toEqual([]);
        expect(mismatches(use)).toEqual([]);
      });
    });

    describe("in place of both", () => {
      testInstalls("marks, taints, evicts and heals with just the rights it has", async (suffix, rendered) => {
        const node = `actor-${suffix}`;
        const actor = joins(node);
        const use = await cluster.run(await rendered("full"), async () => {
          await shows(taints(node), /^$/);
          await isEvicted(`${suffix}-in-place-of-both`);
          await isReadBeforeRetry(`${suffix}-in-place-of-both`);
          await runsPod(`${node}-goes`, node, 0);
          await runsPod(`${node}-stays`, node, 300);
          for (const _ of [1, 2]) {
            kubelets.delete(actor);
            await shows(ready("node", node), /Unknown/);
            await shows(taints(node), /NoSchedule NoExecute|NoExecute NoSchedule/);
            await isLeaving(`${node}-goes`);
            await shows(ready("pod", `${node}-stays`), /False/);
            kubelets.add(actor);
            actor.post();
            await shows(taints(node), /^$/);
          }
        });
        expect(mismatches(use)).toEqual([]);
      });
    });
  });
});
