/** `vigil rescue` on the embedded API server: on virtual time, and the verb over HTTP. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { type ServedApi, serveApi } from "../../../services/cli/apiserver/served-api.ts";
import { runCommandLine } from "../../../services/cli/command-line.ts";
import { type RescueOptions, rescue } from "../../../services/cli/rescue/rescue.ts";
import { apiMicroTime } from "../../../services/domain/api-time.ts";
import { createKube } from "../../../services/platform/kube/kube.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { processFiles } from "../../../services/platform/process/process.ts";
import { systemRandom } from "../../../services/platform/process/random.ts";
import { ApiServer } from "../../../services/sandbox/apiserver/apiserver.ts";
import { RawClient } from "../../contract/kube.provided.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { seededRandom } from "../../support/random.seeded.ts";
import { type FakeHost, fakeHost } from "../fake-host.ts";

const PODS = "/api/v1/namespaces/vigil-system/pods";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const OPTIONS: RescueOptions = {
  namespace: "vigil-system",
  selector: "app.kubernetes.io/name=vigil",
  silentForMs: 120_000,
  observeMs: 40_000,
  dryRun: false,
};
const LOST = { kind: "ReplicaSet", name: "vigil-controller-5d4" };
const NAMESPACE = { apiVersion: "v1", kind: "Namespace", metadata: { name: "vigil-system" } };

function podOf(name: string, nodeName: string, owner: { readonly kind: string; readonly name: string } = LOST) {
  const labels = { "app.kubernetes.io/name": "vigil", "pod-template-hash": "5d4" };
  const ownerReferences = [{ apiVersion: "apps/v1", uid: "set", controller: true, ...owner }];
  const spec = { nodeName, terminationGracePeriodSeconds: 15, containers: [{ name: "vigil", image: "vigil" }] };
  return { apiVersion: "v1", kind: "Pod", metadata: { name, labels, ownerReferences }, spec };
}

function leaseOf(node: string, renewedAt: number) {
  const spec = { holderIdentity: node, renewTime: apiMicroTime(renewedAt) };
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: node }, spec };
}

describe("on virtual time", () => {
  let clock: VirtualClock;
  let client: RawClient;
  let io: Parameters<typeof rescue>[0];
  let host: FakeHost;

  /** Waits for an answer, and lets time pass until it is there. */
  async function settled<T>(promise: Promise<T>): Promise<T> {
    let isOpen = true;
    const close = (): void => {
      isOpen = false;
    };
    promise.then(close, close);
    for (let step = 0; step < 10_000 && isOpen; step++) {
      clock.advance(10);
      await Promise.resolve();
    }
    return promise;
  }

  const secondsAgo = (seconds: number): number => clock.wallMs() - seconds * 1000;
  const create = async (path: string, body: object): Promise<void> => {
    const { status } = await settled(client.post(path, body));
    expect(status).toBe(201);
  };
  /** The names of the pods, each with its deletion grace where it is Terminating. */
  const pods = async (): Promise<string[]> => {
    const { object } = await settled(client.get(PODS));
    const items = object.items as { metadata: { name: string; deletionGracePeriodSeconds?: number } }[];
    return items.map(({ metadata }) => [metadata.name, metadata.deletionGracePeriodSeconds].join(" ").trim());
  };

  beforeEach(async () => {
    clock = new VirtualClock();
    const { wire } = new ApiServer({ clock, random: seededRandom(1) });
    client = new RawClient(wire);
    host = fakeHost();
    const parts = { wire, clock, random: seededRandom(2), log: silentLog, metrics: createMetrics() };
    io = { wire, clock, host, kube: createKube({ ...parts, profile: STANDARD_PROFILE }) };
    await create("/api/v1/namespaces", NAMESPACE);
    for (const [pod, node] of [
      ["controller-a", "node-a"],
      ["controller-b", "node-b"],
    ] as const) {
      await create(PODS, podOf(pod, node));
      await create(LEASES, leaseOf(node, secondsAgo(180)));
    }
  });

  test("the pods of silent nodes are deleted with their own grace", async () => {
    await settled(rescue(io, OPTIONS));
    expect(await pods()).toEqual(["controller-a 15", "controller-b 15"]);
    expect(host.out().split("\n")).toEqual([
      "all pods of a workload are on silent nodes; watching the leases for 40 s",
      expect.stringMatching(
        /^Deployment vigil-controller is lost: pod controller-a is on node-a, silent for 4 min and pod controller-b /,
      ),
      "deleted: pod vigil-system/controller-a",
      "deleted: pod vigil-system/controller-b",
      "",
    ]);
  });

  test("a second run leaves the pods that are Terminating alone", async () => {
    await settled(rescue(io, OPTIONS));
    const startedAt = clock.wallMs();
    await settled(rescue(io, OPTIONS));
    expect(host.out()).toContain("Deployment vigil-controller waits: no pod of it is on a node");
    expect(clock.wallMs() - startedAt).toBeLessThan(OPTIONS.observeMs);
  });

  test("a dry run deletes nothing", async () => {
    await settled(rescue(io, { ...OPTIONS, dryRun: true }));
    expect(await pods()).toEqual(["controller-a", "controller-b"]);
    expect(host.out()).toContain("would delete: pod vigil-system/controller-a\n");
  });

  test("a kubelet that renews keeps all, also if its clock is behind", async () => {
    clock.after(30_000, () => {
      const { spec } = leaseOf("node-b", secondsAgo(170));
      void client.patch(`${LEASES}/node-b`, "merge-patch", { spec });
    });
    await settled(rescue(io, OPTIONS));
    expect(await pods()).toEqual(["controller-a", "controller-b"]);
    expect(host.out()).toContain("Deployment vigil-controller may be alive: pod controller-b: the lease of node-b");
  });

  test("a replacement on a living node keeps all", async () => {
    clock.after(30_000, () => {
      void client.post(LEASES, leaseOf("node-c", clock.wallMs()));
      void client.post(PODS, podOf("controller-c", "node-c"));
    });
    await settled(rescue(io, OPTIONS));
    expect(await pods()).toEqual(["controller-a", "controller-b", "controller-c"]);
  });

  test("a living node ends it at once", async () => {
    await create(PODS, podOf("controller-c", "node-c"));
    await create(LEASES, leaseOf("node-c", clock.wallMs()));
    await settled(rescue(io, OPTIONS));
    expect(host.out()).toMatch(/^Deployment vigil-controller may be alive: pod controller-c: [^\n]+ ago\n$/);
  });

  test("a pod of its own Job on a living node is no process of Vigil", async () => {
    await create(PODS, podOf("rescue-1", "node-c", { kind: "Job", name: "vigil-rescue-1" }));
    await create(LEASES, leaseOf("node-c", clock.wallMs()));
    await settled(rescue(io, OPTIONS));
    expect(await pods()).toEqual(["controller-a 15", "controller-b 15", "rescue-1"]);
  });

  test("a pod that ended on a living node is no process either", async () => {
    await create(PODS, podOf("controller-c", "node-c"));
    const { status } = await settled(
      client.patch(`${PODS}/controller-c/status`, "merge-patch", { status: { phase: "Failed" } }),
    );
    expect(status).toBe(200);
    await create(LEASES, leaseOf("node-c", clock.wallMs()));
    await settled(rescue(io, OPTIONS));
    expect(await pods()).toEqual(["controller-a 15", "controller-b 15", "controller-c"]);
  });

  test("pods of a StatefulSet are not touched, and it fails and says so", async () => {
    await create(PODS, podOf("writer-0", "node-a", { kind: "StatefulSet", name: "vigil-writer" }));
    await expect(settled(rescue(io, OPTIONS))).rejects.toThrow("StatefulSet vigil-writer is lost: pod writer-0 is on");
    expect(await pods()).toEqual(["controller-a 15", "controller-b 15", "writer-0"]);
  });

  test("other pods of the namespace are not touched", async () => {
    const foreign = podOf("nats-0", "node-a");
    await create(PODS, { ...foreign, metadata: { ...foreign.metadata, labels: { "app.kubernetes.io/name": "nats" } } });
    await settled(rescue(io, OPTIONS));
    expect(await pods()).toEqual(["controller-a 15", "controller-b 15", "nats-0"]);
  });

  test("a pod that changes meanwhile is left alone", async () => {
    const kube: typeof io.kube = {
      ...io.kube,
      write: (request, done) =>
        io.kube.write({ ...request, ...(request.verb === "delete" ? { uid: "another" } : {}) }, done),
    };
    await settled(rescue({ ...io, kube }, OPTIONS));
    expect(await pods()).toEqual(["controller-a", "controller-b"]);
    expect(host.out()).toContain("changed meanwhile: pod vigil-system/controller-a\n");
  });

  test("it ends without a deletion when it is interrupted", async () => {
    clock.after(20_000, () => host.stop());
    await expect(settled(rescue(io, OPTIONS))).rejects.toThrow("interrupted while it observed the leases");
    expect(await pods()).toEqual(["controller-a", "controller-b"]);
  });

  test.each([
    ["read leases", "read", "cannot read the lease of node node-a: 403: not yours"],
    ["delete pods", "write", "cannot delete pod vigil-system/controller-a: 403: not yours; cannot delete pod"],
  ])("without the right to %s it fails with one line", async (_what, port, problem) => {
    const refuse = (_request: unknown, done: (reply: { outcome: "denied"; detail: string }) => void): void => {
      clock.soon(() => done({ outcome: "denied", detail: "403: not yours" }));
    };
    const kube = { ...io.kube, [port]: refuse };
    await expect(settled(rescue({ ...io, kube }, OPTIONS))).rejects.toThrow(problem);
    expect(await pods()).toEqual(["controller-a", "controller-b"]);
  });

  test.each([
    ["--namespace", { namespace: "elsewhere" }],
    ["--selector", { selector: "app=other" }],
  ])("a wrong %s is said to have no pods", async (flag, wrong) => {
    await expect(settled(rescue(io, { ...OPTIONS, ...wrong }))).rejects.toThrow(
      new RegExp(`^no pod in namespace .*: check .*${flag}`),
    );
  });
});

