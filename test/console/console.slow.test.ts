/** The console over real HTTP: probes, metrics, the API, the event stream and the page. */

import { request } from "node:http";
import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { Bus } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { FOLLOWERS_PER_CLIENT_MAX, SNAPSHOT_MS } from "../../services/console/console.events.ts";
import {
  type FrontOptions,
  type RunningConsole,
  type ShownOptions,
  startConsole,
} from "../../services/console/console.http.ts";
import type { AccessDecision } from "../../services/console/delegated-access.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { DELAY_MS } from "../../services/platform/process/reader-turns.ts";
import {
  judgedNode,
  judgedPod,
  judgedZone,
  type LedgerWorld,
  ledgerWorld,
  pulse,
  SHARDS,
  UNREACHABLE,
} from "../ledger/ledger-world.ts";
import { observedNode } from "../support/observed-objects.ts";
import { until } from "../support/until.ts";

const running: RunningConsole[] = [];
afterEach(async () => {
  for (const each of running.splice(0)) await each.close();
});

interface Setup {
  readonly world: LedgerWorld;
  readonly url: string;
  readonly get: (path: string, init?: RequestInit) => Promise<Response>;
  readonly json: (path: string) => Promise<unknown>;
}

async function setup(changes: Partial<FrontOptions & ShownOptions> = {}): Promise<Setup> {
  const world = ledgerWorld();
  const { clock, io, metrics, ledger } = world;
  const about = {
    cluster: "test",
    member: "m-0",
    services: ["ledger"],
    shadow: false,
    beside: false,
    version: "0.0.0",
  };
  const front = { host: "127.0.0.1", port: 0, clock, log: io.log, metrics };
  const running_ = await startConsole({ ...front, ...changes });
  running.push(running_);
  const shown = { clock, profile: io.profile, about, bus: consoleBus(world), ledger: ledger.reader };
  running_.show({ ...shown, fleet: async () => [], ...changes });
  const get = (path: string, init?: RequestInit) => {
    // The live read of a pod is answered on the virtual clock.
    const time = setInterval(() => clock.advance(0), 5);
    return fetch(`${running_.url}${path}`, init).finally(() => clearInterval(time));
  };
  return { world, url: running_.url, get, json: async (path) => (await get(path)).json() };
}

function consoleBus({ io, metrics, transport }: LedgerWorld): Bus {
  const { clock, log } = io;
  return typedBus({
    transport,
    clock,
    cluster: "test",
    service: "console",
    member: "m-0",
    log,
    metrics,
    mailboxMessagesMax: 1000,
  });
}

function syncAll({ clock, receive }: LedgerWorld): void {
  const watch = { synced: true, since: clock.wallMs() };
  for (const shard of SHARDS)
    receive("observed.pulse", pulse(shard, { watches: { nodes: watch, leases: watch, pods: watch } }), null);
}

const NO_POLICY =
  "policy gpu: no node policy of this name is in force; vigil get policies lists them, and the condition Ready of a NodePolicy says whether it was refused";

describe("probes", () => {
  test.each(["127.0.0.1", ""])("/livez is ok as long as the process answers, synced or not, at %j", async (host) => {
    const { get } = await setup({ host });
    const response = await get("/livez");
    expect([response.status, await response.text()]).toEqual([200, "ok"]);
    expect(await (await get("/livez?verbose")).text()).toBe("[+]ping ok\nlivez check passed\n");
  });

  test("/readyz waits for the first pulses and fails again when they stop", async () => {
    const { get, world } = await setup();
    const before = await get("/readyz");
    expect(before.status).toBe(500);
    expect(await before.text()).toContain("[-]watch-health failed: no pulse from the observer yet");
    syncAll(world);
    expect((await get("/readyz")).status).toBe(200);
    expect(await (await get("/readyz?verbose")).text()).toBe(
      "[+]bus ok\n[+]cache-nodes ok\n[+]cache-leases ok\n[+]cache-pods ok\n[+]watch-health ok\n[+]lease-path ok\n[+]outage ok\nreadyz check passed\n",
    );
    world.clock.advance(STANDARD_PROFILE.pulseTimeoutMs);
    expect((await get("/readyz")).status).toBe(500);
  });

  test("/readyz fails when the process is stopping", async () => {
    const { get, world } = await setup({ ownChecks: () => [{ name: "shutdown", problem: "stopping" }] });
    syncAll(world);
    expect(await (await get("/readyz")).text()).toContain("[-]shutdown failed: stopping");
  });
});

describe("/metrics", () => {
  test("is Prometheus' text format", async () => {
    const { get } = await setup();
    const response = await get("/metrics");
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(await response.text()).toContain("# TYPE vigil_zone_state gauge");
  });

  test("that fail are an error and not a crash", async () => {
    const { get } = await setup({ metrics: { ...createMetrics(), text: () => Promise.reject(new Error("broken")) } });
    expect((await get("/metrics")).status).toBe(500);
    expect((await get("/livez")).status).toBe(200);
  });
});

