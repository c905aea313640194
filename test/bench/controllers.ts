/** The measured controllers, each in a process of its own: Vigil and upstream's. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { get as getHttp, type IncomingMessage } from "node:http";
import { get as getHttps } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { startControllerManager } from "../support/kube-controller-manager.ts";
import { freePort } from "../support/nats-server.ts";
import { ServerProcess } from "../support/server-process.ts";
import { until } from "../support/until.ts";
import type { World } from "./bench-world.ts";

/** A running controller. */
export interface Controller {
  readonly name: string;
  readonly pid: number;
  /** From the start of the process until it is synced; NaN where the controller does not report that. */
  readonly readyMs: number;
  /** How many requests it has sent to the API server; Vigil does not count its lists and watches. */
  requests(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts a controller in a world, with flags that both understand: `{ "node-monitor-grace-period": "20s" }`. */
export type StartController = (world: World, flags?: Readonly<Record<string, string>>) => Promise<Controller>;

const MAIN = join(import.meta.dirname, "../../services/vigil.js");
const READY_MS = 180_000;
const READY_LOOK_MS = 20;
/** The counter of client-go, in every controller of Kubernetes: one request each, whatever its verb. */
const CLIENT_GO_REQUESTS = "rest_client_requests_total";
/** Vigil's counter of writes and live reads. */
const VIGIL_REQUESTS = "vigil_kube_requests_total";

/** `vigil run` with every service in one process; resolves when it is synced. */
export const startVigil: StartController = async (world, flags = {}) => {
  const port = await freePort();
  const own = { kubeconfig: world.kubeconfig, listen: `127.0.0.1:${port}`, "log-level": "warn" };
  const words = Object.entries({ ...own, ...flags }).map(([flag, value]) => `--${flag}=${value}`);
  // As in the image, the program is compiled before: a process that does it at its start takes 12 MiB more.
  execFileSync(process.execPath, [MAIN, "run", "--help"]);
  const vigil = new ServerProcess(process.execPath, [MAIN, "run", ...words]);
  const startedMs = performance.now();
  vigil.start();
  const ready = async () => {
    if (!vigil.running()) throw new Error(`vigil ended: ${vigil.log()}`);
    return isReady(port);
  };
  await until("vigil is ready", ready, { withinMs: READY_MS, everyMs: READY_LOOK_MS });
  const readyMs = performance.now() - startedMs;
  const { pid } = vigil;
  if (pid === undefined) throw new Error(`vigil did not start: ${vigil.log()}`);
  const requests = () => countOf(`http://127.0.0.1:${port}/metrics`, VIGIL_REQUESTS);
  return { name: "Vigil", pid, readyMs, requests, stop: () => vigil.end("SIGTERM") };
};

/**
 * kube-controller-manager with only its node lifecycle controller, which contains the taint manager, and with request
 * limits that it never reaches.
 */
export const startUpstream: StartController = async (world, flags = {}) => {
  const { kubeconfig } = world;
  const limits = { "kube-api-qps": "2000", "kube-api-burst": "2000" };
  const options = { kubeconfig, controllers: ["nodelifecycle"], flags: { ...limits, ...flags } };
  const manager = await startControllerManager(options);
  const { pid } = manager;
  const requests = () => countOf(manager.metricsUrl, CLIENT_GO_REQUESTS);
  return { name: "kube-controller-manager", pid, readyMs: Number.NaN, requests, stop: () => manager.stop() };
};

function isReady(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** The sum of a counter over its labels, from a page of Prometheus metrics; 0 before the first count. */
async function countOf(metricsUrl: string, counter: string): Promise<number> {
  const get = metricsUrl.startsWith("https:") ? getHttps : getHttp;
  // The certificate of a kube-controller-manager is its own.
  const [response] = (await once(get(metricsUrl, { rejectUnauthorized: false }), "response")) as [IncomingMessage];
  const page = await text(response);
  if (response.statusCode !== 200) throw new Error(`GET ${metricsUrl}: ${response.statusCode} ${page}`);
  const values = page.split("\n").filter((line) => line.startsWith(`${counter}{`));
  return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}
