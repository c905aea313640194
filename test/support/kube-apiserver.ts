/**
 * A real etcd and kube-apiserver for a test, on ports of their own, with tokens, RBAC, and the admission that nodes and
 * pods meet in a cluster.
 */
import { generateKeyPairSync } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Credentials, SocketWire } from "../../services/platform/kube/transport/https.ts";
import { httpsWire } from "../../services/platform/kube/transport/https.ts";
import { kubeProgram } from "./kube-assets.ts";
import { type AuditedRequest, type AuditOptions, auditArgs, readAudit } from "./kube-audit.ts";
import { type KubectlResult, kubectl, writeKubeconfig } from "./kubectl.ts";
import { freePort } from "./nats-server.ts";
import { ServerProcess } from "./server-process.ts";
import { until } from "./until.ts";

/** The token of a cluster administrator. */
const ADMIN_TOKEN = "admin-token";
/** The token of a known user without rights. */
const STRANGER_TOKEN = "stranger-token";
/** The token of an administrator whose requests can be audited apart from all others. */
const CONTROLLER_TOKEN = "controller-token";
/** The group of that user alone. */
export const CONTROLLER_GROUP = "controllers";
const SERVICE_ACCOUNT_KEY = "service-account.key";
const READY_MS = 180_000;
const DATA_FOLDER = "etcd";
/** A key that does not exist, for requests whose answer describes etcd itself. */
const ANY_KEY = Buffer.from("any").toString("base64");
/** etcd's default limit for one transaction. */
const ETCD_OPERATIONS_MAX = 128;
/** Namespaces that the server creates just after it is ready. */
const NAMESPACES = ["default", "kube-node-lease"];

/**
 * Starts both servers and waits until nodes, pods and leases can be written. They end with the test process at the
 * latest.
 */
