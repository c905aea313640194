/** Two processes of `vigil run --leader-elect` on a real kube-apiserver: killed, stopped, partitioned and repaired. */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Watch } from "../../protocols/ports.ts";
import { epochMsOf } from "../../services/domain/api-time.ts";
import { memberOf } from "../../services/platform/kube/election/election.policy.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { type Seen, seeNodes } from "../support/kube-probe.ts";
import { freePort } from "../support/nats-server.ts";
import { Stage } from "../support/stage.ts";
import { until } from "../support/until.ts";
import { VigilProcess } from "../support/vigil-process.ts";

const UNREACHABLE = "node.kubernetes.io/unreachable";
const GRACE_SECONDS = 8;
const TOLERATED_SECONDS = 40;
const LEASE_SECONDS = 15;
/** From the end of the Lease until its next holder has requested it. */
const REQUEST_SECONDS = 1;
/** From SIGTERM until the standby has requested the Lease that the leader released after its last write. */
const HANDOVER_SECONDS = 3;
/** How late a pod may go after its deadline. */
const LATE_SECONDS_MAX = 3;
const WITHIN = { withinMs: 60_000, everyMs: 50 };

vi.setConfig({ testTimeout: 180_000 });

/** A process, and where its console is. */
interface Started {
  readonly name: string;
  readonly vigil: VigilProcess;
  readonly url: string;
}

let stage: Stage;
let nodes: Seen<"nodes">;
let pods: Watch;
const deletedAt = new Map<string, number>();
const running = new Map<string, Started>();

async function start(name: string): Promise<Started> {
  const port = await freePort();
  const flags = [
    "--leader-elect",
    `--member=${name}`,
    `--listen=127.0.0.1:${port}`,
    `--node-monitor-grace-period=${GRACE_SECONDS}s`,
    "--unhealthy-zone-threshold=1",
  ];
  const vigil = new VigilProcess(["run", "--log-format=json", `--kubeconfig=${stage.kubeconfig}`, ...flags]);
  const started = { name, vigil, url: `http://127.0.0.1:${port}` };
  running.set(name, started);
  await vigil.untilLogged("running");
  await until(`${name} is ready`, async () => (await readiness(started)).status === 200, WITHIN);
  return started;
}

async function readiness({ url }: Started): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(`${url}/readyz?verbose`);
  return { status: response.status, text: await response.text() };
}

async function leaseSpec(): Promise<Readonly<Record<string, unknown>>> {
  const lease = (await stage.kubectl("-n", "kube-system", "get", "lease", "vigil")) as {
    spec: Record<string, unknown>;
  };
  return lease.spec;
}

async function leader(): Promise<string> {
  const { holderIdentity } = await leaseSpec();
  return typeof holderIdentity === "string" ? memberOf(holderIdentity) : "";
}

/** Waits until a process leads; returns how many seconds after now it acquired the Lease, by the Lease's own stamp. */
async function leads(name: string): Promise<number> {
  const fromMs = Date.now();
  await until(`${name} leads`, async () => (await leader()) === name, { ...WITHIN, everyMs: 100 });
  const { acquireTime } = await leaseSpec();
  return (Date.parse(String(acquireTime)) - fromMs) / 1000;
}

const taintOf = (node: string) =>
  nodes.present.get(node)?.taints.find(({ key, effect }) => key === UNREACHABLE && effect === "NoExecute");
const isTainted = (node: string): boolean => taintOf(node) !== undefined;
const areReady = (names: readonly string[]): boolean =>
  names.every((name) => {
    const node = nodes.present.get(name);
    return (
      node?.conditions.some(({ type, status }) => type === "Ready" && status === "True") && node.taints.length === 0
    );
  });

