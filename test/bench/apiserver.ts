/**
 * Measures the cost of the embedded API: a large cluster in memory whose leases are renewed over HTTP while a watch is
 * open.
 */
import { once } from "node:events";
import { Agent, type ClientRequest, get, request } from "node:http";
import { LEASE_SECONDS } from "./bench-world.ts";
import { Load } from "./load.ts";
import { type BenchReport, measurement } from "./measurements.ts";
import { usageOf } from "./process-usage.ts";

const NODES = 100_000;
const PODS_PER_NODE = 10;
const RENEWALS_PER_SECOND = 10_000;
const CONNECTIONS = 64;
const MEASURE_MS = 10_000;
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/** Memory of a filled server, CPU time to create objects, and CPU time and rate of renewals over HTTP. */
export async function apiserver(): Promise<BenchReport> {
  const size = { nodes: NODES, podsPerNode: PODS_PER_NODE, leaseSeconds: LEASE_SECONDS, heartbeats: false };
  const { load: child, filled } = await Load.start(import.meta.resolve("./apiserver-process.ts"), size);
  const { rssMebibytes } = usageOf(child.pid);
  const load = new RenewalLoad(filled.url);
  await load.prepare();
  const before = usageOf(child.pid).cpuSeconds;
  const { renewals, seconds } = await load.run();
  const cpuSeconds = usageOf(child.pid).cpuSeconds - before;
  await child.stop();
  return {
    bench: "apiserver",
    load: `${NODES} nodes with ${PODS_PER_NODE} pods each; ${RENEWALS_PER_SECOND} leases renewed a second, one watch`,
    measurements: [
      measurement("memory when filled", "MiB", [rssMebibytes]),
      ...Object.entries(filled.createMicros).map(([kind, micros]) =>
        measurement(`CPU to create a ${kind}`, "µs", [micros]),
      ),
      measurement("renewals over HTTP", "/s", [renewals / seconds]),
      measurement("CPU of the server meanwhile", "cores", [cpuSeconds / seconds]),
      measurement("CPU of the server per renewal", "µs", [(cpuSeconds * 1e6) / renewals]),
    ],
  };
}

interface LeaseList {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

/** Renews leases at a steady rate, each from the answer to its last renewal. */
class RenewalLoad {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  readonly #leases: { readonly path: string; body: string }[] = [];
  #watch: ClientRequest | null = null;
  #renewals = 0;

  constructor(url: string) {
    this.#url = url;
  }

  /** Lists every lease and opens a watch from there, so only renewals are measured. */
  async prepare(): Promise<void> {
    const list = JSON.parse(await this.#send("GET", LEASES, "")) as LeaseList;
    for (const item of list.items)
      this.#leases.push({ path: `${LEASES}/${item.metadata.name}`, body: JSON.stringify(item) });
    const from = list.metadata.resourceVersion;
    this.#watch = get(`${this.#url}${LEASES}?watch=1&resourceVersion=${from}`, (response) => response.resume());
    await once(this.#watch, "response");
  }

  async run(): Promise<{ renewals: number; seconds: number }> {
    const startMs = performance.now();
    await Promise.all(Array.from({ length: CONNECTIONS }, (_, lane) => this.#lane(lane, startMs)));
    const seconds = (performance.now() - startMs) / 1000;
    this.#watch?.destroy();
    this.#agent.destroy();
    return { renewals: this.#renewals, seconds };
  }

  async #lane(lane: number, startMs: number): Promise<void> {
    for (let turn = 0; ; turn++) {
      const dueMs = ((turn * CONNECTIONS + lane) / RENEWALS_PER_SECOND) * 1000;
      if (dueMs > MEASURE_MS || performance.now() - startMs > MEASURE_MS) return;
      const earlyMs = startMs + dueMs - performance.now();
      if (earlyMs > 1) await new Promise((resolve) => setTimeout(resolve, earlyMs));
      await this.#renew((turn * CONNECTIONS + lane) % NODES);
    }
  }

  async #renew(index: number): Promise<void> {
    const lease = this.#leases[index];
    if (lease === undefined) return;
    const stamp = new Date(performance.timeOrigin + performance.now()).toISOString().replace("Z", "000Z");
    const body = lease.body.replace(/"renewTime":"[^"]*"/, `"renewTime":"${stamp}"`);
    lease.body = await this.#send("PUT", lease.path, body);
    this.#renewals += 1;
  }

  #send(method: string, path: string, body: string): Promise<string> {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      const sent = request(`${this.#url}${path}`, { method, agent: this.#agent, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          if (response.statusCode === 200) resolve(text);
          else reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`));
        });
      });
      sent.on("error", reject);
      sent.end(body);
    });
  }
}
