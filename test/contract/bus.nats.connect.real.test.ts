/** How the NATS transport connects: waiting for a late server, credentials of every kind, TLS. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nkeys } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { permissionsOf } from "../../deploy/nats/roles.ts";
import { connectNats } from "../../services/platform/bus/nats.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { type Certificates, makeCertificate, makeCertificates } from "../support/certificates.ts";
import { metricValue } from "../support/metric-value.ts";
import { atEnd, clock, echoes, folder, hear, link, say, serve } from "../support/nats-links.ts";
import { natsOperator } from "../support/nats-operator.ts";
import { describeWithEachNats } from "../support/nats-programs.ts";
import { freePort } from "../support/nats-server.ts";
import { recordingLog } from "../support/recording-log.ts";
import { until } from "../support/until.ts";

describeWithEachNats("the first connection", () => {
  test("waits for a server that is not there yet, and logs that it waits", async () => {
    const port = await freePort();
    const log = recordingLog();
    const identity = { servers: [`nats://127.0.0.1:${port}`], name: "test", clock, log, metrics: createMetrics() };
    const pending = connectNats({ ...identity, waitOnFirstConnect: true });
    await until("the wait is logged", () => log.lines.length > 0);
    expect(log.lines[0]?.message).toBe(`NATS at 127.0.0.1:${port} cannot be reached: connection refused; trying again`);
    await serve({ port });
    const transport = await pending;
    atEnd(() => transport.close());
    await echoes(transport);
  });

  test("fails with one line when it is not allowed to wait", async () => {
    const port = await freePort();
    await expect(link(`nats://127.0.0.1:${port}`)).rejects.toThrow(
      `NATS at 127.0.0.1:${port} cannot be reached: connection refused`,
    );
  });

  test.each([
    ["http://host", {}, 'NATS server "http://host": write it as nats://host:4222 or tls://host:4222'],
    ["nats://h", { credsFile: "/none.creds" }, "NATS credentials /none.creds: ENOENT"],
    ["nats://h", { tls: { caFile: "/none.pem" } }, "NATS TLS file /none.pem: ENOENT"],
    ["nats://h", { nkeyFile: "/dev/null" }, "NATS credentials /dev/null: "],
  ])("to %s with %o fails with a line that names the fault", async (url, options, problem) => {
    await expect(link(url, { ...options, waitOnFirstConnect: true })).rejects.toThrow(problem);
  });

  test.each([
    ["user and password in the address", "authorization { user: u, password: 'p@:/' }", "u:p%40%3A%2F@", {}],
    ["user and password apart", "authorization { user: u, password: p }", "", { user: "u", password: "p" }],
    ["a token in the address", "authorization { token: t0ken }", "t0ken@", {}],
    ["a token apart", "authorization { token: t0ken }", "", { token: "t0ken" }],
  ])("is accepted with %s, and refused without", async (_how, config, authority, options) => {
    const { port } = await serve({ config });
    const { transport } = await link(`nats://${authority}127.0.0.1:${port}`, options);
    await echoes(transport);
    await expect(link(`nats://127.0.0.1:${port}`, { waitOnFirstConnect: true })).rejects.toThrow(
      `NATS at 127.0.0.1:${port} refuses our credentials`,
    );
  });

  test("is accepted with a JWT, under the permissions in it", async () => {
    const operator = natsOperator();
    const { url } = await serve({ config: operator.config });
    const credsFile = join(folder(), "vigil.creds");
    writeFileSync(credsFile, operator.credentials("zone", permissionsOf("zone")));
    const { transport, metrics } = await link(url, { credsFile });
    const heard = hear(transport, "vigil.v1.c.judged.zone.1.*");
    say(transport, "vigil.v1.c.asked.eviction.1.ns.pod", "not mine");
    say(transport, "vigil.v1.c.judged.zone.1.a", "mine");
    await until("the zone receives its own message", () => heard.length > 0);
    const refused = () => metricValue(metrics, "vigil_nats_permission_violations_total", { operation: "publish" });
    await until("the other publish is refused", async () => (await refused()) > 0);
    expect(await refused()).toBe(1);
  });
});

describeWithEachNats("TLS", () => {
  let keys: string;
  let files: Certificates;
  beforeAll(() => {
    keys = mkdtempSync(join(tmpdir(), "vigil-tls-"));
    files = makeCertificates(keys);
  });
  afterAll(() => rmSync(keys, { recursive: true }));
  const tlsConfig = () =>
    `tls { cert_file: "${files.serverCert}", key_file: "${files.serverKey}", ca_file: "${files.caFile}", verify: true }`;

  test("with a client certificate and an NKey is accepted", async () => {
    const pair = nkeys.createUser();
    const nkeyFile = join(keys, "user.nk");
    writeFileSync(nkeyFile, `${new TextDecoder().decode(pair.getSeed())}\n`);
    const users = `authorization { users: [{ nkey: ${pair.getPublicKey()} }] }`;
    const { url } = await serve({ config: `${tlsConfig()}\n${users}` });
    const { caFile, clientCert: certFile, clientKey: keyFile } = files;
    const { transport } = await link(url.replace("nats:", "tls:"), { nkeyFile, tls: { caFile, certFile, keyFile } });
    expect(transport.connection.info?.tls_required).toBe(true);
    await echoes(transport);
  });

  test("to a server with an unknown authority is refused with the reason", async () => {
    const { url } = await serve({ config: tlsConfig() });
    const { clientCert: certFile, clientKey: keyFile } = files;
    await expect(link(url, { tls: { certFile, keyFile } })).rejects.toThrow(/cannot be reached: .*certificate/);
  });

  test.each([
    ["expired yesterday", { names: "IP:127.0.0.1", days: -1 }, /cannot be reached: .*certificate has expired/],
    ["is for another name", { names: "DNS:elsewhere", days: 1 }, /cannot be reached: .*(altnames|does not match)/],
  ])("to a server whose certificate %s is refused, and its seed not used", async (_what, made, problem) => {
    const { cert, key } = makeCertificate(keys, "stale", made);
    const server = await serve({ config: `tls { cert_file: "${cert}", key_file: "${key}" }` });
    const nkeyFile = join(keys, "seed.nk");
    writeFileSync(nkeyFile, `${new TextDecoder().decode(nkeys.createUser().getSeed())}\n`);
    const options = { nkeyFile, tls: { caFile: files.caFile } };
    await expect(link(server.url.replace("nats:", "tls:"), options)).rejects.toThrow(problem);
    expect(server.log()).not.toContain("authentication");
  });

  test("of a client whose certificate has expired is refused", async () => {
    const { cert: certFile, key: keyFile } = makeCertificate(keys, "late", { names: "DNS:client", days: -1 });
    const { url } = await serve({ config: tlsConfig() });
    const tls = { caFile: files.caFile, certFile, keyFile };
    await expect(link(url.replace("nats:", "tls:"), { tls })).rejects.toThrow(/NATS at \S+ cannot be reached/);
  });

  test("is required when the address asks for it", async () => {
    const { port } = await serve();
    await expect(link(`tls://127.0.0.1:${port}`)).rejects.toThrow("server does not support 'tls'");
  });
});
