/** `vigil top` in a real terminal: tmux shows what a user sees, resizes it and presses keys. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeUnless } from "../../support/describe-unless.ts";
import { until } from "../../support/until.ts";

const MAIN = join(import.meta.dirname, "../../../services/main.ts");
const TMUX = "/usr/bin/tmux";
const MISSING = existsSync(TMUX) ? null : "tmux not found: apt-get install tmux";
/** A server of tmux for this test alone. */
const SOCKET = `vigil-top-${process.pid}`;
const tmux = (...args: string[]) => execFileSync(TMUX, ["-L", SOCKET, ...args], { encoding: "utf8" });

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
  "/api/about": { cluster: "prod", version: "0.1.0", shadow: false },
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

describeUnless(MISSING, "vigil top in a terminal", () => {
  let messages = 0;
  const server = createServer(({ url = "" }, response) => {
    const { pathname, searchParams } = new URL(url, "http://console");
    messages += 100;
    if (pathname === "/metrics") response.end(`vigil_bus_received_total{service="a",type="b"} ${messages}\n`);
    else if (pathname === "/api/nodes")
      response.end(
        JSON.stringify({ nodes: searchParams.get("readiness") === "unknown" ? [{ ...NODE, zone: "" }] : [] }),
      );
    else response.end(JSON.stringify(ANSWERS[pathname]));
  });
  const screen = () => tmux("capture-pane", "-p", "-t", "top").split("\n");
  const shows = (text: string) =>
    until(
      () => `the screen shows ${text}; it is ${screen().join("\n")}`,
      () => screen().join("\n").includes(text),
    );

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const command = `${process.execPath} ${MAIN} top --server=http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    tmux("-f", "/dev/null", "new-session", "-d", "-s", "top", "-x", "100", "-y", "20", "sh");
    tmux("send-keys", "-t", "top", `PS1='$ '; clear; echo before; ${command}; echo "ended $?"`, "Enter");
  });
  afterAll(() => {
    tmux("kill-server");
    server.close();
    server.closeAllConnections();
  });

  test("shows the fleet, follows a resize, explains, and gives the screen back", async () => {
    await shows("> worker-7");
    expect(screen()[0]).toBe("Vigil 0.1.0 · cluster prod");
    await shows("messages/s");
    tmux("resize-window", "-t", "top", "-x", "50", "-y", "12");
    await until("the last line moves up", () => screen()[11]?.startsWith("q quit") === true);
    expect(screen().filter((line) => line.length > 50)).toEqual([]);
    tmux("send-keys", "-t", "top", "Enter");
    await shows("Node worker-7 has been unknown.");
    tmux("send-keys", "-t", "top", "q");
    await shows("ended 0");
    expect(screen().join("\n")).toContain("before");
    expect(screen().join("\n")).not.toContain("q quit");
  });

  test("without a terminal fails with one line", () => {
    let refused = "";
    try {
      execFileSync(process.execPath, [MAIN, "top"], { encoding: "utf8", stdio: "pipe" });
    } catch (error) {
      refused = (error as { stderr: string }).stderr;
    }
    expect(refused).toBe("vigil: top needs a terminal; vigil get prints the same for pipes and files\n");
  });
});
