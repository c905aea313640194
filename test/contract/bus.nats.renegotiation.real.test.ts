/**
 * TLS handshakes that one side of a NATS connection repeats. TLS 1.3 has no renegotiation, nats-server refuses that of
 * TLS 1.2, and Vigil follows a server of TLS 1.2 that has proved who it is: Node limits clients only.
 */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, connect as connectTcp, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, TLSSocket } from "node:tls";
import { afterAll, describe, expect, test } from "vitest";
import { makeCertificates } from "../support/certificates.ts";
import { atEnd, echoes, link, serve } from "../support/nats-links.ts";
import { describeWithEachNats } from "../support/nats-programs.ts";
import { until } from "../support/until.ts";

const FOLDER = mkdtempSync(join(tmpdir(), "vigil-renegotiation-"));
const files = makeCertificates(FOLDER);
afterAll(() => rmSync(FOLDER, { recursive: true }));
const CONFIG = `tls { cert_file: "${files.serverCert}", key_file: "${files.serverKey}" }`;
const text = (file: string): string => readFileSync(file, "utf8");

/** A TLS connection to a nats-server, as far as its handshake. */
async function secured(port: number, maxVersion: "TLSv1.2" | "TLSv1.3"): Promise<TLSSocket> {
  const plain = connectTcp(port, "127.0.0.1");
  atEnd(() => plain.destroy());
  // The server speaks first, in the clear.
  await once(plain, "data");
  const socket = connect({ socket: plain, host: "127.0.0.1", ca: text(files.caFile), maxVersion });
  await once(socket, "secureConnect");
  return socket;
}

describeWithEachNats("a handshake that a client repeats", () => {
  test("ends its connection, and no other", async () => {
    const { url, port } = await serve({ config: CONFIG });
    const { transport } = await link(url.replace("nats:", "tls:"), { tls: { caFile: files.caFile } });
    const socket = await secured(port, "TLSv1.2");
    socket.on("error", () => {});
    let repeated = 0;
    socket.renegotiate({}, (error) => {
      if (error === null) repeated += 1;
    });
    await until("the connection ends", () => socket.closed);
    expect(repeated).toBe(0);
    await echoes(transport);
  });
});

/** The server's side of each connection to a program that speaks enough of NATS for a client to stay. */
async function fakeServer(maxVersion: "TLSv1.2" | "TLSv1.3"): Promise<{ url: string; secured: TLSSocket[] }> {
  const sockets: TLSSocket[] = [];
  const pair = { cert: text(files.serverCert), key: text(files.serverKey) };
  const listener = createServer((plain) => {
    plain.on("error", () => {});
    const info = { server_id: "fake", version: "2.12.0", proto: 1, max_payload: 1_048_576, tls_required: true };
    plain.write(`INFO ${JSON.stringify({ ...info, headers: true, host: "127.0.0.1", port: 4222 })}\r\n`);
    const socket = new TLSSocket(plain, { isServer: true, ...pair, maxVersion });
    sockets.push(socket.on("error", () => {}));
    socket.on("data", (chunk: Buffer) => {
      if (chunk.includes("PING")) socket.write("PONG\r\n");
    });
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  atEnd(() => {
    for (const socket of sockets) socket.destroy();
    listener.close();
  });
  const { port } = listener.address() as AddressInfo;
  return { url: `tls://127.0.0.1:${port}`, secured: sockets };
}

describe("a NATS server", () => {
  test("speaks TLS 1.3 with Vigil, which repeats no handshake", async () => {
    const { url, secured } = await fakeServer("TLSv1.3");
    await link(url, { tls: { caFile: files.caFile } });
    expect(secured.map((socket) => socket.getProtocol())).toEqual(["TLSv1.3"]);
  });

  test("may repeat a handshake of TLS 1.2, and messages pass meanwhile", async () => {
    const { url, secured } = await fakeServer("TLSv1.2");
    const { transport } = await link(url, { tls: { caFile: files.caFile } });
    let repeated = 0;
    const repeat = (): void => {
      secured[0]?.renegotiate({}, (error) => {
        if (error !== null) return;
        repeated += 1;
        if (repeated < 10) repeat();
      });
    };
    repeat();
    await until("the handshakes are over", () => repeated === 10);
    await transport.flush();
    expect(secured.length).toBe(1);
  });
});