describe("the verb over HTTP", () => {
  let served: ServedApi;
  beforeAll(async () => {
    const api = new ApiServer({ clock: realClock(), random: systemRandom });
    const values = { listen: "127.0.0.1:0", writeKubeconfig: "" };
    served = await serveApi(api, values, { ...fakeHost(), ...processFiles });
    const client = new RawClient(api.wire);
    await client.post("/api/v1/namespaces", NAMESPACE);
    await client.post(PODS, podOf("controller-a", "node-a"));
    await client.post(LEASES, leaseOf("node-a", Date.now()));
  });
  afterAll(() => served.front.close());

  async function vigil(...flags: string[]) {
    const own = fakeHost();
    const code = await runCommandLine(["rescue", `--kubeconfig=${served.kubeconfig}`, ...flags], own);
    return { code, out: own.out(), err: own.err() };
  }

  test("does nothing while Vigil may be alive, and says so", async () => {
    expect(await vigil()).toEqual({
      code: 0,
      out: expect.stringMatching(/^Deployment vigil-controller may be alive: pod controller-a: the kubelet of node-a /),
      err: "",
    });
  });

  test.each([
    [["--namespace=other"], 1, "no pod in namespace other has the labels app.kubernetes.io/name=vigil"],
    [["--observe=19s"], 2, "--observe=19s: must be at least 20s"],
    [["now"], 2, "unexpected argument: now"],
  ])("%j is refused in one line", async (flags, code, problem) => {
    expect(await vigil(...flags)).toEqual({ code, out: "", err: expect.stringContaining(`vigil: ${problem}`) });
  });
});
