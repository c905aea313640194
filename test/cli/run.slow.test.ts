/** Runs `vigil run` as a process against an embedded API on a socket: how it starts, refuses and ends. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import { type HttpFront, listen } from "../../services/sandbox/apiserver/http/http-front.ts";
import { freePort } from "../support/nats-server.ts";
import { VigilProcess } from "../support/vigil-process.ts";

const TOKEN = "the-right-token";
const FOLDER = mkdtempSync(join(tmpdir(), "vigil-run-"));
const apiserver = new ApiServer({ clock: realClock(), random: systemRandom });
let front: HttpFront;

function kubeconfig(name: string, server: string, token: string): string {
  const file = join(FOLDER, name);
  const cluster = { name: "c", cluster: { server } };
  const user = { name: "u", user: { token } };
  const context = { name: "x", context: { cluster: "c", user: "u" } };
  writeFileSync(
    file,
    JSON.stringify({ clusters: [cluster], users: [user], contexts: [context], "current-context": "x" }),
  );
  return file;
}

const run = (...argv: string[]) => new VigilProcess(["run", "--log-format=json", "--allow-token-over-http", ...argv]);

/** Gets a path of the API, or posts an object to it; resolves with the answer. */
async function ask(path: string, object?: object): Promise<unknown> {
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  const body = object === undefined ? {} : { method: "POST", body: JSON.stringify(object) };
  const response = await fetch(new URL(path, front.url), { headers, ...body });
  expect(response.ok).toBe(true);
  return response.json();
}

/** The answers of both probes of a process. */
async function probed(port: number, query = ""): Promise<Record<string, unknown>> {
  const answers = ["livez", "readyz"].map(async (probe) => {
    const answer = await fetch(`http://127.0.0.1:${port}/${probe}${query}`);
    return [probe, [answer.status, await answer.text()]];
  });
  return Object.fromEntries(await Promise.all(answers));
}

/** A node that posted its status a minute ago and has been silent since. */
const SILENT_NODE = {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "silent" },
  status: { conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: "2020-01-01T00:00:00Z" }] },
};

beforeAll(async () => {
  front = await listen(apiserver, { port: 0, token: TOKEN });
});
afterAll(async () => {
  await front.close();
  rmSync(FOLDER, { recursive: true });
});