describeWithKube("two processes with leader election", () => {
  const names = ["n-0", "n-1", "n-2", "n-3", "n-4"];

  beforeAll(async () => {
    stage = await Stage.open(() => Promise.reject(new Error("started by the test itself")));
    nodes = seeNodes(stage.kube);
    pods = stage.kube.watch("pods", {
      changed: ({ pod }) => {
        if (pod.deletionAt !== null && !deletedAt.has(pod.name)) deletedAt.set(pod.name, Date.now());
      },
      gone: (key) => {
        const name = key.split("/").at(-1) ?? key;
        if (!deletedAt.has(name)) deletedAt.set(name, Date.now());
      },
      state: () => undefined,
    });
    stage.register(Object.fromEntries(names.map((name) => [name, "a"])));
    await start("one");
    await leads("one");
    await start("two");
    await until("the nodes are well", () => areReady(names), WITHIN);
  });
  afterAll(async () => {
    for (const { vigil } of running.values()) vigil.signal("SIGKILL");
    pods?.stop();
    nodes?.watch.stop();
    await stage?.close();
  });

  test("a standby is ready, says who leads, and answers for nobody", async () => {
    const [one, two] = [running.get("one"), running.get("two")];
    if (one === undefined || two === undefined) throw new Error("not started");
    const asked = await Promise.all([one, two].map(({ url }) => fetch(`${url}/api/nodes`)));
    expect(asked.map(({ status }) => status)).toEqual([200, 503]);
    expect(await asked[1]?.json()).toEqual({
      error: "this process stands by, and decides nothing: ask one, which leads",
    });
    expect((await readiness(one)).text).toContain("[+]leader-election ok: this process leads");
    expect((await readiness(two)).text).toContain("[+]leader-election ok: standby: one leads");
    const shown = (await (await fetch(`${two.url}/api/fleet`)).json()) as { leader: unknown }[];
    expect(shown.map(({ leader }) => leader)).toEqual([{ isItself: false, member: "one" }]);
  });

  test("a standby takes over in 15 s from a kill; no countdown is lost or early", async () => {
    const tolerations = [
      { key: UNREACHABLE, operator: "Exists", effect: "NoExecute", tolerationSeconds: TOLERATED_SECONDS },
    ];
    await stage.create([{ name: "patient", node: "n-0", tolerations }]);
    stage.silence("n-0");
    await until("the node is tainted", () => isTainted("n-0"), WITHIN);
    stage.silence("n-1");
    running.get("one")?.vigil.signal("SIGKILL");
    expect(await leads("two")).toBeLessThan(LEASE_SECONDS + REQUEST_SECONDS);
    await until("the node that fell silent before is tainted", () => isTainted("n-1"), {
      withinMs: 12_000,
      everyMs: 50,
    });
    await until("the pod is deleted", () => deletedAt.has("patient"), WITHIN);
    const dueAt = (epochMsOf(taintOf("n-0")?.timeAdded ?? null) ?? Number.NaN) / 1000 + TOLERATED_SECONDS;
    expect((deletedAt.get("patient") ?? Number.NaN) / 1000).toBeGreaterThanOrEqual(dueAt);
    expect((deletedAt.get("patient") ?? Number.NaN) / 1000).toBeLessThanOrEqual(dueAt + LATE_SECONDS_MAX);
  });

  test("a standby takes over at once from SIGTERM, and heals", async () => {
    await start("three");
    running.get("two")?.vigil.signal("SIGTERM");
    expect(await leads("three")).toBeLessThan(HANDOVER_SECONDS);
    expect(await running.get("two")?.vigil.exited()).toBe(0);
    expect(await leaseSpec()).toMatchObject({ leaseDurationSeconds: LEASE_SECONDS, leaseTransitions: 2 });
    stage.resume("n-0", "n-1");
    await until("the nodes are well", () => areReady(names), WITHIN);
  });

  test("a leader that was held longer than its Lease ends when it goes on", async () => {
    await start("four");
    const three = running.get("three")?.vigil;
    three?.signal("SIGSTOP");
    await leads("four");
    stage.silence("n-2");
    await until("the silent node is tainted", () => isTainted("n-2"), WITHIN);
    three?.signal("SIGCONT");
    expect(await three?.exited()).toBe(1);
    expect(three?.err).toContain("no longer leads: the Lease was not renewed within 10 s");
    await pause(1_000);
    expect(await leader()).toBe("four");
    expect(names.filter((name) => isTainted(name))).toEqual(["n-2"]);
  });

  test("the last one releases the Lease when it leaves", async () => {
    running.get("four")?.vigil.signal("SIGTERM");
    expect(await running.get("four")?.vigil.exited()).toBe(0);
    expect(await leaseSpec()).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1 });
  });
});