describe("the API", () => {
  test("serves zones, nodes, evictions and decisions", async () => {
    const { json, world } = await setup();
    world.receive("judged.zone", judgedZone(), null);
    world.receive("observed.node", observedNode("n-1", { taints: [UNREACHABLE] }), null);
    world.receive("judged.node", judgedNode("n-1", { readiness: "unknown" }), null);
    world.receive("judged.pod", judgedPod(), null);
    expect(await json("/api/about")).toMatchObject({ cluster: "test", shadow: false });
    expect(await json("/api/overview")).toMatchObject({ nodes: { unknown: 1 }, pendingEvictions: 1 });
    expect(await json("/api/zones")).toMatchObject([{ title: "a", state: "Normal" }]);
    expect(await json("/api/nodes")).toMatchObject({ counts: { unknown: 1 }, nodes: [{ name: "n-1" }] });
    expect(await json("/api/nodes?name=n-1&name=n-2&limit=0")).toMatchObject({ total: 1, nodes: [] });
    expect(await json("/api/nodes?name=n-2")).toMatchObject({ total: 0, nodes: [] });
    const zone = { sentences: ["Zone a is Normal: 0 of 10 nodes not ready; eviction rate: one node every 10 s."] };
    expect(await json("/api/explain/zone/a")).toMatchObject(zone);
    expect(await json("/api/nodes?zone=elsewhere")).toMatchObject({ total: 0, nodes: [] });
    expect(await json("/api/nodes?readiness=ready")).toMatchObject({ nodes: [] });
    expect(await json("/api/evictions?limit=0")).toMatchObject({ count: 1, next: [] });
    expect(await json("/api/evictions")).toMatchObject({ count: 1, next: [{ name: "web" }] });
    expect(await json("/api/decisions?limit=1")).toMatchObject([{ object: { kind: "Pod", name: "web" } }]);
  });

  test("explains nodes and pods by name, escaped where it must be", async () => {
    const { json, world } = await setup();
    syncAll(world);
    world.receive("observed.node", observedNode("n 1/x"), null);
    world.receive("judged.node", judgedNode("n 1/x"), null);
    world.receive("judged.pod", judgedPod(), null);
    expect(await json("/api/explain/node/n%201%2Fx")).toMatchObject({
      sentences: [expect.stringContaining("Node n 1/x has been ready"), expect.anything()],
    });
    expect(await json("/api/explain/pod/default/web")).toMatchObject({
      sentences: expect.arrayContaining([expect.stringContaining("Pod default/web was due")]),
    });
  });

  test.each([
    ["/api/nodes?limit=many", 400, 'limit="many": must be a whole number from 0 to 10000'],
    ["/api/evictions?limit=", 400, 'limit="": must be a whole number from 0 to 10000'],
    ["/api/decisions?limit=-1", 400, 'limit="-1": must be a whole number from 0 to 10000'],
    ["/api/nodes?readiness=well", 400, 'readiness="well": must be one of starting, ready, notReady, unknown'],
    ["/api/explain/node/n%", 400, "/api/explain/node/n%: a % must be followed by two hex digits"],
    ["/api/explain/node/other", 404, "node other: not found in the cluster or in the history; check the name"],
    ["/api/explain/pod/a/b", 404, "pod a/b: not found in the cluster or in the history; check the name"],
    ["/api/explain/zone/a", 404, "zone a: not found; there are no zones"],
    ["/api/explain/policy/gpu", 404, NO_POLICY],
    ["/api/explain/zone/a/b", 404, "/api/explain/zone/a/b: no such path"],
    ["/api/nodes/n-1", 404, "/api/nodes/n-1: no such path"],
    ["/nowhere", 404, "/nowhere: no such path"],
  ])("answers %s with %i and the reason", async (path, status, error) => {
    const { get } = await setup();
    const response = await get(path);
    expect([response.status, await response.json()]).toEqual([status, { error }]);
  });

  test("refuses a DELETE, because it is read-only", async () => {
    const { get } = await setup();
    const response = await get("/api/overview", { method: "DELETE" });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  test("answers HEAD without a body", async () => {
    const { get } = await setup();
    const response = await get("/api/overview", { method: "HEAD" });
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });

  test("answers HEAD of the event stream at once, with the headers of a GET", async () => {
    const response = await (await setup()).get("/api/stream", { method: "HEAD" });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  });

  test("survives a target that is not a path", async () => {
    const { url, get } = await setup();
    const { port } = new URL(url);
    const status = await new Promise((resolve, reject) => {
      const raw = request({ port, path: "//", host: "127.0.0.1" }, (response) => resolve(response.statusCode));
      raw.on("error", reject).end();
    });
    expect(status).toBe(400);
    expect((await get("/livez")).status).toBe(200);
  });

  test("of a process without a ledger is a 404 with the reason", async () => {
    const { get } = await setup({ ledger: null });
    const response = await get("/api/overview");
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      error: "/api/overview: this process runs no ledger; use the console of one that does",
    });
    expect((await get("/api/about")).status).toBe(200);
    expect((await get("/livez")).status).toBe(200);
  });

  test("of a standby is a 503 that names the leader, until it leads itself", async () => {
    let problem: string | null = "this process stands by, and decides nothing: ask m-1, which leads";
    const { get } = await setup({ standby: () => problem });
    for (const path of ["/api/overview", "/api/explain/node/n-1", "/api/stream"]) {
      const response = await get(path);
      expect(response.status).toBe(503);
      expect(await response.json()).toEqual({ error: problem });
    }
    for (const path of ["/", "/api/about", "/api/fleet", "/livez"]) expect((await get(path)).status).toBe(200);
    problem = null;
    expect((await get("/api/overview")).status).toBe(200);
    expect((await get("/api/stream", { method: "HEAD" })).status).toBe(200);
  });
});

