/** The three servers of the StatefulSet, from its own configuration and environment, on ports of this machine. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { jetstreamManager } from "@nats-io/jetstream";
import { afterEach, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { makeKeys } from "../../deploy/nats/make-keys.ts";
import { openLedgerStore } from "../../services/ledger/record/ledger.store.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { atEnd, clock, folder, hear, link, say, serve } from "../support/nats-links.ts";
import { describeWithEachNats } from "../support/nats-programs.ts";
import { freePort, type NatsServer } from "../support/nats-server.ts";
import { until } from "../support/until.ts";

const DEPLOYED = join(import.meta.dirname, "../../deploy/nats");
/** Longer than everything that the test waits for one after the other. */
const LONG_TEST_MS = 180_000;
const deployed = (file: string): string => readFileSync(join(DEPLOYED, file), "utf8");

interface Container {
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly livenessProbe: { readonly httpGet: { readonly path: string } };
}

interface StatefulSet {
  readonly kind: string;
  readonly spec: {
    readonly replicas: number;
    readonly template: { readonly spec: { readonly containers: readonly [Container] } };
  };
}

function statefulSet(): StatefulSet["spec"] {
  const documents = parseAllDocuments(deployed("statefulset.yaml")).map((document) => document.toJS() as StatefulSet);
  const found = documents.find(({ kind }) => kind === "StatefulSet");
  if (found === undefined) throw new Error("statefulset.yaml has no StatefulSet");
  return found.spec;
}

/** The list of servers as in the pods, with the password and the addresses of a test. */
function routesAt(ports: readonly number[], password: string): string {
  const { replicas, template } = statefulSet();
  const { value = "" } = template.spec.containers[0].env.find(({ name }) => name === "ROUTES") ?? {};
  expect(replicas).toBe(ports.length);
  return value
    .replaceAll("$(ROUTE_PASSWORD)", password)
    .replace(/nats-(\d)\.nats:6222/g, (_, index) => `127.0.0.1:${ports[Number(index)]}`);
}

/** Starts a server of the StatefulSet; `monitor` is its port for probes. It reads its environment at its start. */
async function member(name: string, port: number, keys: string, monitor?: number): Promise<NatsServer> {
  const monitorPort = monitor ?? (await freePort());
  const base = deployed("nats.conf")
    .replace("$HOSTNAME", name)
    .replace("0.0.0.0:8222", `127.0.0.1:${monitorPort}`)
    // As in a new pod, nothing of an earlier server of this name is there.
    .replace("/data", join(keys, `${name}-${port}`));
  const config = deployed("cluster.conf")
    .replace("nats.conf", "base.conf")
    .replace("0.0.0.0:6222", `127.0.0.1:${port}`);
  const files = {
    "base.conf": base,
    "roles.conf": deployed("roles.conf"),
    "keys.conf": readFileSync(join(keys, "keys.conf"), "utf8"),
  };
  return serve({ config, files });
}

