/** The console's TLS under attack: certificates that its clients must refuse, and handshakes that cost it something. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect as connectTcp, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { runCommandLine } from "../../services/cli/command-line.ts";
import { type FrontOptions, type RunningConsole, startConsole } from "../../services/console/console.http.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { fakeHost } from "../cli/fake-host.ts";
import { makeCertificate, makeCertificates } from "../support/certificates.ts";
import { until } from "../support/until.ts";

const FOLDER = mkdtempSync(join(tmpdir(), "vigil-console-tls-"));
const { caFile, serverCert, serverKey } = makeCertificates(FOLDER);
const TOKEN_FILE = join(FOLDER, "token");
writeFileSync(TOKEN_FILE, "a-token-of-22-letters\n");
afterAll(() => rmSync(FOLDER, { recursive: true }));

const text = (file: string): string => readFileSync(file, "utf8");
const running: RunningConsole[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const each of running.splice(0)) await each.close();
});

/** A console over TLS and how often it asked for the token of a request. */
async function listening({ cert = serverCert, key = serverKey } = {}, changes: Partial<FrontOptions> = {}) {
  const io = { clock: realClock(), log: silentLog, metrics: createMetrics() };
  const pair = { cert: text(cert), key: text(key) };
  let asked = 0;
  const token = () => {
    asked += 1;
    return text(TOKEN_FILE).trim();
  };
  const front = { host: "127.0.0.1", port: 0, ...io, tls: () => pair, token, ...changes };
  const served = await startConsole(front);
  running.push(served);
  return { url: served.url, port: Number(new URL(served.url).port), asked: () => asked };
}

const closes = (what: string, socket: Socket) => until(what, () => socket.closed);

describe("a certificate of the console that", () => {
  test.each([
    ["expired yesterday", { names: "IP:127.0.0.1", days: -1 }, /certificate has expired/],
    ["is for another name", { names: "DNS:elsewhere,IP:10.0.0.1", days: 1 }, /altnames|does not match/],
  ])("%s gets no token from vigil get", async (_what, made, problem) => {
    const { url, asked } = await listening(makeCertificate(FOLDER, "stale", made));
    const host = { ...fakeHost(), readFile: text };
    const flags = [`--server=${url}`, `--server-ca=${caFile}`, `--token-file=${TOKEN_FILE}`];
    expect(await runCommandLine(["get", "zones", ...flags], host)).toBe(1);
    expect(host.err()).toMatch(problem);
    expect(asked()).toBe(0);
  });
});

describe("a connection that says nothing", () => {
  const SOON: Partial<FrontOptions> = { silentMs: 50 };

  test("before its handshake is ended", async () => {
    const { port } = await listening({}, SOON);
    const socket = connectTcp(port, "127.0.0.1");
    sockets.push(socket.on("error", () => {}));
    await closes("the connection ends", socket);
  });

  test("after its handshake is ended", async () => {
    // Long enough for a handshake on a machine that has little time for it.
    const { port } = await listening({}, { silentMs: 2_000 });
    const socket = connect({ port, host: "127.0.0.1", ca: text(caFile) });
    sockets.push(socket.on("error", () => {}));
    let isSecure = false;
    socket.once("secureConnect", () => {
      isSecure = true;
    });
    await closes("the connection ends", socket);
    expect(isSecure).toBe(true);
  });

  test("in the middle of its handshake is ended", async () => {
    const { port } = await listening({}, SOON);
    const socket = connectTcp(port, "127.0.0.1");
    sockets.push(socket.on("error", () => {}));
    // The header of a record of 512 bytes that never come.
    socket.write(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00]));
    await closes("the connection ends", socket);
  });
});

describe("a handshake", () => {
  const connected = async (port: number, options: object): Promise<TLSSocket> => {
    const socket = connect({ port, host: "127.0.0.1", ca: text(caFile), ...options });
    sockets.push(socket);
    await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
    return socket;
  };

  test("that is repeated again and again ends the connection", async () => {
    const { port } = await listening();
    const socket = await connected(port, { maxVersion: "TLSv1.2" });
    socket.on("error", () => {});
    let repeated = 0;
    const repeat = (): void => {
      socket.renegotiate({}, (error) => {
        if (error !== null) return;
        repeated += 1;
        repeat();
      });
    };
    repeat();
    await closes("the connection ends", socket);
    expect(repeated).toBeLessThan(5);
  });

  test("is of TLS 1.3, which repeats none, where the client can", async () => {
    const { port } = await listening();
    expect((await connected(port, {})).getProtocol()).toBe("TLSv1.3");
  });

  test("of a version older than TLS 1.2 is refused", async () => {
    const { port } = await listening();
    const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" };
    await expect(connected(port, old)).rejects.toThrow(/alert|protocol|version/);
  });
});