/** Reads server-sent events until `count` of them have come. */
async function events(response: Response, count: number): Promise<{ name: string; data: unknown }[]> {
  const read: { name: string; data: unknown }[] = [];
  let text = "";
  for await (const chunk of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const [name = "", data = ""] = text.slice(0, end).split("\n");
      read.push({ name: name.slice("event: ".length), data: JSON.parse(data.slice("data: ".length)) });
      text = text.slice(end + 2);
    }
    if (read.length >= count) break;
  }
  return read;
}

describe("the event stream", () => {
  test("sends state and past decisions, then both as they change", async () => {
    const { get, world } = await setup();
    world.receive("judged.zone", judgedZone(), null);
    const response = await get("/api/stream");
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    world.receive("judged.zone", judgedZone({ state: "FullDisruption", notReady: 10 }), null);
    world.clock.advance(SNAPSHOT_MS);
    expect(await events(response, 4)).toMatchObject([
      { name: "snapshot", data: { zones: [{ state: "Normal" }] } },
      { name: "decision", data: { text: expect.stringMatching(/^is Normal/) } },
      { name: "decision", data: { text: expect.stringMatching(/^is FullDisruption/) } },
      { name: "snapshot", data: { zones: [{ state: "FullDisruption" }] } },
    ]);
  });

  test("runs no timer after the last page has left", async () => {
    const { get, world } = await setup();
    const before = world.clock.pendingTimers;
    const response = await get("/api/stream");
    expect(world.clock.pendingTimers).toBe(before + 1);
    await response.body?.cancel();
    const ticked = () => {
      world.clock.advance(SNAPSHOT_MS);
      return world.clock.pendingTimers;
    };
    await until("the timer rests", () => ticked() === before);
  });

  test("accepts a limited number of pages of one client at a time", async () => {
    const { get } = await setup();
    const pages = await Promise.all(Array.from({ length: FOLLOWERS_PER_CLIENT_MAX }, () => get("/api/stream")));
    expect(await events(await get("/api/stream"), 1)).toEqual([{ name: "full", data: {} }]);
    for (const page of pages) await page.body?.cancel();
    const taken = async () => (await events(await get("/api/stream"), 1))[0]?.name === "snapshot";
    await until("there is room again", taken);
  });
});

