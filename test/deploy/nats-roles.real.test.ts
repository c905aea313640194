/** NATS as it is deployed: a real server allows each role what the message table says, and denies the rest. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeKeys } from "../../deploy/nats/make-keys.ts";
import { NATS_ROLES, rolesConfig } from "../../deploy/nats/roles.ts";
import { runCommandLine } from "../../services/cli/command-line.ts";
import { connectNats, type NatsTransport } from "../../services/platform/bus/nats.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics, type ReadableMetrics } from "../../services/platform/process/metrics.ts";
import { fakeHost } from "../cli/fake-host.ts";
import { metricValue } from "../support/metric-value.ts";
import { describeWithEachNats, natsServer } from "../support/nats-programs.ts";
import { type NatsServer, startNatsServer } from "../support/nats-server.ts";
import { recordingLog } from "../support/recording-log.ts";
import { hearers, patternFor, sayers, subjectFor, TYPES } from "./role-rights.ts";

const DEPLOYED = join(import.meta.dirname, "../../deploy/nats");

/** Resolves when the server has answered everything, and the transport has noted what it refused. */
async function settled(link: NatsTransport): Promise<void> {
  await link.flush();
  await new Promise(setImmediate);
}

describeWithEachNats("with the deployed roles", () => {
  const keys = mkdtempSync(join(tmpdir(), "vigil-keys-"));
  let server: NatsServer;
  const open: NatsTransport[] = [];

  beforeAll(async () => {
    makeKeys(keys);
    const files = { "keys.conf": readFileSync(join(keys, "keys.conf"), "utf8"), "roles.conf": rolesConfig() };
    server = await startNatsServer({ config: 'include "roles.conf"', files, jetstream: true });
  });
  afterAll(async () => {
    for (const link of open) await link.close();
    await server.stop();
    rmSync(keys, { recursive: true });
  });

  const connectAs = async (role: string, metrics: ReadableMetrics = createMetrics(), log = silentLog) => {
    const identity = { servers: [server.url], name: role, nkeyFile: join(keys, `${role}.nk`) };
    const link = await connectNats({ ...identity, clock: realClock(), log, metrics });
    open.push(link);
    return link;
  };

  /** What all clients together receive, by subject. */
  async function listenToAll(): Promise<{ heard: string[]; flush: () => Promise<void> }> {
    const link = await connectAs("cluster");
    const heard: string[] = [];
    for (const type of TYPES) link.subscribe(patternFor(type), (_payload, subject) => heard.push(subject));
    await link.flush();
    return { heard, flush: () => link.flush() };
  }

  test.each(NATS_ROLES.filter((role) => role !== "cluster"))(
    "%s can publish what it may, and nothing else",
    async (role) => {
      const metrics = createMetrics();
      const link = await connectAs(role, metrics);
      const { heard, flush } = await listenToAll();
      for (const type of TYPES) link.publish(subjectFor(type), new Uint8Array());
      await link.flush();
      await flush();
      const allowed = TYPES.filter((type) => sayers(type).includes(role));
      expect(heard).toEqual(allowed.map(subjectFor));
      const refused = await metricValue(metrics, "vigil_nats_permission_violations_total", { operation: "publish" });
      expect(refused).toBe(TYPES.length - allowed.length);
    },
  );

  test.each(NATS_ROLES)("%s receives what it may, and nothing else", async (role) => {
    const metrics = createMetrics();
    const link = await connectAs(role, metrics);
    const heard: string[] = [];
    for (const type of TYPES) link.subscribe(patternFor(type), (_payload, subject) => heard.push(subject));
    await link.flush();
    const everyone = await connectAs("cluster");
    for (const type of TYPES) everyone.publish(subjectFor(type), new Uint8Array());
    await everyone.flush();
    await settled(link);
    const allowed = TYPES.filter((type) => hearers(type).includes(role));
    expect(heard).toEqual(allowed.map(subjectFor));
    const refused = await metricValue(metrics, "vigil_nats_permission_violations_total", { operation: "subscription" });
    expect(refused).toBe(TYPES.length - allowed.length);
  });

  test("an inspector's key is enough for vigil get fleet", async () => {
    const host = { ...fakeHost(), readFile: (path: string) => readFileSync(path, "utf8") };
    const nkey = `--nats-nkey=${join(keys, "inspector.nk")}`;
    expect(await runCommandLine(["get", "fleet", `--nats=${server.url}`, nkey], host)).toBe(0);
    expect(host.err()).toContain("there are no members");
  });

  test("an inspector may subscribe to all of Vigil at once", async () => {
    const link = await connectAs("inspector");
    const heard: string[] = [];
    link.subscribe("vigil.v1.*.>", (_payload, subject) => heard.push(subject));
    await link.flush();
    const everyone = await connectAs("cluster");
    for (const type of TYPES) everyone.publish(subjectFor(type), new Uint8Array());
    await everyone.flush();
    await settled(link);
    expect(heard).toEqual(TYPES.map(subjectFor));
  });

  test("no role may subscribe to every subject, or to foreign ones", async () => {
    const metrics = createMetrics();
    const link = await connectAs("inspector", metrics);
    for (const pattern of [">", "vigil.>", "$JS.API.>", "$SRV.>"]) link.subscribe(pattern, () => {});
    await settled(link);
    expect(await metricValue(metrics, "vigil_nats_permission_violations_total")).toBe(4);
  });

  test("a forbidden publish is one clear line that names the subject", async () => {
    const log = recordingLog();
    const link = await connectAs("pod-writer", createMetrics(), log);
    link.publish("vigil.v1.prod.asked.eviction.7.default.web-0", new Uint8Array());
    await settled(link);
    expect(log.lines.filter(({ level }) => level === "warn").map(({ message }) => message)).toEqual([
      "NATS forbids our role the publish on vigil.v1.prod.asked.eviction.7.default.web-0",
    ]);
  });

  test.each(NATS_ROLES)("%s cannot use JetStream", async (role) => {
    const metrics = createMetrics();
    const link = await connectAs(role, metrics);
    for (const subject of ["$JS.API.STREAM.NAMES", "$KV.VIGIL_STATES_prod_uid.x"])
      link.publish(subject, new Uint8Array());
    await settled(link);
    expect(await metricValue(metrics, "vigil_nats_permission_violations_total")).toBe(2);
  });

  test("a client without a key, or with another one, is refused", async () => {
    const other = mkdtempSync(join(tmpdir(), "vigil-keys-"));
    makeKeys(other);
    const common = {
      servers: [server.url],
      name: "stranger",
      clock: realClock(),
      log: silentLog,
      metrics: createMetrics(),
    };
    await expect(connectNats({ ...common, waitOnFirstConnect: true })).rejects.toThrow("refuses our credentials");
    const nkeyFile = join(other, "node.nk");
    await expect(connectNats({ ...common, nkeyFile, waitOnFirstConnect: true })).rejects.toThrow(
      "refuses our credentials",
    );
    rmSync(other, { recursive: true });
  });

  test("the deployed configuration is valid as it stands", () => {
    const folder = mkdtempSync(join(tmpdir(), "vigil-nats-"));
    cpSync(DEPLOYED, folder, { recursive: true });
    cpSync(join(keys, "keys.conf"), join(folder, "keys.conf"));
    const checked = execFileSync(natsServer(), ["-t", "-c", join(folder, "nats.conf")], {
      env: { HOSTNAME: "nats-0" },
      stdio: "pipe",
    });
    expect(checked.toString()).toBe("");
    rmSync(folder, { recursive: true });
  });
});
