/**
 * A real API server with hollow nodes, upstream's real controller manager with its controllers on, and Vigil beside it,
 * installed from its overlay with its own account. It records what the API shows, field by field.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ComparisonReport, Explanation } from "../../protocols/ledger-reader.ts";
import { LEASE_NAMESPACE } from "../../protocols/names.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { call } from "../../services/platform/kube/transport/call.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { HollowNodes } from "../../services/sandbox/hollow/hollow.service.ts";
import { applyTo } from "../deploy/installed.ts";
import { type Manifests, render } from "../deploy/manifests.ts";
import { type KubeApiserver, startKubeApiserver } from "../support/kube-apiserver.ts";
import { customResourcesBroken } from "../support/kube-assets.ts";
import type { AuditedRequest } from "../support/kube-audit.ts";
import { type ControllerManager, startControllerManager } from "../support/kube-controller-manager.ts";
import { writeKubeconfig } from "../support/kubectl.ts";
import { freePort } from "../support/nats-server.ts";
import { until } from "../support/until.ts";
import { VigilProcess } from "../support/vigil-process.ts";

const NAMESPACE = "vigil-system";
/** Upstream's flags: its own defaults, shortened to what a test can wait for. */
const UPSTREAM_FLAGS = {
  "node-monitor-period": "2s",
  "node-monitor-grace-period": "25s",
  "node-startup-grace-period": "25s",
  "node-eviction-rate": "1",
};
/** The grace of upstream and of Vigil. */
export const GRACE_MS = { upstream: 25_000, vigil: 6_000 };
/** Renewed each second. */
const TIMES = { leaseSeconds: 4, statusReportMs: 300_000 };
const WITHIN = { withinMs: 60_000, everyMs: 50 };

/** A value of a field, and when it was first seen, epoch milliseconds. */
interface FieldValue {
  readonly value: string;
  readonly at: number;
}

/** The cluster; begun with `start`, ended with `stop`. */
export class BesideCluster {
  readonly api: KubeApiserver;
  readonly manifests: Manifests;
  readonly #folder: string;
  readonly #kubeconfig: string;
  readonly #token: string;
  readonly #nodes: HollowNodes;
  readonly #fields = new Map<string, FieldValue[]>();
  #manager: ControllerManager | null = null;
  #vigil: { readonly process: VigilProcess; readonly url: string } | null = null;

  /** Starts the servers, and nodes by name with their zone; neither controller runs yet. */
  static async start(zones: Readonly<Record<string, string>>): Promise<BesideCluster> {
    const folder = mkdtempSync(join(tmpdir(), "vigil-beside-"));
    const api = await startKubeApiserver({ audit: { group: `system:serviceaccounts:${NAMESPACE}` } });
    const manifests = await render("beside");
    await applyTo(api, join(folder, "beside.yaml"), manifests);
    const { stdout } = await api.kubectl("create", "token", "vigil-beside", `--namespace=${NAMESPACE}`);
    const token = stdout.trim();
    const kubeconfig = join(folder, "vigil.kubeconfig");
    writeKubeconfig(kubeconfig, { server: api.url, token, caFile: api.caFile });
    return new BesideCluster({ api, manifests, folder, kubeconfig, token }, zones);
  }