describe("a page that follows", () => {
  const MINUTE_MS = 60_000;
  const REVOKED: AccessDecision = { status: 401, problem: "revoked" };
  const FORBIDDEN: AccessDecision = { status: 403, problem: "no right" };
  const UNANSWERED: AccessDecision = { status: 503, problem: "the API server is away" };

  /** Follows, and lets minutes pass; each says whether the stream has ended. */
  const follows = async (front: Pick<FrontOptions, "access" | "token">) => {
    const { get, world } = await setup(front);
    const response = await get("/api/stream", { headers: { authorization: "Bearer first" } });
    expect(response.status).toBe(200);
    let isEnded = false;
    const end = () => {
      isEnded = true;
    };
    void response.body?.pipeTo(new WritableStream()).then(end, end);
    /** Waits for the answer to a later request, by which time an end has arrived. */
    const minute = async () => {
      world.clock.advance(MINUTE_MS);
      await get("/livez");
      await new Promise(setImmediate);
      return isEnded;
    };
    return { minute, ended: () => until("the stream ends", () => isEnded) };
  };

  test.each([
    ["its token is revoked", REVOKED],
    ["its user loses the right", FORBIDDEN],
  ])("is cut off when %s, not by an outage of the API", async (_what, refusal) => {
    const decisions: AccessDecision[] = ["ok", "ok", UNANSWERED, "ok", UNANSWERED, UNANSWERED, refusal];
    const access = { decide: async () => decisions.shift() ?? "ok" };
    const page = await follows({ access });
    for (let minute = 1; minute <= 5; minute++) expect(await page.minute()).toBe(false);
    await page.minute();
    await page.ended();
  });

  test("is cut off when the token of the file changes", async () => {
    let token = "first";
    const page = await follows({ token: () => token });
    expect(await page.minute()).toBe(false);
    token = "second";
    await page.minute();
    await page.ended();
  });

  test("is no longer checked once it has left", async () => {
    let checks = 0;
    const access = { decide: async (): Promise<AccessDecision> => (++checks > 0 ? "ok" : REVOKED) };
    const { get, world } = await setup({ access });
    const response = await get("/api/stream", { headers: { authorization: "Bearer first" } });
    const before = world.clock.pendingTimers;
    await response.body?.cancel();
    await until("its timer rests", () => world.clock.pendingTimers === before - 1);
    world.clock.advance(MINUTE_MS);
    expect(checks).toBe(1);
  });
});

describe("the page", () => {
  test("is served with all it loads, and may load nothing from elsewhere", async () => {
    const { get } = await setup();
    const page = await get("/");
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("content-security-policy")).toBe("default-src 'self'");
    const loads = [...(await page.text()).matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, path = ""]) => path);
    expect(loads).toEqual(["/icon.svg", "/uplot.css", "/page.css", "/page.js"]);
    for (const path of loads) expect((await get(path)).status).toBe(200);
  });

  test("has every element that its modules name, and serves each of them", async () => {
    const { get } = await setup();
    const html = await (await get("/")).text();
    const scripts = new Map<string, string>();
    const load = async (path: string): Promise<void> => {
      if (scripts.has(path)) return;
      const answer = await get(path);
      expect([path, answer.headers.get("content-type")]).toEqual([path, "text/javascript; charset=utf-8"]);
      scripts.set(path, await answer.text());
      for (const [, imported = ""] of scripts.get(path)?.matchAll(/ from "([^"]+)"/g) ?? []) await load(imported);
    };
    await load("/page.js");
    expect(scripts.size).toBe(14);
    const ids = new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
    const named = [...[...scripts.values()].join("").matchAll(/byId\("([^"]+)"\)/g)].map(([, id]) => id);
    expect(named.length).toBeGreaterThan(9);
    expect(named.filter((id) => !ids.has(id))).toEqual([]);
  });
});

describe("a client that does not wait for its answer", () => {
  const REQUEST = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

  /** How many answers it gets until it is cut off, if it sends so much first, and much more with each answer. */
  const answersTo = async (first: string) => {
    const { url, world } = await setup();
    const socket = connect(Number(new URL(url).port), "127.0.0.1").setEncoding("utf8");
    let text = "";
    socket.on("error", () => {});
    socket.on("data", (more) => {
      text += more;
      socket.write(REQUEST.repeat(50));
    });
    socket.write(first);
    await until("it is cut off", () => {
      world.clock.advance(DELAY_MS);
      return socket.closed;
    });
    return text.match(/^HTTP/gm)?.length ?? 0;
  };

  test("gets none, and is cut off", async () => expect(await answersTo(REQUEST.repeat(50))).toBe(0));

  test("is cut off later, too", async () => expect(await answersTo(REQUEST)).toBeLessThan(3));
});

test("metrics are made once for all who ask within a second", async () => {
  let made = 0;
  const { get, world } = await setup({ metrics: { ...createMetrics(), text: async () => `${++made}` } });
  const texts = await Promise.all([1, 2, 3].map(async () => (await get("/metrics")).text()));
  expect(texts).toEqual(["1", "1", "1"]);
  world.clock.advance(1000);
  expect(await (await get("/metrics")).text()).toBe("2");
});

test("a port that is taken fails the start with one line", async () => {
  const { url } = await setup();
  const port = Number(new URL(url).port);
  await expect(setup({ port })).rejects.toThrow(
    `cannot listen on 127.0.0.1:${port}: the port is taken, choose another`,
  );
});

test("the fleet is answered as it is known, and why it is not", async () => {
  let members = async (): Promise<object[]> => [{ member: "m-0" }];
  const { get } = await setup({ ledger: null, fleet: () => members() });
  expect(await (await get("/api/fleet")).json()).toEqual([{ member: "m-0" }]);
  members = () => Promise.reject(new Error("NATS is lost"));
  const lost = await get("/api/fleet");
  expect([lost.status, await lost.json()]).toEqual([503, { error: "NATS is lost" }]);
});