/** Runs the container that precedes a server in its pod. It ends with the test at the latest. */
function awaitFormer(name: string, monitors: readonly number[]): { ended(): boolean; said(): string } {
  const env = { ...process.env, HOSTNAME: name, SERVERS: monitors.map((port) => `127.0.0.1:${port}`).join(" ") };
  const child = spawn("sh", [join(DEPLOYED, "await-former.sh")], { env, stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.on("data", (data) => {
    said += data;
  });
  atEnd(() => child.kill());
  return { ended: () => child.exitCode === 0, said: () => said };
}

describeWithEachNats("the StatefulSet's servers", () => {
  afterEach(() => {
    delete process.env.ROUTES;
    delete process.env.ROUTE_PASSWORD;
  });

  test("are one bus with history that survives a loss; joining needs the password", {
    timeout: LONG_TEST_MS,
  }, async () => {
    const keys = folder();
    makeKeys(keys);
    const password = readFileSync(join(keys, "route-password"), "utf8");
    const ports = await Promise.all([freePort(), freePort(), freePort()]);
    Object.assign(process.env, { ROUTE_PASSWORD: password, ROUTES: routesAt(ports, password) });
    const servers = await Promise.all(ports.map((port, index) => member(`nats-${index}`, port, keys)));
    const [first, second, third] = servers as [NatsServer, NatsServer, NatsServer];
    const reader = await link(first.url, { nkeyFile: join(keys, "reader.nk") });
    const writer = await link(third.url, { nkeyFile: join(keys, "writer.nk") });
    const heard = hear(writer.transport, "vigil.v1.prod.asked.taint.>");
    const arrives = async (): Promise<boolean> => {
      say(reader.transport, "vigil.v1.prod.asked.taint.7.node-1", "{}");
      await reader.transport.flush();
      return heard.length > 0;
    };
    await until("what one server takes in another gives out", arrives);
    const logs = () => servers.map((server) => server.log().split("\n").slice(-20).join("\n")).join("\n\n");
    // A follower does not always log who leads.
    const isLed = () =>
      servers.some((server) => server.log().includes("Self is new JetStream cluster metadata leader"));
    await until(() => `a server leads JetStream:\n${logs()}`, isLed);
    const history = await link(third.url, { nkeyFile: join(keys, "history.nk") });
    const store = openLedgerStore({
      connect: async () => history.transport.connection,
      cluster: "prod",
      clusterUid: "uid",
      clock,
      log: silentLog,
      metrics: createMetrics(),
    });
    atEnd(() => store.close());
    await until(
      () => `the three keep the ledger's history:\n${logs()}`,
      () => store.ready(),
    );
    await second.kill();
    heard.length = 0;
    await until("two of them are still one bus", arrives);
    Object.assign(process.env, { ROUTE_PASSWORD: "guessed", ROUTES: routesAt(ports, "guessed") });
    const stranger = await member("stranger", await freePort(), keys);
    await until("the foreign server is refused", () =>
      stranger.log().includes("Route Error 'Authorization Violation'"),
    );
  });

  test("replace a lost one elsewhere, with no storage, once it is gone", { timeout: LONG_TEST_MS }, async (context) => {
    const keys = folder();
    makeKeys(keys);
    const password = readFileSync(join(keys, "route-password"), "utf8");
    const ports = await Promise.all([freePort(), freePort(), freePort()]);
    const monitors = await Promise.all([freePort(), freePort(), freePort()]);
    Object.assign(process.env, { ROUTE_PASSWORD: password, ROUTES: routesAt(ports, password) });
    const servers = await Promise.all(
      ports.map((port, index) => member(`nats-${index}`, port, keys, monitors[index] ?? 0)),
    );
    const [first, second] = servers as [NatsServer, NatsServer, NatsServer];
    const history = await link(first.url, { nkeyFile: join(keys, "history.nk") });
    const { connection } = history.transport;
    const connect = async () => connection;
    const names = { cluster: "prod", clusterUid: "uid" };
    const store = openLedgerStore({ connect, ...names, clock, log: silentLog, metrics: createMetrics() });
    atEnd(() => store.close());
    await until("the three keep the ledger's history", () => store.ready(), { withinMs: 60_000 });
    const { streams } = await jetstreamManager(connection);
    await streams.add({ name: "COPIED", subjects: ["copied"], num_replicas: 3 });
    const replicas = async () => (await streams.info("COPIED")).cluster?.replicas ?? [];
    const areCurrent = async () => {
      const found = await replicas().catch(() => []);
      return found.length === 2 && found.every(({ current, offline }) => current && offline !== true);
    };
    await until("all replicas are current", areCurrent, { withinMs: 60_000, everyMs: 200 });

    const routez = await (await fetch(`http://127.0.0.1:${monitors[0]}/routez`)).text();
    if (routez.includes('"remote_name"')) {
      const former = awaitFormer("nats-1", monitors);
      await until("it waits", () => former.said().includes("is still connected to a former nats-1"));
      expect(former.ended()).toBe(false);
      await second.kill();
      await until("it goes on", () => former.ended(), { withinMs: 30_000 });
    } else {
      await context.annotate("nats-server before 2.10 does not name its routes");
      await second.kill();
    }
    const port = await freePort();
    Object.assign(process.env, { ROUTES: routesAt([ports[0] ?? 0, port, ports[2] ?? 0], password) });
    const replacement = await member("nats-1", port, keys);
    await until("all replicas are current again", areCurrent, { withinMs: 90_000, everyMs: 200 });
    const ofLedger = async () =>
      (
        await streams
          .list()
          .next()
          .catch(() => [])
      ).length;
    await until("all streams answer again", async () => (await ofLedger()) === 4, { withinMs: 60_000, everyMs: 200 });
    const reader = await link(replacement.url, { nkeyFile: join(keys, "reader.nk") });
    const writer = await link(first.url, { nkeyFile: join(keys, "writer.nk") });
    const heard = hear(writer.transport, "vigil.v1.prod.asked.taint.>");
    await writer.transport.flush();
    await until("what the replacement takes in another gives out", async () => {
      say(reader.transport, "vigil.v1.prod.asked.taint.7.node-1", "{}");
      await reader.transport.flush();
      return heard.length > 0;
    });
  });

  test("answer their probe as alive even alone, and carry messages", async () => {
    const keys = folder();
    makeKeys(keys);
    const password = readFileSync(join(keys, "route-password"), "utf8");
    const ports = await Promise.all([freePort(), freePort(), freePort()]);
    Object.assign(process.env, { ROUTE_PASSWORD: password, ROUTES: routesAt(ports, password) });
    const monitor = await freePort();
    const { url } = await member("nats-0", ports[0] ?? 0, keys, monitor);
    const { httpGet } = statefulSet().template.spec.containers[0].livenessProbe;
    expect((await fetch(`http://127.0.0.1:${monitor}${httpGet.path}`)).status).toBe(200);
    const reader = await link(url, { nkeyFile: join(keys, "reader.nk") });
    const writer = await link(url, { nkeyFile: join(keys, "writer.nk") });
    const heard = hear(writer.transport, "vigil.v1.prod.asked.taint.>");
    await writer.transport.flush();
    say(reader.transport, "vigil.v1.prod.asked.taint.7.node-1", "{}");
    await until("it is heard", () => heard.length > 0);
  });
});