  private constructor(
    parts: {
      readonly api: KubeApiserver;
      readonly manifests: Manifests;
      readonly folder: string;
      readonly kubeconfig: string;
      readonly token: string;
    },
    zones: Readonly<Record<string, string>>,
  ) {
    this.api = parts.api;
    this.manifests = parts.manifests;
    this.#folder = parts.folder;
    this.#kubeconfig = parts.kubeconfig;
    this.#token = parts.token;
    const io = { clock: realClock(), random: systemRandom, log: silentLog };
    const kube = createKube({ ...io, wire: this.api.wire(), metrics: createMetrics(), profile: STANDARD_PROFILE });
    const nodes = Object.entries(zones).map(([name, zone]) => ({ name, zone, region: "r", pods: 1 }));
    this.#nodes = new HollowNodes({ ...io, kube, nodes, times: TIMES });
    kube.watch("nodes", {
      changed: ({ node, conditions, taints }) => {
        this.#note(`${node} Ready`, conditions.find(({ type }) => type === "Ready")?.status ?? "none");
        for (const effect of ["NoSchedule", "NoExecute"]) {
          const keys = taints.filter((taint) => taint.effect === effect).map(({ key }) => key.replace(/.*\//, ""));
          this.#note(`${node} ${effect}`, keys.toSorted().join(" ") || "none");
        }
      },
      gone: () => {},
      state: () => {},
    });
    kube.watch("pods", {
      changed: ({ pod }) => this.#note(`${pod.name} Ready`, pod.deletionAt === null ? (pod.ready ?? "none") : "gone"),
      gone: (key) => this.#note(`${key.slice(key.indexOf("/") + 1)} Ready`, "gone"),
      state: () => {},
    });
  }

  /** Upstream's controller manager. */
  get manager(): ControllerManager {
    if (this.#manager === null) throw new Error("upstream does not run");
    return this.#manager;
  }

  /** Starts upstream, with other flags than usual. */
  async startUpstream(changed: Readonly<Record<string, string>> = {}): Promise<void> {
    const { kubeconfig } = this.api;
    const flags = { ...UPSTREAM_FLAGS, ...changed };
    this.#manager = await startControllerManager({ kubeconfig, controllers: ["nodelifecycle"], flags });
  }

  /** Starts Vigil as its overlay does, with a shorter grace. */
  async startVigil(): Promise<void> {
    const listen = `127.0.0.1:${await freePort()}`;
    const grace = `${GRACE_MS.vigil}ms`;
    const changed = {
      "--node-monitor-grace-period": grace,
      "--member": "vigil-beside-0",
      "--listen": listen,
    };
    await this.#ready(listen, ...this.manifests.argsOf("vigil-beside", changed).slice(1));
  }

  /** Starts Vigil in shadow mode under the same account. */
  async startShadow(): Promise<void> {
    const listen = `127.0.0.1:${await freePort()}`;
    const grace = `--node-monitor-grace-period=${GRACE_MS.vigil}ms`;
    await this.#ready(listen, "--shadow", grace, "--node-eviction-rate=1", `--listen=${listen}`);
  }

  /** What Vigil has compared so far. */
  async comparison(): Promise<ComparisonReport> {
    return (await (await fetch(`${this.#vigil?.url}/api/compare`)).json()) as ComparisonReport;
  }

  /** What `vigil compare` prints with these flags. */
  compare(...flags: readonly string[]): Promise<string> {
    return this.#printed("compare", ...flags);
  }

  /** What `vigil preview` prints with these flags, for an administrator. */
  preview(...flags: readonly string[]): Promise<string> {
    return this.#printed("preview", `--kubeconfig=${this.api.kubeconfig}`, ...flags);
  }

  async #printed(verb: string, ...flags: readonly string[]): Promise<string> {
    const process = new VigilProcess([verb, `--server=${this.#vigil?.url}`, ...flags]);
    if ((await process.exited()) !== 0) throw new Error(`vigil ${verb}: ${process.err}`);
    return process.out;
  }

  async #ready(listen: string, ...flags: readonly string[]): Promise<void> {
    const process = this.vigilWith(...flags, "--watch-quiet=1s");
    this.#vigil = { process, url: `http://${listen}` };
    await process.untilLogged("running");
    await until("Vigil is ready", async () => (await fetch(`http://${listen}/readyz`)).ok, WITHIN);
  }

  /** Starts `vigil run` with flags under Vigil's account. */
  vigilWith(...flags: readonly string[]): VigilProcess {
    return new VigilProcess(["run", ...flags, "--log-format=json", `--kubeconfig=${this.#kubeconfig}`]);
  }

  /** A probe's verbose answer. */
  async readyz(): Promise<string> {
    return (await fetch(`${this.#vigil?.url}/readyz?verbose`)).text();
  }

  /** What Vigil explains about `node/<name>` or `pod/<namespace>/<name>`. */
  async explain(subject: string): Promise<string> {
    return (await this.explanation(subject)).sentences.join("\n");
  }

  /** The same with its history. */
  async explanation(subject: string): Promise<Explanation> {
    return (await (await fetch(`${this.#vigil?.url}/api/explain/${subject}`)).json()) as Explanation;
  }

  /** Ends Vigil; returns its exit code and what it logged as an error. */
  async stopVigil(): Promise<readonly unknown[]> {
    const vigil = this.#vigil;
    this.#vigil = null;
    vigil?.process.signal("SIGTERM");
    const code = await vigil?.process.exited();
    return [code, ...(vigil?.process.logged.filter(({ level }) => level === "error") ?? [])];
  }

  /** Runs a pod on a node that tolerates the node's loss for some seconds, or for ever. */
  async run(name: string, nodeName: string, tolerationSeconds: number | null): Promise<void> {
    const key = "node.kubernetes.io/unreachable";
    const within = tolerationSeconds === null ? {} : { tolerationSeconds };
    const tolerations = [{ key, operator: "Exists", effect: "NoExecute", ...within }];
    const overrides = JSON.stringify({ apiVersion: "v1", spec: { nodeName, tolerations } });
    await this.api.kubectl("run", name, "--image=none", "--restart=Never", `--overrides=${overrides}`);
    await this.shows(`${name} Ready`, "True");
  }

  /** Switches nodes off. */
  silence(...names: readonly string[]): void {
    this.#nodes.stop({ names });
  }

  resume(...names: readonly string[]): void {
    this.#nodes.resume({ names });
  }

  /** Forgets the values of every field but the present ones. */
  forget(): void {
    for (const values of this.#fields.values()) values.splice(0, values.length - 1);
  }

  /** The values a field has had, in order. */
  values(field: string): string[] {
    return (this.#fields.get(field) ?? []).map(({ value }) => value);
  }

  /** When a field got its present value, epoch milliseconds. */
  at(field: string): number {
    return this.#fields.get(field)?.at(-1)?.at ?? Number.NaN;
  }

  /** When a node's lease was last renewed, epoch milliseconds. */
  async renewedAt(node: string): Promise<number> {
    const lease = ["get", "lease", node, "--namespace=kube-node-lease", "--output=jsonpath={.spec.renewTime}"];
    return Date.parse((await this.api.kubectl(...lease)).stdout);
  }

  /** Creates a policy of no node, as `kubectl apply` does, where the server serves custom resources. */
  async createPolicy(name: string): Promise<void> {
    if (customResourcesBroken() !== null) return;
    const spec = { selector: { matchLabels: { pool: "none" } }, nodeMonitorGracePeriod: "20s" };
    const file = join(this.#folder, `${name}.json`);
    const policy = { apiVersion: "vigil.io/v1alpha1", kind: "NodePolicy", metadata: { name }, spec };
    writeFileSync(file, JSON.stringify(policy));
    const { code, stderr } = await this.api.kubectl("apply", "-f", file);
    if (code !== 0) throw new Error(stderr);
  }

  /** The status of a merge patch that Vigil's account sends as a dry run. */
  dryRun(path: string, patch: object): Promise<number> {
    const headers = { "content-type": "application/merge-patch+json" };
    const request = { method: "PATCH", path: `/api/v1/${path}?dryRun=All`, headers, body: JSON.stringify(patch) };
    const io = { wire: this.api.wire({ token: this.#token }), clock: realClock() };
    return new Promise((resolve) =>
      call(io, request, 10_000, (answer) => resolve(answer.kind === "answer" ? answer.status : 0)),
    );
  }

  /** Waits until a field has a value. */
  shows(field: string, value: string): Promise<void> {
    const what = () => `${field} is ${value}; it was ${this.values(field).join(", ")}\n${this.#vigil?.process.err}`;
    return until(what, () => this.values(field).at(-1) === value, WITHIN);
  }

  /** Waits until a node and its pod are well. */
  async isWell(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      await this.shows(`${name} Ready`, "True");
      for (const effect of ["NoSchedule", "NoExecute"]) await this.shows(`${name} ${effect}`, "none");
    }
  }

  /** The requests of Vigil's account so far, without those of `dryRun`. */
  requests(): readonly AuditedRequest[] {
    return this.api.audited().filter(({ isDryRun }) => !isDryRun);
  }

  /** Successful writes of Vigil's account so far, without Events and its own Leases: how many, by verb and resource. */
  writes(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { verb, resource, namespace, status } of this.requests()) {
      if (!["create", "update", "patch", "delete", "deletecollection"].includes(verb) || status >= 300) continue;
      const isOwnLease = resource === "leases" && namespace !== LEASE_NAMESPACE;
      if (resource !== "events" && !isOwnLease)
        counts[`${verb} ${resource}`] = (counts[`${verb} ${resource}`] ?? 0) + 1;
    }
    return counts;
  }

  /** Ends everything. */
  async stop(): Promise<void> {
    await this.stopVigil();
    this.#nodes.shutdown();
    await this.#manager?.stop();
    await this.api.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #note(field: string, value: string): void {
    const values = this.#fields.get(field) ?? [];
    this.#fields.set(field, values);
    if (values.at(-1)?.value !== value) values.push({ value, at: Date.now() });
  }
}
