/** Many requests over few connections, against a server on the loopback. */
import { afterEach, describe, expect, test } from "vitest";
import type { HttpRequest } from "../../../protocols/ports.ts";
import type { Answer } from "../../../services/platform/kube/transport/call.ts";
import type { Authorize } from "../../../services/platform/kube/transport/https.ts";
import { Pipelines } from "../../../services/platform/kube/transport/pipelines.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { type LocalServer, localServer } from "./local-server.ts";

let server: LocalServer | null = null;
let pipelines: Pipelines;

const anonymous: Authorize = () => Promise.resolve({ headers: {}, tls: {} });
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` }, tls: {} });
const put = (path: string, body: string): HttpRequest => ({
  method: "PUT",
  path,
  headers: { "content-type": "application/json" },
  body,
});

async function serve(answer: Parameters<typeof localServer>[0], authorize: Authorize = anonymous): Promise<void> {
  server = await localServer(answer);
  pipelines = new Pipelines({ server: server.url, authorize }, realClock());
}

const sent = (path: string, body = "ü"): Promise<Answer> =>
  new Promise((resolve) => pipelines.send(put(path, body), resolve));
const all = (count: number): Promise<Answer[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => sent(`/${index}`)));

afterEach(async () => {
  pipelines.close();
  await server?.close();
  server = null;
});

describe("requests that share connections", () => {
  test("get the answer to their own, each with its body", async () => {
    await serve((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (chunk: string) => {
        body += chunk;
      });
      request.on("end", () => response.end(`${request.method} ${request.url} ${body}`));
    });
    const answers = await all(1000);
    expect(answers.map((answer) => answer.kind === "answer" && answer.text)).toEqual(
      Array.from({ length: 1000 }, (_, index) => `PUT /${index} ü`),
    );
    // A connection for each request in flight costs ten times the processor.
    expect(server?.connections()).toBeLessThanOrEqual(32);
  });

  test("wait for a connection where all are busy", async () => {
    await serve((_request, response) => response.end());
    const answers = await all(3000);
    expect(answers.every((answer) => answer.kind === "answer")).toBe(true);
    expect(server?.connections()).toBeLessThanOrEqual(100);
  });

  test("use the path in the server's address", async () => {
    await serve((request, response) => response.end(request.url));
    pipelines = new Pipelines({ server: `${server?.url}/clusters/c-1/`, authorize: anonymous }, realClock());
    expect(await sent("/api")).toMatchObject({ text: "/clusters/c-1/api" });
  });

  test("take a new connection after the server ended one", async () => {
    await serve((_request, response) => response.setHeader("connection", "close").end("x"));
    expect(await sent("/1")).toMatchObject({ text: "x" });
    expect(await sent("/2")).toMatchObject({ text: "x" });
    expect(server?.connections()).toBe(2);
  });
});

describe("requests that fail", () => {
  test("were sent when the server broke the connection", async () => {
    await serve((request, response) => {
      if (request.url === "/2") request.socket.destroy();
      else response.end();
    });
    const answers = await all(5);
    expect(answers.slice(2)).toEqual(
      Array.from({ length: 3 }, () => expect.objectContaining({ kind: "lost", sent: true, timedOut: false })),
    );
  });

  test("were not sent without a connection", async () => {
    await serve((_request, response) => response.end());
    await server?.close();
    server = null;
    expect(await sent("/")).toMatchObject({
      kind: "lost",
      sent: false,
      message: expect.stringMatching("ECONNREFUSED"),
    });
  });

  test("were not sent without credentials that a header can carry", async () => {
    await serve(
      (_request, response) => response.end(),
      () => Promise.reject(new Error("the plugin says no")),
    );
    expect(await sent("/")).toMatchObject({ kind: "lost", sent: false, message: "the plugin says no" });
    pipelines = new Pipelines(
      { server: server?.url ?? "", authorize: () => Promise.resolve(bearer("two\nlines")) },
      realClock(),
    );
    expect(await sent("/")).toMatchObject({ kind: "lost", sent: false });
  });

  test("with refused credentials are followed by fresh ones", async () => {
    let token = "stale";
    await serve(
      ({ headers }, response) => response.writeHead(headers.authorization === "Bearer fresh" ? 200 : 401).end(),
      (renew) => {
        if (renew) token = "fresh";
        return Promise.resolve(bearer(token));
      },
    );
    expect(await sent("/")).toMatchObject({ status: 401 });
    expect(await sent("/")).toMatchObject({ status: 200 });
  });
});
