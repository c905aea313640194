/** Access to the console: host names, tokens and TLS, from the server and from the command line. */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { runCommandLine } from "../../services/cli/command-line.ts";
import { type ListenFiles, listenGuard } from "../../services/cli/run/listen-files.ts";
import { carriesToken } from "../../services/console/console.access.policy.ts";
import { type FrontOptions, type RunningConsole, startConsole } from "../../services/console/console.http.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { isOwnHost } from "../../services/platform/process/own-host.ts";
import { fakeHost } from "../cli/fake-host.ts";
import { makeCertificates } from "../support/certificates.ts";
import { VirtualClock } from "../support/clock.virtual.ts";

const FOLDER = mkdtempSync(join(tmpdir(), "vigil-console-"));
const { caFile, serverCert, serverKey, clientCert, clientKey } = makeCertificates(FOLDER);
const TOKEN = "a-token-of-22-letters";
const tokenFile = join(FOLDER, "token");
writeFileSync(tokenFile, `${TOKEN}\n`);
const shortFile = join(FOLDER, "short");
writeFileSync(shortFile, "short");
afterAll(() => rmSync(FOLDER, { recursive: true }));

const NO_FILES: ListenFiles = { listenTlsCert: "", listenTlsKey: "", listenTokenFile: "" };
const disk = { readFile: (path: string) => readFileSync(path, "utf8"), readableByAll: () => false, warn: () => {} };
const running: RunningConsole[] = [];
afterEach(async () => {
  for (const each of running.splice(0)) await each.close();
});

async function listening(changes: Partial<FrontOptions> = {}): Promise<string> {
  const io = { clock: realClock(), log: silentLog, metrics: createMetrics() };
  const served = await startConsole({ host: "127.0.0.1", port: 0, ...io, ...changes });
  running.push(served);
  return served.url;
}

const guardedBy = (files: Partial<ListenFiles>, clock = new VirtualClock()) =>
  listenGuard({ ...NO_FILES, ...files }, disk, clock);

/** The status of a GET under a Host header. */
function statusUnder(host: string, url: string, path = "/metrics"): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request(new URL(path, url), { headers: { host } }, (response) => resolve(response.statusCode));
    asked.once("error", reject).end();
  });
}

