/** Vigil as its manifests install it, on a real API server and NATS: every process under its own account and role. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { makeKeys } from "../../deploy/nats/make-keys.ts";
import { rolesConfig } from "../../deploy/nats/roles.ts";
import { type KubeApiserver, startKubeApiserver } from "../support/kube-apiserver.ts";
import { customResourcesBroken } from "../support/kube-assets.ts";
import type { AuditedRequest } from "../support/kube-audit.ts";
import { writeKubeconfig } from "../support/kubectl.ts";
import { freePort, type NatsServer, startNatsServer } from "../support/nats-server.ts";
import { until } from "../support/until.ts";
import { VigilProcess } from "../support/vigil-process.ts";
import type { Grant, Manifests } from "./manifests.ts";

const NAMESPACE = "vigil-system";
/** The processes that an install may have; the last of them that it has serves the console. */
const COMPONENTS = ["reader", "writer", "controller"];
/** Graces short enough to wait for. The lease watch becomes suspect as soon as it is quiet. */
const IN_A_HURRY = [
  "--node-monitor-grace-period=6s",
  "--node-startup-grace-period=6s",
  "--node-eviction-rate=10",
  "--watch-quiet=1s",
  // So far from any limit that it only makes the memory of limits be read.
  "--circuit-breaker-max-nodes=1000",
  "--log-format=json",
];

/**
 * Policies that need no custom resources, which not every API server can serve. The rate of the first one, of no node,
 * needs the Lease. By the second one a pod is read before it is evicted, also in shadow mode, which evicts nothing.
 */
const CONFIG_POLICIES = [
  { name: "rated", spec: { selector: { matchLabels: { pool: "rated" } }, evictions: { maxPerMinute: 1 } } },
  { name: "read", spec: { selector: { matchLabels: { evictions: "read" } }, evictions: { method: "Evict" } } },
];

/** Resources that are written for node policies alone. */
const OF_POLICIES: ReadonlySet<string> = new Set(["nodepolicies/status", "pods/eviction"]);

/** A cluster in which Vigil can be installed. */
export class InstalledCluster {
  readonly api: KubeApiserver;
  /** Whether its API server can serve custom resources. */
  readonly hasPolicies: boolean = customResourcesBroken() === null;
  readonly #nats: NatsServer;
  readonly #folder: string;
  #runs = 0;

  private constructor(api: KubeApiserver, nats: NatsServer, folder: string) {
    this.api = api;
    this.#nats = nats;
    this.#folder = folder;
  }

  /** Starts the servers. */
  static async start(): Promise<InstalledCluster> {
    const folder = mkdtempSync(join(tmpdir(), "vigil-install-"));
    const keys = join(folder, "keys");
    makeKeys(keys);
    const files = { "keys.conf": readFileSync(join(keys, "keys.conf"), "utf8"), "roles.conf": rolesConfig() };
    const nats = await startNatsServer({ config: 'include "roles.conf"', files, jetstream: true });
    const api = await startKubeApiserver({ audit: { group: `system:serviceaccounts:${NAMESPACE}` } });
    writeFileSync(join(folder, "config.yaml"), JSON.stringify({ policies: CONFIG_POLICIES }));
    return new InstalledCluster(api, nats, folder);
  }

