/** The agent on a real kube-apiserver, with Vigil's own controller reacting to it. */
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LEASE_NAMESPACE } from "../../protocols/names.ts";
import type { NodeObject } from "../../services/agent/node-object.ts";
import { nodeRef } from "../../services/agent/registration.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { HollowNodes } from "../../services/sandbox/hollow/hollow.service.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { read } from "../support/kube-probe.ts";
import { until } from "../support/until.ts";
import { VigilProcess } from "../support/vigil-process.ts";
import { GIBIBYTE, MACHINE, STATS } from "./agent-fixtures.ts";
import { AgentScene } from "./journey.scene.ts";

/** For the one test that waits for half a minute. */
const LONG = { timeout: 120_000 };
const CMAD = "volumes.kubernetes.io/controller-managed-attach-detach";
const leaseRef = (name: string) => ({ kind: "Lease", namespace: LEASE_NAMESPACE, name }) as const;

describeWithKube("an agent on a real kube-apiserver", () => {
  let scene: AgentScene;

  beforeAll(async () => {
    scene = await AgentScene.open();
  });

  afterAll(async () => {
    await scene.close();
  });

  /** Waits until a node's lease names this node as its owner; lease and node are written apart from each other. */
  const leaseIsOf = (name: string, node: NodeObject | null): Promise<void> => {
    const owned = { object: { metadata: { ownerReferences: [{ uid: node?.metadata.uid }] } } };
    return expect.poll(() => read(scene.kube, leaseRef(name)), { timeout: 30_000 }).toMatchObject(owned);
  };

  test("registers a fresh node with lease and Events; Vigil removes the admission taint", async () => {
    scene.start("fresh", { zone: "z" });
    const node = await scene.shows("fresh", "Ready=True", []);
    expect(node?.status?.capacity).toMatchObject({ cpu: "4", memory: "8Gi", pods: "110" });
    expect(node?.metadata.labels).toMatchObject({ "topology.kubernetes.io/zone": "z" });
    await leaseIsOf("fresh", node);
    await until("the Events are there", async () => (await scene.events("fresh")).length >= 4, { everyMs: 200 });
    expect(await scene.events("fresh")).toEqual(
      expect.arrayContaining(["Starting", "NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"]),
    );
  });

  test("reconciles an existing node and leaves its spec alone (R9.5, R9.6)", async () => {
    await scene.create({
      metadata: { name: "known", labels: { "kubernetes.io/os": "plan9", mine: "1" }, annotations: { [CMAD]: "false" } },
      spec: { providerID: "mine://1", unschedulable: true },
      status: {
        capacity: { "example.com/gpu": "4", "hugepages-1Gi": "1Gi" },
        allocatable: { "example.com/gpu": "4", "hugepages-1Gi": "1Gi" },
      },
    });
    const { stats } = scene.start("known", { providerId: "other://1" });
    const machine = { ...MACHINE, hugePages: { "2Mi": GIBIBYTE } };
    stats.current = { ...STATS, machine, resetExtendedResources: true };
    const node = await scene.shows("known", "Ready=True", ["unschedulable"]);
    expect(node).toMatchObject({
      metadata: { labels: { "kubernetes.io/os": "linux", mine: "1" }, annotations: { [CMAD]: "true" } },
      spec: { providerID: "mine://1", unschedulable: true },
      status: { capacity: { "example.com/gpu": "0", "hugepages-2Mi": "1Gi" }, allocatable: { memory: "7068Mi" } },
    });
    expect(node?.status?.capacity).not.toHaveProperty("hugepages-1Gi");
  });

  test("that may not create its node reconciles the existing one", async () => {
    const may = ["--verb=get,patch,update,create", "--resource=leases,nodes/status,events"];
    await scene.create({ metadata: { name: "forbidden" } });
    const { agent } = scene.start("forbidden", {}, scene.client(scene.server.strangerToken));
    const refused = () => scene.log.lines.some(({ fields }) => String(fields.problem).includes("forbidden"));
    await until("the agent is refused", refused);
    expect(agent.registered()).toBe(false);
    await scene.server.kubectl("create", "clusterrole", "half-kubelet", ...may);
    await scene.server.kubectl("create", "clusterrole", "sees-nodes", "--verb=get", "--resource=nodes");
    for (const role of ["half-kubelet", "sees-nodes"]) {
      await scene.server.kubectl("create", "clusterrolebinding", role, `--clusterrole=${role}`, "--user=stranger");
    }
    await scene.shows("forbidden", "Ready=True", []);
  });

  test("registers again when its node is deleted, with a new lease (better than R9.4)", async () => {
    scene.start("deleted");
    const before = (await scene.shows("deleted", "Ready=True", []))?.metadata.uid;
    await scene.remove(nodeRef("deleted"));
    const back = async () => ![before, undefined].includes((await scene.node("deleted"))?.metadata.uid);
    await until("the node is there again", back);
    await leaseIsOf("deleted", await scene.shows("deleted", "Ready=True", []));
  });

  test("under pressure sets the condition, Vigil adds the taint, and both end with it", async () => {
    const { stats } = scene.start("pressed");
    await scene.shows("pressed", "MemoryPressure=False", []);
    stats.current = { ...STATS, headroom: { "memory.available": { available: 1, capacity: 2 } } };
    await scene.shows("pressed", "MemoryPressure=True", ["memory-pressure"]);
    stats.current = STATS;
    await scene.shows("pressed", "MemoryPressure=False", []);
  });

  test("that stops posts NotReady and deletes its lease, and Vigil taints the node", async () => {
    const { agent } = scene.start("stopping", { deleteLeaseOnStop: true });
    await leaseIsOf("stopping", await scene.shows("stopping", "Ready=True", []));
    await new Promise<void>((resolve) => agent.stop(resolve));
    const node = await scene.shows("stopping", "Ready=False", ["not-ready"]);
    const ready = node?.status?.conditions?.find(({ type }) => type === "Ready");
    expect(ready?.message).toBe("node is shutting down");
    expect((await read(scene.kube, leaseRef("stopping"))).outcome).toBe("gone");
  });

  test("silent hollow nodes are found Unknown, heal, and finalise their pods", async () => {
    const { clock, kube, log } = scene;
    const times = { leaseSeconds: 2, statusReportMs: 300_000 };
    const nodes = [{ name: "hollow-1", pods: 1 }, { name: "hollow-2" }];
    const hollow = new HollowNodes({ clock, kube, log, random: systemRandom, nodes, times });
    const pod = { kind: "Pod", namespace: "default", name: "hollow-1-pod-0" } as const;
    await scene.shows("hollow-1", "Ready=True", []);
    await until("its pod is there", async () => (await read(kube, pod)).outcome === "ok");
    hollow.stop({ names: ["hollow-1"] });
    await scene.shows("hollow-1", "Ready=Unknown", ["unreachable"]);
    await scene.remove(pod);
    expect((await read(kube, pod)).outcome).toBe("ok");
    hollow.resume({});
    await scene.shows("hollow-1", "Ready=True", []);
    await until("the pod is finalised", async () => (await read(kube, pod)).outcome === "gone");
    hollow.remove({});
    await until("the nodes are gone", async () => (await scene.node("hollow-2")) === null);
    hollow.shutdown();
  });

  test("the program registers this machine as in /proc, and posts NotReady on SIGTERM", async () => {
    const agent = new VigilProcess([
      "agent",
      `--kubeconfig=${scene.server.kubeconfig}`,
      "--node-name=machine",
      "--log-format=json",
    ]);
    await leaseIsOf("machine", await scene.shows("machine", "Ready=True", ["vigil/runs-no-pods"]));
    const { stdout } = await scene.server.kubectl("describe", "node", "machine");
    const fact = (name: string) => new RegExp(`^ *${name}: +(.+)$`, "m").exec(stdout)?.[1];
    const memory = /MemTotal: +(\d+) kB/.exec(readFileSync("/proc/meminfo", "utf8"))?.[1];
    const system = (file: string) => readFileSync(`/proc/sys/kernel/${file}`, "utf8").trim();
    expect([fact("cpu"), fact("memory")]).toEqual([String(cpus().length), `${memory}Ki`]);
    expect([fact("Boot ID"), fact("Kernel Version")]).toEqual([system("random/boot_id"), system("osrelease")]);
    expect(fact("HolderIdentity")).toBe("machine");
    agent.signal("SIGTERM");
    expect(await agent.exited()).toBe(0);
    await scene.shows("machine", "Ready=False", ["not-ready", "vigil/runs-no-pods"]);
  });

  // The last test, because the others need the server.
  test("started while the API server is down registers when it is up", LONG, async () => {
    await scene.server.kill();
    const downMs = performance.now();
    const { agent } = scene.start("early");
    const refused = () => scene.log.lines.some(({ fields }) => String(fields.problem).includes("ECONNREFUSED"));
    await until("the agent is refused", refused);
    const isLong = () => performance.now() - downMs > 30_000;
    await until("the server has been down for 30 s", isLong, { withinMs: 60_000, everyMs: 500 });
    expect(agent.registered()).toBe(false);
    await scene.server.start();
    await leaseIsOf("early", await scene.shows("early", "Ready=True", []));
  });
});
