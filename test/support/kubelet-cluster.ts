/**
 * A real cluster without machines: etcd, kube-apiserver, kube-scheduler, kube-controller-manager without its node
 * lifecycle controllers, and real kubelets with a fake container runtime. Vigil is not part of it.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type KubeApiserver, startKubeApiserver } from "./kube-apiserver.ts";
import { hasController, hasFlag, kubeProgram } from "./kube-assets.ts";
import { type ControllerManager, startControllerManager } from "./kube-controller-manager.ts";
import { withMachineLock } from "./machine-lock.ts";
import { freePort } from "./nats-server.ts";
import { ServerProcess } from "./server-process.ts";
import { until } from "./until.ts";

/** Controllers that do not run: those that Vigil replaces, and those that need a cloud. */
const ABSENT = ["nodelifecycle", "taint-eviction-controller", "nodeipam", "route", "service", "cloud-node-lifecycle"];
/** Newer versions accept these under names that their help does not list. */
const ALWAYS_KNOWN = new Set(ABSENT.filter((name) => name !== "taint-eviction-controller"));
/** Where a kubelet logs the folder that it works in, which lies directly in /tmp in some versions. */
const KUBELET_FOLDER = /Using (\S+) as root dir for hollow-kubelet/;

/** What a kubelet logs once it is connected to its container runtime. */
const CONNECTED = /Container runtime .*initialized/;

/** A running cluster; begun with `open`, ended with `close`. */
export class KubeletCluster {
  readonly api: KubeApiserver;
  readonly #manager: ControllerManager;
  readonly #scheduler: ServerProcess;
  readonly #kubelets = new Map<string, ServerProcess>();
  readonly #folder = mkdtempSync(join(tmpdir(), "kubelets-"));
  readonly #folders = [this.#folder];

  /** Starts the control plane and kubelets with these names. */
  static async open(nodes: readonly string[]): Promise<KubeletCluster> {
    const api = await startKubeApiserver({ serviceAccounts: true });
    const manager = await startControllerManager({
      kubeconfig: api.kubeconfig,
      controllers: ["*", ...ABSENT.filter((name) => ALWAYS_KNOWN.has(name) || hasController(name)).map(absent)],
      flags: { "root-ca-file": api.caFile, "service-account-private-key-file": api.serviceAccountKeyFile },
    });
    const scheduler = new ServerProcess(kubeProgram("kube-scheduler"), [
      `--kubeconfig=${api.kubeconfig}`,
      "--bind-address=127.0.0.1",
      `--secure-port=${await freePort()}`,
      ...(hasFlag("kube-scheduler", "port") ? ["--port=0"] : []),
      "--leader-elect=false",
    ]);
    scheduler.start();
    const cluster = new KubeletCluster(api, manager, scheduler);
    for (const node of nodes) await cluster.startKubelet(node);
    return cluster;
  }

  private constructor(api: KubeApiserver, manager: ControllerManager, scheduler: ServerProcess) {
    this.api = api;
    this.#manager = manager;
    this.#scheduler = scheduler;
  }

  /** Starts the kubelet of a node, for the first time or after it was killed. */
  async startKubelet(node: string): Promise<void> {
    const kubelet = new ServerProcess(kubeProgram("kubemark"), [
      "--morph=kubelet",
      `--name=${node}`,
      `--kubeconfig=${this.api.kubeconfig}`,
      `--kubelet-port=${await freePort()}`,
      `--kubelet-read-only-port=${await freePort()}`,
    ]);
    this.#kubelets.set(node, kubelet);
    // Every fake runtime listens at one path of the machine: a kubelet that starts beside another could get the
    // runtime of that one, and would lose it with the other.
    await withMachineLock("kubelet-runtime", async () => {
      kubelet.start();
      await until(`the kubelet of ${node} has its runtime`, () => CONNECTED.test(kubelet.log()));
    });
    const folder = (): string | undefined => KUBELET_FOLDER.exec(kubelet.log())?.[1];
    await until(`the kubelet of ${node} has a folder`, () => folder() !== undefined);
    this.#folders.push(folder() ?? "");
  }

  /** Ends a kubelet at once, as a power failure does. */
  async killKubelet(node: string): Promise<void> {
    await this.#kubelets.get(node)?.end("SIGKILL");
  }

  /** Creates or changes objects. */
  async apply(...objects: readonly object[]): Promise<void> {
    const file = join(this.#folder, "objects.json");
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
    const { code, stderr } = await this.api.kubectl("apply", `--filename=${file}`);
    if (code !== 0) throw new Error(`kubectl apply: ${stderr}`);
  }

  /** The end of its programs' logs, for the message of a failure. */
  log(): string {
    return [this.#manager, this.#scheduler, ...this.#kubelets.values()]
      .map((program) => program.log().slice(-2000))
      .join("\n");
  }

  /** Ends everything. */
  async close(): Promise<void> {
    await Promise.all([...this.#kubelets.keys()].map((node) => this.killKubelet(node)));
    await this.#scheduler.end("SIGKILL");
    await this.#manager.stop();
    await this.api.stop();
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true });
  }
}

const absent = (controller: string): string => `-${controller}`;
