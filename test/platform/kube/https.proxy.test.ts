/** The wire through a proxy that tunnels TLS, as in company networks. */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createProxy, type Server as ProxyServer } from "node:http";
import { createServer, type Server } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { httpsWire, type SocketWire } from "../../../services/platform/kube/transport/https.ts";
import { makeCertificates } from "../../support/certificates.ts";
import { exchanged, get, post } from "./local-server.ts";

let folder: string;
let ca: string;
let server: Server;
let proxy: ProxyServer;
let sockets: Socket[];
/** The requested tunnels. */
let asked: string[];
/** The proxy's refusal; null for none. */
let refusal: string | null;
let wire: SocketWire;

const portOf = (listener: Server | ProxyServer): number => (listener.address() as AddressInfo).port;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "vigil-proxy-"));
  const { caFile, serverCert, serverKey } = makeCertificates(folder);
  ca = readFileSync(caFile, "utf8");
  const tls = { cert: readFileSync(serverCert), key: readFileSync(serverKey) };
  server = createServer(tls, (request, response) => response.end(request.url)).listen(0, "127.0.0.1");
  proxy = createProxy().listen(0, "127.0.0.1");
  proxy.on("connect", ({ url = "" }, socket: Socket) => {
    asked.push(url);
    sockets.push(socket.on("error", () => {}));
    if (refusal !== null) return void socket.end(`HTTP/1.1 ${refusal}\r\ncontent-length: 0\r\n\r\n`);
    const tunnel = connect(portOf(server), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      tunnel.pipe(socket).pipe(tunnel);
    });
    sockets.push(tunnel.on("error", () => {}));
  });
  await Promise.all([once(server, "listening"), once(proxy, "listening")]);
});

beforeEach(() => {
  sockets = [];
  asked = [];
  refusal = null;
  const authorize = () => Promise.resolve({ headers: {}, tls: { ca } });
  wire = httpsWire({
    server: `https://127.0.0.1:${portOf(server)}`,
    authorize,
    proxy: `http://127.0.0.1:${portOf(proxy)}`,
  });
});

afterEach(() => {
  wire.close();
  for (const socket of sockets) socket.destroy();
});

afterAll(() => {
  server.close();
  proxy.close();
  rmSync(folder, { recursive: true });
});

test("successive requests share one tunnel, and the server's certificate is checked", async () => {
  for (const path of ["/a", "/b", "/c"]) expect(await exchanged(wire, get(path))).toMatchObject({ text: path });
  expect(asked).toEqual([`127.0.0.1:${portOf(server)}`]);
});

test("a write that the proxy refuses was not sent, and the error has its answer", async () => {
  refusal = "407 Proxy Authentication Required";
  expect(await exchanged(wire, post("/"))).toMatchObject({
    kind: "failed",
    sent: false,
    message: expect.stringContaining("407"),
  });
});