describe("vigil run", () => {
  test("becomes ready, serves probes and metrics, and stops with 0", async () => {
    const port = await freePort();
    const vigil = run(`--kubeconfig=${kubeconfig("right", front.url, TOKEN)}`, `--listen=127.0.0.1:${port}`);
    await vigil.untilLogged("running");
    await expect
      .poll(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status, { timeout: 60_000 })
      .toBe(200);
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(metrics).toMatch(/^vigil_/m);
    const about = await (await fetch(`http://127.0.0.1:${port}/api/about`)).json();
    expect(about).toMatchObject({ cluster: "default", shadow: false });
    const askedMs = performance.now();
    vigil.signal("SIGTERM");
    expect(await vigil.exited()).toBe(0);
    expect(performance.now() - askedMs).toBeLessThan(10_000);
    expect(vigil.logged.filter(({ level }) => level === "error")).toEqual([]);
  });

  test("in shadow decides and logs, and writes nothing", async () => {
    await ask("/api/v1/nodes", SILENT_NODE);
    const port = await freePort();
    const vigil = run(
      `--kubeconfig=${kubeconfig("right", front.url, TOKEN)}`,
      "--shadow",
      "--node-monitor-grace-period=1s",
      `--listen=127.0.0.1:${port}`,
    );
    const before = await ask("/api/v1/nodes/silent");
    const explained = async () => (await fetch(`http://127.0.0.1:${port}/api/explain/node/silent`)).text();
    await vigil.untilLogged("running in shadow");
    await vigil.untilLogged("node silent judged unknown: no heartbeat within its grace period");
    await vigil.untilLogged("node silent would have been written: conditions: Ready=Unknown");
    await expect.poll(explained, { timeout: 60_000 }).toMatch(/shadow/);
    vigil.signal("SIGTERM");
    expect(await vigil.exited()).toBe(0);
    expect(await ask("/api/v1/nodes/silent")).toEqual(before);
  });

  test("waits for an unreachable API, logs it, starts when it answers", async () => {
    const port = await freePort();
    const vigil = run(`--kubeconfig=${kubeconfig("away", `http://127.0.0.1:${port}`, TOKEN)}`);
    await vigil.untilLogged(`cannot reach the API server: http://127.0.0.1:${port}: connect ECONNREFUSED`);
    const late = await listen(apiserver, { port, token: TOKEN });
    await vigil.untilLogged("running");
    vigil.signal("SIGTERM");
    expect(await vigil.exited()).toBe(0);
    await late.close();
  });

  test("has the API server's time before its services start", async () => {
    const ahead = createServer((request, response) => {
      response.writeHead(200, { date: new Date(Date.now() + 3_600_000).toUTCString() });
      // Only the first read is answered whole, so it alone can have set the clock.
      if (request.url?.endsWith("limit=1") === true) response.end("{}");
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => ahead.once("listening", resolve));
    const { port } = ahead.address() as AddressInfo;
    const vigil = run(`--kubeconfig=${kubeconfig("ahead", `http://127.0.0.1:${port}`, TOKEN)}`);
    await vigil.untilLogged("running");
    const messages = vigil.logged.map(({ message }) => message);
    const differs = messages.findIndex((message) => message.startsWith("this machine's clock differs"));
    expect(differs).toBeGreaterThanOrEqual(0);
    expect(differs).toBeLessThan(messages.indexOf("running"));
    vigil.signal("SIGKILL");
    ahead.closeAllConnections();
    ahead.close();
  });

  test("is alive while it waits for an API server, and ready once synced", async () => {
    const [apiPort, port] = [await freePort(), await freePort()];
    const file = kubeconfig("away", `http://127.0.0.1:${apiPort}`, TOKEN);
    const vigil = run(`--kubeconfig=${file}`, `--listen=127.0.0.1:${port}`);
    await vigil.untilLogged("trying again");
    const why = `waiting for the API server at 127.0.0.1:${apiPort}`;
    expect(await probed(port)).toEqual({ livez: [200, "ok"], readyz: [503, `${why}\n`] });
    expect((await probed(port, "?verbose")).readyz).toEqual([503, `${why}\n`]);
    const metrics = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(await metrics()).toMatch(/^vigil_running 0$/m);
    const asked = await fetch(`http://127.0.0.1:${port}/api/zones`);
    expect([asked.status, await asked.json()]).toEqual([503, { error: why }]);
    const late = await listen(apiserver, { port: apiPort, token: TOKEN });
    await expect.poll(async () => (await probed(port)).readyz, { timeout: 60_000 }).toEqual([200, "ok"]);
    await expect.poll(metrics, { timeout: 5_000 }).toMatch(/^vigil_running 1$/m);
    vigil.signal("SIGTERM");
    expect(await vigil.exited()).toBe(0);
    await late.close();
  });

  test("is alive while it waits for NATS, and shows no password", async () => {
    const [natsPort, port] = [await freePort(), await freePort()];
    const vigil = run(
      `--kubeconfig=${kubeconfig("right", front.url, TOKEN)}`,
      `--nats=nats://me:secret@127.0.0.1:${natsPort}`,
      `--listen=127.0.0.1:${port}`,
    );
    await vigil.untilLogged("trying again");
    const readyz = [503, `waiting for NATS at 127.0.0.1:${natsPort}\n`];
    expect(await probed(port)).toEqual({ livez: [200, "ok"], readyz });
    vigil.signal("SIGTERM");
    expect(await vigil.exited()).toBe(0);
  });

  test("stopped while an API server accepts without an answer exits with 0", async () => {
    const mute = createSocketServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => mute.once("listening", resolve));
    const { port } = mute.address() as AddressInfo;
    const vigil = run(`--kubeconfig=${kubeconfig("mute", `http://127.0.0.1:${port}`, TOKEN)}`);
    await new Promise((resolve) => mute.once("connection", resolve));
    vigil.signal("SIGTERM");
    expect(await vigil.exited()).toBe(0);
    mute.close();
  });

  test("stopped while it waits, exits with 0", async () => {
    const vigil = run(`--kubeconfig=${kubeconfig("away", "http://127.0.0.1:1", TOKEN)}`);
    await vigil.untilLogged("trying again");
    vigil.signal("SIGTERM");
    expect(await vigil.exited()).toBe(0);
  });
});

describe("vigil run ends with one line if", () => {
  const refused = async (...argv: string[]): Promise<string> => {
    const vigil = run(...argv);
    expect(await vigil.exited()).toBe(1);
    expect(vigil.out).toBe("");
    expect(vigil.err).toMatch(/^vigil: .+\n$/);
    return vigil.err;
  };

  test("the API server refuses its credentials", async () => {
    const file = kubeconfig("wrong", front.url, "a-wrong-token");
    expect(await refused(`--kubeconfig=${file}`)).toContain(
      `the API server ${front.url} does not accept our credentials`,
    );
  });

  test("what answers is no API server", async () => {
    const other = createServer((_request, response) => response.writeHead(404).end("a web page")).listen(
      0,
      "127.0.0.1",
    );
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as AddressInfo;
    const file = kubeconfig("other", `http://127.0.0.1:${port}`, TOKEN);
    expect(await refused(`--kubeconfig=${file}`)).toContain("does not answer as one: 404: a web page");
    other.close();
  });

  test.each([
    ["is not YAML", "a: [1\nb"],
    ["is empty", ""],
    [
      "has no such user",
      JSON.stringify({ contexts: [{ name: "x", context: { cluster: "c" } }], "current-context": "x" }),
    ],
  ])("the kubeconfig %s", async (what, text) => {
    const file = join(FOLDER, `bad ${what}`);
    writeFileSync(file, text);
    expect(await refused(`--kubeconfig=${file}`)).toContain(`kubeconfig ${file}`);
  });

  test("there is no kubeconfig at all", async () => {
    expect(await refused()).toMatch(/no kubeconfig: .*\.kube\/config does not exist.*--kubeconfig/);
  });

  test("the context does not exist", async () => {
    const file = kubeconfig("right", front.url, TOKEN);
    expect(await refused(`--kubeconfig=${file}`, "--context=other")).toContain('there is no context "other"');
  });

  test("a NATS file is useless, though the API is silent", async () => {
    const file = kubeconfig("away", "http://127.0.0.1:1", TOKEN);
    const nats = [`--kubeconfig=${file}`, "--nats=tls://127.0.0.1:1"];
    expect(await refused(...nats, "--nats-tls-ca=/none.pem")).toContain("--nats-tls-ca=/none.pem: no such file");
    expect(await refused(...nats, `--nats-nkey=${file}`)).toContain(`--nats-nkey=${file}: must hold an NKey seed`);
  });

  test("the address of the console is taken", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => taken.once("listening", resolve));
    const { port } = taken.address() as AddressInfo;
    const vigil = run(`--kubeconfig=${kubeconfig("right", front.url, TOKEN)}`, `--listen=127.0.0.1:${port}`);
    expect(await vigil.exited()).toBe(1);
    expect(vigil.err).toContain(`vigil: --listen=127.0.0.1:${port}: the port is taken, choose another\n`);
    taken.close();
  });
});