  async stop(): Promise<void> {
    await Promise.all([this.api.stop(), this.#nats.stop()]);
    rmSync(this.#folder, { recursive: true });
  }

  /**
   * Applies what was rendered and runs its processes while `journey` lasts, and until every right was used, for some
   * are used only when something has been quiet for a while. The journey gets the URL of the console. What the
   * processes requested meanwhile is compared by `Use`.
   */
  async run(manifests: Manifests, journey: Journey): Promise<Use> {
    await applyTo(this.api, join(this.#folder, "all.yaml"), manifests);
    // A new cluster has no Lease of an earlier run.
    await this.#kubectl("delete", "lease", "vigil", `--namespace=${NAMESPACE}`, "--ignore-not-found");
    const definition = await this.api.kubectl("wait", "--for=condition=established", "crd/nodepolicies.vigil.io");
    expect(definition.code, definition.stderr).toBe(0);
    const started: Installed[] = [];
    try {
      for (const component of COMPONENTS.filter((name) => manifests.argsOf(`vigil-${name}`).length > 0)) {
        started.push(await this.#start(component, manifests));
      }
      return await this.#use(manifests, started, journey);
    } finally {
      // Those that a failed journey left, so that the next one has the cluster to itself.
      for (const { process } of started) process.signal("SIGKILL");
    }
  }

  async #use(manifests: Manifests, started: readonly Installed[], journey: Journey): Promise<Use> {
    const before = this.api.audited().length;
    await Promise.all(started.map(({ process }) => process.untilLogged("running")));
    this.#runs += 1;
    await this.#freeze();
    if (this.hasPolicies) await this.#createPolicies();
    await journey(started.at(-1)?.url ?? "");
    const grants = usableGrants(manifests);
    const use = () => ({ grants, requests: this.api.audited().slice(before) });
    await until(
      () => `every right is used: ${mismatches(use()).join("; ")}`,
      // A watch is recorded when it ends, as the processes do below.
      () => neverUsed(use()).every(({ verb }) => verb === "watch"),
      { everyMs: 200, withinMs: 180_000 },
    );
    for (const { process } of started) {
      process.signal("SIGTERM");
      expect(await process.exited()).toBe(0);
      expect(process.logged.filter(({ level }) => level === "error")).toEqual([]);
    }
    return use();
  }

  /** Freezes for a moment that is past, once for each run, so that the memory of freezes has to be written. */
  async #freeze(): Promise<void> {
    const at = (minute: number): string => `2026-01-01T00:${String(minute).padStart(2, "0")}:00Z`;
    const requests = [{ name: "test", since: at(this.#runs), until: at(this.#runs + 1) }];
    const patch = JSON.stringify({ data: { pauseRequests: JSON.stringify(requests) } });
    await this.#kubectl("patch", "configmap", "vigil-freeze", "--namespace=kube-system", "--type=merge", `-p=${patch}`);
  }

  /**
   * Creates a policy of its own for each run, so that its status has to be written, and one under which the pods of a
   * labelled node are evicted through the Eviction API.
   */
  async #createPolicies(): Promise<void> {
    const selector = { matchLabels: { pool: "nobody" } };
    const nobody = { selector, nodeMonitorGracePeriod: "20s" };
    const evicting = { selector: { matchLabels: { evictions: "by-api" } }, evictions: { method: "Evict" } };
    const created = [
      { metadata: { name: `of-nobody-${this.#runs}` }, spec: nobody },
      ...(this.#runs === 1 ? [{ metadata: { name: "evicting" }, spec: evicting }] : []),
    ];
    const items = created.map((policy) => ({ apiVersion: "vigil.io/v1alpha1", kind: "NodePolicy", ...policy }));
    const file = join(this.#folder, "policies.json");
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    await this.#kubectl("create", "-f", file);
  }

  async #kubectl(...args: string[]): Promise<void> {
    const { code, stderr } = await this.api.kubectl(...args);
    expect(code, stderr).toBe(0);
  }

  async #start(component: string, manifests: Manifests): Promise<Installed> {
    const account = `vigil-${component}`;
    const { stdout } = await this.api.kubectl("create", "token", account, `--namespace=${NAMESPACE}`);
    const { url: server, caFile } = this.api;
    const kubeconfig = join(this.#folder, `${component}.kubeconfig`);
    writeKubeconfig(kubeconfig, { server, token: stdout.trim(), caFile });
    const listen = `127.0.0.1:${await freePort()}`;
    const args = manifests.argsOf(account, {
      "--nats": this.#nats.url,
      "--nats-nkey": join(this.#folder, "keys", `${component}.nk`),
      "--nats-history-nkey": join(this.#folder, "keys", "history.nk"),
      "--member": `${account}-0`,
      "--listen": listen,
    });
    return {
      process: new VigilProcess([
        ...args,
        ...IN_A_HURRY,
        `--kubeconfig=${kubeconfig}`,
        `--config=${join(this.#folder, "config.yaml")}`,
      ]),
      url: `http://${listen}`,
    };
  }
}

/**
 * Applies manifests as a user does, by way of a file, and gives what kubectl said; a server older than 1.21 knows
 * disruption budgets and CronJobs by their first name only.
 */
export async function applyTo(api: KubeApiserver, file: string, { text }: Manifests): Promise<string> {
  const { stdout: versions } = await api.kubectl("api-versions");
  const known = versions.split("\n").includes("policy/v1")
    ? text
    : text
        .replaceAll(/^apiVersion: (policy|batch)\/v1\n/gm, "apiVersion: $1/v1beta1\n")
        .replaceAll(/^ *unhealthyPodEvictionPolicy: .*\n/gm, "");
  writeFileSync(file, known);
  const { code, stdout, stderr } = await api.kubectl("apply", "-f", file);
  expect(code, stderr).toBe(0);
  return stdout;
}

/** What happens while the processes of an install run; it gets the URL of the console. */
type Journey = (consoleUrl: string) => Promise<void>;

/** The rights that the processes of an install can need on this API server, which may not serve custom resources. */
export function usableGrants(manifests: Manifests): Grant[] {
  const hasPolicies = customResourcesBroken() === null;
  const services = COMPONENTS.flatMap((name) => manifests.argsOf(`vigil-${name}`)).join();
  // A server of 1.20 gets no mark on an evicted pod, and only the service node has pods marked not ready.
  const writesPodStatus = !services.includes("--services=") || /[=,]node,/.test(services);
  return manifests
    .grants()
    .filter(({ resource }) => hasPolicies || !OF_POLICIES.has(resource))
    .filter(({ resource }) => writesPodStatus || resource !== "pods/status");
}

/** One process of an install and where its console is. */
interface Installed {
  readonly process: VigilProcess;
  readonly url: string;
}

/** The rights of the accounts, and their requests. */
export interface Use {
  readonly grants: readonly Grant[];
  readonly requests: readonly AuditedRequest[];
}

/** Requests that were forbidden, and grants that no request needed, each as a line. */
export function mismatches(use: Use): string[] {
  const refused = use.requests.filter(({ status }) => status === 403).map((request) => `refused: ${lineOf(request)}`);
  return [...new Set(refused), ...neverUsed(use).map((grant) => `never used: ${lineOf(grant)}`)];
}

function neverUsed({ grants, requests }: Use): Grant[] {
  return grants.filter((grant) => !requests.some((request) => covers(grant, request)));
}

function covers(grant: Grant, { user, namespace, ...asked }: AuditedRequest): boolean {
  const isInReach = grant.namespace === null || grant.namespace === namespace;
  const isOfIts = grant.verb === asked.verb && grant.apiGroup === asked.apiGroup && grant.resource === asked.resource;
  return grant.account === user && isInReach && isOfIts;
}

function lineOf(right: Grant | AuditedRequest): string {
  const account = "user" in right ? right.user : right.account;
  return `${account} ${right.verb} ${right.resource} ${right.apiGroup} ${right.namespace ?? "everywhere"}`;
}
