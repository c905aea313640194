/**
 * `evictions.method: Evict` on a real kube-apiserver with the real disruption controller: a PodDisruptionBudget refuses
 * an eviction and is named, and the eviction succeeds once another pod is ready.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Explanation } from "../../protocols/ledger-reader.ts";
import { type ObjectRef, Urgency } from "../../protocols/ports.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { type ControllerManager, startControllerManager } from "../support/kube-controller-manager.ts";
import { read, write } from "../support/kube-probe.ts";
import { freePort } from "../support/nats-server.ts";
import { Stage, vigilWith } from "../support/stage.ts";
import { until } from "../support/until.ts";

const WITHIN = { withinMs: 60_000, everyMs: 100 };
const POLICY = `policies:
  - name: stateful
    spec:
      selector: { matchLabels: { zone: a } }
      evictions: { method: Evict }
`;
const REFUSAL = "The disruption budget web needs 2 healthy pods and has 2 currently";

describeWithKube("evictions through the Eviction API", () => {
  const folder = mkdtempSync(join(tmpdir(), "vigil-evict-"));
  let stage: Stage;
  let manager: ControllerManager | null = null;
  let url = "";

  const podRef = (name: string): ObjectRef => ({ kind: "Pod", namespace: "default", name });
  const isLeaving = async (name: string): Promise<boolean> => {
    const reply = await read(stage.kube, podRef(name));
    return (
      reply.outcome === "gone" || (reply.outcome === "ok" && reply.object.metadata.deletionTimestamp !== undefined)
    );
  };
  const allowed = async (): Promise<unknown> => {
    const { status = {} } = (await stage.kubectl("get", "poddisruptionbudget", "web")) as {
      readonly status?: { readonly currentHealthy?: number; readonly disruptionsAllowed?: number };
    };
    return [status.currentHealthy, status.disruptionsAllowed];
  };
  const explained = async (): Promise<string> => {
    const answer = await fetch(`${url}/api/explain/pod/default/web-0`);
    return ((await answer.json()) as Explanation).sentences?.join("\n") ?? "";
  };
  /** Runs a pod that is ready at once. */
  const runPod = async (name: string, nodeName: string): Promise<void> => {
    const overrides = JSON.stringify({ apiVersion: "v1", spec: { nodeName } });
    await stage.kubectl("run", name, "--image=none", "--labels=app=web", "--restart=Never", `--overrides=${overrides}`);
    const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
    const patch = { verb: "patch", patch: "strategic", subresource: "status", body: { status } } as const;
    const reply = await write(stage.kube, { ref: podRef(name), urgency: Urgency.status, ...patch });
    expect(reply.outcome).toBe("ok");
  };

  /** The version of the policy API, which this server prefers. */
  const policyVersion = (): Promise<string> => {
    const wire = stage.wire();
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    let text = "";
    const decoder = new TextDecoder();
    const request = { method: "GET", path: "/apis/policy", headers: { accept: "application/json" }, body: null };
    wire.send(request, {
      response: () => {},
      data: (chunk) => {
        text += decoder.decode(chunk, { stream: true });
      },
      end: () =>
        resolve((JSON.parse(text) as { preferredVersion: { groupVersion: string } }).preferredVersion.groupVersion),
      failed: () => reject(new Error("/apis/policy was not answered")),
    });
    return promise.finally(() => wire.close());
  };

  /** A budget that needs two pods; kubectl itself would create one of a version that older servers lack. */
  const createBudget = async (): Promise<void> => {
    const apiVersion = await policyVersion();
    const spec = { minAvailable: 2, selector: { matchLabels: { app: "web" } } };
    const file = join(folder, "budget.json");
    writeFileSync(file, JSON.stringify({ apiVersion, kind: "PodDisruptionBudget", metadata: { name: "web" }, spec }));
    await stage.kubectl("create", `--filename=${file}`);
  };

  beforeAll(async () => {
    const config = join(folder, "vigil.yaml");
    writeFileSync(config, POLICY);
    const listen = `127.0.0.1:${await freePort()}`;
    url = `http://${listen}`;
    const start = vigilWith({ config, listen, "node-monitor-grace-period": "30s" });
    stage = await Stage.open(async (kubeconfig) => {
      manager = await startControllerManager({ kubeconfig, controllers: ["disruption"] });
      return start(kubeconfig);
    });
    stage.registerAs(["a-0", "a-1"].map((name) => ({ name, zone: "a", region: "r", labels: { zone: "a" } })));
    await stage.restart();
    await createBudget();
    await runPod("web-0", "a-0");
    await runPod("web-1", "a-1");
    await until("the budget counts both pods", async () => JSON.stringify(await allowed()) === "[2,0]", WITHIN);
    await stage.specify("a-0", { taints: [{ key: "example.com/maintenance", effect: "NoExecute" }] });
  });
  afterAll(async () => {
    await stage?.close();
    await manager?.stop();
    rmSync(folder, { recursive: true });
  });

  test("a disruption budget that needs the pod refuses, and explain names it", async () => {
    let said = "";
    const namesBudget = async (): Promise<boolean> => {
      said = await explained();
      return said.includes(REFUSAL);
    };
    await until(() => `explain names the budget: ${said}\n${stage.log()}`, namesBudget, WITHIN);
    expect(await isLeaving("web-0")).toBe(false);
  }, 90_000);

  test("once another pod is ready, the eviction goes through", async () => {
    await runPod("web-2", "a-1");
    await until("the pod leaves", () => isLeaving("web-0"), WITHIN);
    expect(await isLeaving("web-1")).toBe(false);
    expect(await isLeaving("web-2")).toBe(false);
  }, 90_000);
}, ["kube-controller-manager", "kubectl"]);
