/**
 * The wire over sockets, against a server on the loopback: connections, streams, credentials, and whether a failed
 * request was sent.
 */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { type Authorize, httpsWire, type SocketWire } from "../../../services/platform/kube/transport/https.ts";
import { until } from "../../support/until.ts";
import { exchanged, get, type LocalServer, localServer, post } from "./local-server.ts";

let server: LocalServer | null = null;
let wire: SocketWire;

const anonymous: Authorize = () => Promise.resolve({ headers: {}, tls: {} });
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` }, tls: {} });

async function serve(answer: Parameters<typeof localServer>[0], authorize: Authorize = anonymous): Promise<void> {
  server = await localServer(answer);
  wire = httpsWire({ server: server.url, authorize });
}

afterEach(async () => {
  wire.close();
  await server?.close();
  server = null;
});

describe("a connection", () => {
  test("serves 300 requests one after the other", async () => {
    await serve((request, response) => response.end(request.url));
    for (let n = 0; n < 300; n++)
      expect(await exchanged(wire, get(`/${n}`))).toMatchObject({ status: 200, text: `/${n}` });
    expect(server?.connections()).toBe(1);
  });

  test("uses the path in the server's address", async () => {
    await serve((request, response) => response.end(request.url));
    const prefixed = httpsWire({ server: `${server?.url}/k8s/clusters/c-1/`, authorize: anonymous });
    expect(await exchanged(prefixed, get("/api/v1/nodes?limit=1"))).toMatchObject({
      text: "/k8s/clusters/c-1/api/v1/nodes?limit=1",
    });
    prefixed.close();
  });
});

describe("an answer", () => {
  test("arrives while it is written, and stops when the request is aborted", async () => {
    const closed = Promise.withResolvers<void>();
    await serve((_request, response) => {
      response.write("first");
      response.on("close", () => closed.resolve());
    });
    const received: string[] = [];
    const exchange = wire.send(get("/"), {
      response: (status) => received.push(String(status)),
      data: (chunk) => received.push(Buffer.from(chunk).toString()),
      end: () => received.push("end"),
      failed: () => received.push("failed"),
    });
    expect(received).toEqual([]);
    await until("the first part has come", () => received.length === 2);
    exchange.abort();
    await closed.promise;
    expect(received).toEqual(["200", "first"]);
  });

  test("that breaks off is a failure of a sent request", async () => {
    await serve((_request, response) => {
      response.writeHead(200, { "content-length": "100" }).write("part");
      setImmediate(() => response.destroy());
    });
    expect(await exchanged(wire, get("/"))).toMatchObject({ kind: "failed", sent: true });
  });
});

describe("a request that fails", () => {
  test("was not sent without a connection, and names the server", async () => {
    await serve((_request, response) => response.end());
    const { url } = server ?? { url: "" };
    await server?.close();
    server = null;
    expect(await exchanged(wire, post("/"))).toEqual({
      kind: "failed",
      sent: false,
      message: expect.stringMatching(`^${url}: connect ECONNREFUSED`),
    });
  });

  test("was not sent when the server's name does not resolve", async () => {
    wire = httpsWire({ server: "http://no-such-host.invalid", authorize: anonymous });
    expect(await exchanged(wire, get("/"))).toMatchObject({
      sent: false,
      message: expect.stringContaining("no-such-host.invalid"),
    });
  });

  test("was sent when the server took it and broke the connection", async () => {
    await serve((request) => request.socket.destroy());
    expect(await exchanged(wire, post("/"))).toMatchObject({ kind: "failed", sent: true });
  });

  test("on a closed idle connection is sent again only if a read", async () => {
    // Answers the first request of each connection, and closes it at the second.
    const closing = createServer((socket) => {
      let requests = 0;
      socket.on("data", () => {
        if (++requests === 1) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
        else socket.resetAndDestroy();
      });
      socket.on("error", () => {});
    }).listen(0, "127.0.0.1");
    await once(closing, "listening");
    wire = httpsWire({ server: `http://127.0.0.1:${(closing.address() as AddressInfo).port}`, authorize: anonymous });
    expect(await exchanged(wire, get("/"))).toMatchObject({ text: "ok" });
    expect(await exchanged(wire, get("/"))).toMatchObject({ text: "ok" });
    expect(await exchanged(wire, post("/"))).toMatchObject({ kind: "failed", sent: true });
    closing.close();
  });
});

describe("credentials", () => {
  const guarded: Parameters<typeof localServer>[0] = ({ headers }, response) => {
    response.writeHead(headers.authorization === "Bearer fresh" ? 200 : 401).end("answer");
  };

  test("are renewed once after a 401, and the request is sent again", async () => {
    const asked: boolean[] = [];
    await serve(guarded, (renew) => {
      asked.push(renew);
      return Promise.resolve(bearer(renew ? "fresh" : "stale"));
    });
    expect(await exchanged(wire, post("/"))).toEqual({ kind: "answer", status: 200, text: "answer" });
    expect(asked).toEqual([false, true]);
  });

  test("refused again, or unchanged, leave the 401 as the answer", async () => {
    let count = 0;
    await serve(guarded, () => Promise.resolve(bearer(`wrong-${count++}`)));
    expect(await exchanged(wire, get("/"))).toMatchObject({ status: 401, text: "answer" });
    expect(count).toBe(2);
    const same = httpsWire({ server: server?.url ?? "", authorize: () => Promise.resolve(bearer("wrong")) });
    expect(await exchanged(same, get("/"))).toMatchObject({ status: 401, text: "answer" });
    same.close();
  });

  test("that are unavailable fail the request before it is sent", async () => {
    await serve(guarded, () => Promise.reject(new Error("the plugin says no")));
    expect(await exchanged(wire, get("/"))).toEqual({
      kind: "failed",
      sent: false,
      message: `${server?.url}: the plugin says no`,
    });
  });

  test("that no header can carry fail only their request", async () => {
    await serve(guarded, () => Promise.resolve(bearer("two\nlines")));
    expect(await exchanged(wire, get("/"))).toMatchObject({ kind: "failed", sent: false });
  });
});
