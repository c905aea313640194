/** A console with one silent node, for suites that show `vigil top` in a terminal. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

const NODE = {
  name: "worker-7",
  readiness: "unknown",
  ready: "Unknown",
  since: 0,
  heartbeatAt: 0,
  eviction: "evicted",
};
const ZONE = {
  zone: "eu",
  title: "eu",
  state: "Normal",
  since: 0,
  size: 9,
  notReady: 1,
  taintsPerSecond: 0.1,
  tokens: 1,
};
const watchHealth = { shards: 64, blindShards: 0, oldestPulseMs: 1, watches: { nodes: 1, leases: 1, pods: 1 } };
const ANSWERS: Readonly<Record<string, unknown>> = {
  "/api/about": { cluster: "prod", version: "0.1.0", shadow: false, beside: false },
  "/api/overview": {
    nodes: { ready: 8, notReady: 0, unknown: 1, starting: 0 },
    zones: [{ ...ZONE, queueLength: 0, halted: false }],
    pendingEvictions: 0,
    watchHealth,
  },
  "/api/evictions": { count: 0, next: [] },
  "/api/policies": { policies: [] },
  "/api/explain/node/worker-7": { sentences: ["Node worker-7 has been unknown."], timeline: [] },
};

/** A console that answers what `vigil top` asks, on a port of its own. */
export class FakeConsole {
  #messages = 0;
  readonly #server: Server = createServer(({ url = "" }, response) => {
    const { pathname, searchParams } = new URL(url, "http://console");
    this.#messages += 100;
    if (pathname === "/metrics") response.end(`vigil_bus_received_total{service="a",type="b"} ${this.#messages}\n`);
    else if (pathname === "/api/nodes")
      response.end(
        JSON.stringify({ nodes: searchParams.get("readiness") === "unknown" ? [{ ...NODE, zone: "" }] : [] }),
      );
    else response.end(JSON.stringify(ANSWERS[pathname]));
  });

  /** Resolves to its address. */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