describe("a Host header", () => {
  test.each(["127.0.0.1:8080", "[::1]:8080", "10.0.0.7", "localhost:8080", "vigil", "vigil.vigil-system.svc:8080"])(
    "%s is one of the console's own",
    (host) => expect(isOwnHost(host, [])).toBe(true),
  );

  test.each(["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "svc.evil.example", "10.0.0.7.nip.io"])(
    "%s is foreign",
    (host) => expect(isOwnHost(host, ["vigil.example"])).toBe(false),
  );

  test("of a foreign page whose name resolves to the console is refused", async () => {
    const url = await listening();
    for (const path of ["/metrics", "/api/overview", "/api/stream", "/"]) {
      expect(await statusUnder("evil.example", url, path)).toBe(403);
    }
    expect(await statusUnder("127.0.0.1", url)).toBe(200);
  });

  test("that the operator named is accepted", async () => {
    const url = await listening({ hosts: ["Vigil.example.com"] });
    expect(await statusUnder("vigil.example.com:443", url)).toBe(200);
    expect(await statusUnder("www.vigil.example.com", url)).toBe(403);
  });
});

describe("a token", () => {
  const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

  test.each([
    [`Bearer ${TOKEN}`, true],
    [`bearer ${TOKEN}`, true],
    [basic(`anybody:${TOKEN}`), true],
    [`Bearer ${TOKEN}x`, false],
    ["Bearer ", false],
    [basic(TOKEN), false],
    [basic("anybody:"), false],
    [TOKEN, false],
    [undefined, false],
  ])("sent as %j is taken: %s", (header, taken) => expect(carriesToken(header, TOKEN)).toBe(taken));

  test("is required of all requests but probes, which carry none", async () => {
    const url = await listening(guardedBy({ listenTokenFile: tokenFile }));
    const statusOf = async (path: string, headers = {}) => (await fetch(`${url}${path}`, { headers })).status;
    expect(await Promise.all(["/livez", "/healthz"].map((path) => statusOf(path)))).toEqual([200, 200]);
    expect(await statusOf("/readyz")).toBe(503);
    const guarded = ["/metrics", "/", "/page.js", "/api/about", "/api/stream", "/nowhere"];
    expect(await Promise.all(guarded.map((path) => statusOf(path)))).toEqual(guarded.map(() => 401));
    expect(await statusOf("/metrics", { authorization: `Bearer ${TOKEN}` })).toBe(200);
  });

  test("may be sent by a browser as a password", async () => {
    const { headers } = await fetch(await listening(guardedBy({ listenTokenFile: tokenFile })));
    expect(headers.get("www-authenticate")).toBe('Bearer, Basic realm="vigil", charset="UTF-8"');
  });

  test("is read again each minute, and stays while its file is unusable", () => {
    const clock = new VirtualClock();
    const file = join(FOLDER, "renewed");
    copyFileSync(tokenFile, file);
    const { token } = guardedBy({ listenTokenFile: file }, clock);
    writeFileSync(file, "another-token-of-28-letters");
    expect(token?.()).toBe(TOKEN);
    clock.advance(60_000);
    expect(token?.()).toBe("another-token-of-28-letters");
    writeFileSync(file, "");
    clock.advance(60_000);
    expect(token?.()).toBe("another-token-of-28-letters");
  });

  test("that is short, or a key of another certificate, is refused with one line", () => {
    expect(() => guardedBy({ listenTokenFile: shortFile })).toThrow(
      `--listen-token-file=${shortFile}: must hold one token of at least 16 printable characters`,
    );
    expect(() => guardedBy({ listenTlsCert: serverCert, listenTlsKey: clientKey })).toThrow(
      `--listen-tls-key=${clientKey}: not the key of --listen-tls-cert=${serverCert}`,
    );
  });
});

describe("over TLS", () => {
  const get = async (...flags: string[]) => {
    const host = { ...fakeHost(), readFile: disk.readFile };
    const code = await runCommandLine(["explain", "node", "n1", ...flags], host);
    return { code, err: host.err() };
  };

  test("vigil explain sends a token and verifies the console's certificate", async () => {
    const url = await listening(
      guardedBy({ listenTlsCert: serverCert, listenTlsKey: serverKey, listenTokenFile: tokenFile }),
    );
    expect(url).toMatch(/^https:/);
    const [server, ca, token] = [`--server=${url}`, `--server-ca=${caFile}`, `--token-file=${tokenFile}`];
    // The console has no ledger yet: "starting" shows that the request was accepted.
    expect(await get(server, ca, token)).toEqual({ code: 1, err: "vigil: starting\n" });
    const why = "this console requires its token; give it with --token-file, or as the password in a browser";
    expect(await get(server, ca)).toEqual({ code: 1, err: `vigil: ${why}\n` });
    expect((await get(server, token)).err).toMatch(/^vigil: no console at https:\S+ \(--server\): .*certificate.*\n$/);
  });

  test("a renewed certificate is used within a minute, without a restart", async () => {
    const clock = new VirtualClock();
    const [cert, key] = [join(FOLDER, "tls.crt"), join(FOLDER, "tls.key")];
    const write = (fromCert: string, fromKey: string) => {
      copyFileSync(fromCert, cert);
      copyFileSync(fromKey, key);
    };
    write(serverCert, serverKey);
    const { port } = new URL(await listening(guardedBy({ listenTlsCert: cert, listenTlsKey: key }, clock)));
    const subject = () =>
      new Promise((resolve, reject) => {
        const socket = connect({ port: Number(port), host: "127.0.0.1", ca: readFileSync(caFile) }, () => {
          resolve(socket.getPeerCertificate().subject.CN);
          socket.destroy();
        });
        socket.once("error", reject);
      });
    expect(await subject()).toBe("server");
    write(clientCert, clientKey);
    expect(await subject()).toBe("server");
    clock.advance(60_000);
    expect(await subject()).toBe("client");
  });

  test("a half-written chain ends no process: the last certificate stays", () => {
    const clock = new VirtualClock();
    const cert = join(FOLDER, "chain.crt");
    copyFileSync(serverCert, cert);
    const { tls } = guardedBy({ listenTlsCert: cert, listenTlsKey: serverKey }, clock);
    const used = tls?.();
    const whole = readFileSync(serverCert, "utf8") + readFileSync(caFile, "utf8");
    writeFileSync(cert, whole.slice(0, -60));
    clock.advance(60_000);
    expect(tls?.()).toBe(used);
    expect(() => guardedBy({ listenTlsCert: cert, listenTlsKey: serverKey })).toThrow(
      `--listen-tls-cert=${cert}: must hold a certificate in PEM`,
    );
    writeFileSync(cert, whole);
    clock.advance(60_000);
    expect(tls?.().cert).toBe(whole);
  });

  test("a pair that is renewed between two reads is not mixed", () => {
    const versions = new Map([
      ["cert", [serverCert, clientCert]],
      ["key", [serverKey, serverKey]],
    ]);
    const readFile = (file: string): string => readFileSync(versions.get(file)?.shift() ?? "", "utf8");
    const files = { ...NO_FILES, listenTlsCert: "cert", listenTlsKey: "key" };
    const { cert = "", key = "" } = listenGuard(files, { ...disk, readFile }, new VirtualClock()).tls?.() ?? {};
    expect(new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))).toBe(true);
  });
});

test("a token is not sent to http:// without --allow-token-over-http", async () => {
  const server = await listening({ token: () => TOKEN });
  const host = { ...fakeHost(), readFile: disk.readFile };
  const flags = [`--server=${server}`, `--token-file=${tokenFile}`];
  expect(await runCommandLine(["get", "zones", ...flags], host)).toBe(2);
  const refusal = host.err();
  expect(refusal).toBe(
    `vigil: --token-file=${tokenFile}: the token can be read on the way to ${server}; ` +
      "use --server=https://…, or add --allow-token-over-http\n",
  );
  expect(await runCommandLine(["get", "zones", ...flags, "--allow-token-over-http"], host)).toBe(1);
  expect(host.err().slice(refusal.length)).toBe("vigil: starting\n");
});