export async function startKubeApiserver(options: KubeApiserverOptions = {}): Promise<KubeApiserver> {
  const ports = { etcd: await freePort(), peer: await freePort(), secure: await freePort() };
  const server = new KubeApiserver(ports, options);
  try {
    await server.start();
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

/** The options of a server. */
export interface KubeApiserverOptions {
  /** The users whose requests are recorded; absent for none. */
  readonly audit?: AuditOptions;
  /** Whether new nodes come without the not-ready taint, which a controller would have to remove first. */
  readonly untaintedNodes?: boolean;
  /** Whether every pod gets a service account, which a controller manager has to create. */
  readonly serviceAccounts?: boolean;
  /** Nodes whose kubelets have a token of their own, under the Node authorizer and NodeRestriction. */
  readonly kubelets?: readonly string[];
}

/** The token of the kubelet of a node that the server was started with. */
export function kubeletToken(node: string): string {
  return `kubelet-${node}`;
}

/** The user of a wire's requests, and their server. */
interface WireOptions {
  readonly token?: string;
  readonly port?: number | undefined;
}

/** A running API server. */
export class KubeApiserver {
  readonly url: string;
  readonly adminToken = ADMIN_TOKEN;
  readonly strangerToken = STRANGER_TOKEN;
  readonly controllerToken = CONTROLLER_TOKEN;
  /** Path of a kubeconfig for the administrator. */
  readonly kubeconfig: string;
  /** Path of the certificate authority of the server. */
  readonly caFile: string;
  /** Path of the private key that signs the tokens of service accounts. */
  readonly serviceAccountKeyFile: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "kube-apiserver-"));
  readonly #data = join(this.#folder, DATA_FOLDER);
  readonly #etcdUrl: string;
  readonly #etcd: ServerProcess;
  readonly #apiserver: ServerProcess;
  readonly #wires: SocketWire[] = [];

  constructor(
    ports: { readonly etcd: number; readonly peer: number; readonly secure: number },
    { audit, untaintedNodes = false, serviceAccounts = false, kubelets = [] }: KubeApiserverOptions,
  ) {
    this.url = `https://127.0.0.1:${ports.secure}`;
    this.#etcdUrl = `http://127.0.0.1:${ports.etcd}`;
    this.caFile = join(this.#folder, "apiserver.crt");
    this.serviceAccountKeyFile = join(this.#folder, SERVICE_ACCOUNT_KEY);
    this.#etcd = new ServerProcess(
      kubeProgram("etcd"),
      etcdArgs(this.#data, this.#etcdUrl, `http://127.0.0.1:${ports.peer}`),
    );
    this.#apiserver = new ServerProcess(kubeProgram("kube-apiserver"), [
      ...apiserverArgs(this.#folder, this.#etcdUrl, ports.secure),
      ...withoutPlugins([
        ...(serviceAccounts ? [] : ["ServiceAccount"]),
        ...(untaintedNodes ? ["TaintNodesByCondition"] : []),
      ]),
      kubelets.length === 0 ? "--authorization-mode=RBAC" : "--authorization-mode=Node,RBAC",
      ...(kubelets.length === 0 ? [] : ["--enable-admission-plugins=NodeRestriction"]),
      ...auditArgs(this.#folder, audit),
    ]);
    writeSecrets(this.#folder, kubelets);
    this.kubeconfig = this.kubeconfigFor(ADMIN_TOKEN);
  }

  /** The process of the API server. */
  get pid(): number {
    const { pid } = this.#apiserver;
    if (pid === undefined) throw new Error("the kube-apiserver does not run");
    return pid;
  }

  /** Writes a kubeconfig that carries this token. */
  kubeconfigFor(token: string): string {
    const file = join(this.#folder, `kubeconfig-${token}.json`);
    return writeKubeconfig(file, { server: this.url, token, caFile: this.caFile });
  }

  /** Starts the servers that are not running and waits until they are ready. */
  async start(): Promise<void> {
    if (!this.#etcd.running()) this.#etcd.start();
    if (!this.#apiserver.running()) this.#apiserver.start();
    try {
      await until("the kube-apiserver is ready", () => this.#ready(), { withinMs: READY_MS });
    } catch (error) {
      throw new Error(`${String(error)}\n${this.#etcd.log()}\n${this.#apiserver.log()}`);
    }
  }

  /** Ends the API server at once; etcd keeps its data. */
  kill(): Promise<void> {
    return this.#apiserver.end("SIGKILL");
  }

  /** Ends both servers at once, as a power failure does; etcd keeps its data. */
  async cutPower(): Promise<void> {
    await this.kill();
    await this.#etcd.end("SIGKILL");
  }

  /**
   * Copies etcd's data, as a crash at this instant would leave them. The result restores the copy with its old
   * resourceVersions under the API server as it runs, or leaves etcd running without an API server.
   */
  backUp(): (options?: { readonly keepsServer?: boolean }) => Promise<void> {
    const data = this.#data;
    const copy = mkdtempSync(join(this.#folder, "backup-"));
    this.#etcd.pause();
    cpSync(data, copy, { recursive: true });
    this.#etcd.resume();
    return async ({ keepsServer = false } = {}) => {
      if (!keepsServer) await this.kill();
      await this.#etcd.end("SIGKILL");
      rmSync(data, { recursive: true, force: true });
      cpSync(copy, data, { recursive: true });
      this.#etcd.start();
      const isServing = () => this.#etcdCall("range", { key: ANY_KEY }).then(Boolean, () => false);
      await until("etcd serves the restored data", isServing, { withinMs: READY_MS });
    };
  }

  /** Kills the API server and starts it again. */
  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** Removes its history: compacts etcd, and restarts the API server, whose watch cache holds history too. */
  async compact(): Promise<void> {
    const { header } = (await this.#etcdCall("range", { key: ANY_KEY })) as { header: { revision: string } };
    await this.#etcdCall("compaction", { revision: header.revision, physical: true });
    await this.restart();
  }

  /**
   * Writes objects as JSON straight into etcd, as many as a benchmark needs within seconds, without validation. The
   * keys are etcd's, such as `pods/default/p-0`.
   */
  async preload(objects: Iterable<readonly [key: string, json: string]>): Promise<void> {
    const encoded = (text: string) => Buffer.from(text).toString("base64");
    for (const batch of batchesOf(objects, ETCD_OPERATIONS_MAX)) {
      const success = batch.map(([key, json]) => ({
        requestPut: { key: encoded(`/registry/${key}`), value: encoded(json) },
      }));
      await this.#etcdCall("txn", { success });
    }
  }

  /** Freezes the API server: its connections stay open and silent. */
  pause(): void {
    this.#apiserver.pause();
  }

  resume(): void {
    this.#apiserver.resume();
  }

  /** Ends everything and removes its files. */
  async stop(): Promise<void> {
    for (const wire of this.#wires) wire.close();
    await this.#apiserver.end("SIGKILL");
    await this.#etcd.end("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /**
   * A wire to the server, closed when it stops; the administrator's unless another token is given, and direct unless
   * the port of a proxy is.
   */
  wire({ token = ADMIN_TOKEN, port }: WireOptions = {}): SocketWire {
    // A write still under way when the files are removed fails in a later turn of the event loop, as with the product's
    // credentials.
    const server = port === undefined ? this.url : `https://127.0.0.1:${port}`;
    const wire = httpsWire({ server, authorize: async () => this.#credentials(token) });
    this.#wires.push(wire);
    return wire;
  }

  /** Runs kubectl as the administrator. */
  kubectl(...args: string[]): Promise<KubectlResult> {
    return kubectl(this.kubeconfig, args);
  }

  /** The requests of the audited group so far, in order. */
  audited(): AuditedRequest[] {
    return readAudit(this.#folder);
  }

  #credentials(token: string): Credentials {
    return { headers: { authorization: `Bearer ${token}` }, tls: { ca: readFileSync(this.caFile, "utf8") } };
  }

  async #etcdCall(verb: string, body: unknown): Promise<unknown> {
    const answer = await fetch(`${this.#etcdUrl}/v3/kv/${verb}`, { method: "POST", body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`etcd ${verb}: ${await answer.text()}`);
    return answer.json();
  }

  async #ready(): Promise<boolean> {
    if (!this.#apiserver.running()) throw new Error("the kube-apiserver ended");
    const paths = ["/readyz", ...NAMESPACES.map((name) => `/api/v1/namespaces/${name}`)];
    for (const path of paths) if (!(await this.#answers(path))) return false;
    return true;
  }

  #answers(path: string): Promise<boolean> {
    let credentials: Credentials;
    try {
      credentials = this.#credentials(ADMIN_TOKEN);
    } catch {
      return Promise.resolve(false); // The server has not written its certificate yet.
    }
    const wire = httpsWire({ server: this.url, authorize: () => Promise.resolve(credentials) });
    return new Promise<boolean>((resolve) => {
      wire.send(
        { method: "GET", path, headers: {}, body: null },
        {
          response: (status) => resolve(status === 200),
          data: () => undefined,
          end: () => undefined,
          failed: () => resolve(false),
        },
      );
    }).finally(() => wire.close());
  }
}

function* batchesOf<T>(items: Iterable<T>, size: number): Generator<T[]> {
  let batch: T[] = [];
  for (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function withoutPlugins(names: readonly string[]): string[] {
  return names.length === 0 ? [] : [`--disable-admission-plugins=${names.join(",")}`];
}

function writeSecrets(folder: string, kubelets: readonly string[]): void {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  writeFileSync(join(folder, SERVICE_ACCOUNT_KEY), privateKey.export({ type: "pkcs1", format: "pem" }));
  const tokens = [
    `${ADMIN_TOKEN},admin,admin,system:masters`,
    `${STRANGER_TOKEN},stranger,stranger,`,
    ...kubelets.map((node) => `${kubeletToken(node)},system:node:${node},${node},system:nodes`),
    `${CONTROLLER_TOKEN},controller,controller,"system:masters,${CONTROLLER_GROUP}"`,
  ];
  writeFileSync(join(folder, "tokens.csv"), `${tokens.join("\n")}\n`);
}

function etcdArgs(data: string, clientUrl: string, peerUrl: string): string[] {
  return [
    `--data-dir=${data}`,
    `--listen-client-urls=${clientUrl}`,
    `--advertise-client-urls=${clientUrl}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    "--unsafe-no-fsync",
    "--logger=zap",
    "--log-level=error",
  ];
}

function apiserverArgs(folder: string, etcdUrl: string, port: number): string[] {
  const key = join(folder, SERVICE_ACCOUNT_KEY);
  return [
    `--etcd-servers=${etcdUrl}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    `--cert-dir=${folder}`,
    `--token-auth-file=${join(folder, "tokens.csv")}`,
    "--anonymous-auth=false",
    "--service-cluster-ip-range=10.0.0.0/24",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${key}`,
    `--service-account-signing-key-file=${key}`,
    "--endpoint-reconciler-type=none",
    "--profiling=false",
  ];
}
