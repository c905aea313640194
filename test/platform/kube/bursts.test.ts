/** Reading in bursts, over TLS on the loopback: pauses, their length, and the end of a response during one. */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, get, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { pauseAfterMs, RESTING_SOCKET, readInBursts } from "../../../services/platform/kube/transport/bursts.ts";
import { httpsWire, type SocketWire } from "../../../services/platform/kube/transport/https.ts";
import { makeCertificates } from "../../support/certificates.ts";
import { exchanged } from "./local-server.ts";

const GATHER_MS = 25;
/** Four of these are a backlog, and fit into the buffers of a connection. */
const QUARTER = "x".repeat(16 * 1024);
const HEARD_WITHIN_MS = 10_000;

let folder: string;
let ca: string;
let server: Server;
let wire: SocketWire;
let connections: number;
/** What the server does with a request; the path `/echo` is answered at once in any case. */
let answer: (response: ServerResponse) => void;

/** Waits for what real sockets deliver; `setTimeout` does not advance here. */
async function heard(what: string, holds: () => boolean): Promise<void> {
  const endMs = performance.now() + HEARD_WITHIN_MS;
  while (!holds()) {
    if (performance.now() > endMs) throw new Error(`not heard: ${what}`);
    await new Promise(setImmediate);
  }
}

/** A round trip on another connection: what was sent before it has reached this machine's sockets. */
async function roundTrip(): Promise<void> {
  const request = { method: "GET", path: "/echo", headers: {}, body: null };
  expect(await exchanged(wire, request)).toMatchObject({ status: 200, text: "echo" });
}

/** Lets time pass as Node does: timers fire before sockets are read, and only then what was put off runs. */
async function pass(ms: number): Promise<void> {
  await new Promise(setImmediate);
  vi.advanceTimersByTime(ms);
}

test.each([
  // 300 leases of 900 bytes a second.
  [27_000, 100, 250, 121.4],
  [2_700, 100, 250, 250],
  [300, 1_000, 250, 250],
  [60_000, 10, 250, 20],
  [27_000, 100, 25, 25],
])("after %i bytes in %i ms it pauses at most %i ms: for %d ms", (bytes, spanMs, gatherMs, pauseMs) => {
  expect(pauseAfterMs(bytes, spanMs, gatherMs)).toBeCloseTo(pauseMs, 1);
});

interface Watched {
  readonly response: ServerResponse;
  /** Everything that the client has received. */
  readonly received: () => string;
  /** How long each part may have waited. */
  readonly waitedMs: readonly number[];
  readonly abort: () => void;
}

/** Sends a request whose answer is gathered, and waits until the server holds its answer. */
async function watch(): Promise<Watched> {
  let received = "";
  const waitedMs: number[] = [];
  const held = Promise.withResolvers<ServerResponse>();
  answer = held.resolve;
  const request = { method: "GET", path: "/watch", headers: {}, body: null, gatherMs: GATHER_MS };
  const exchange = wire.send(request, {
    response: () => {},
    data: (chunk, waited = 0) => {
      received += Buffer.from(chunk).toString();
      waitedMs.push(waited);
    },
    end: () => {
      received += "|end";
    },
    failed: () => {
      received += "|failed";
    },
  });
  return { response: await held.promise, received: () => received, waitedMs, abort: () => exchange.abort() };
}

/** The same, with a first part behind which it rests. */
async function restingWatch(): Promise<Watched> {
  const watched = await watch();
  watched.response.write("a");
  await heard("the first part", () => watched.received() === "a");
  await heard("the rest begins", () => vi.getTimerCount() === 1);
  return watched;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "vigil-bursts-"));
  const { caFile, serverCert, serverKey } = makeCertificates(folder);
  ca = readFileSync(caFile, "utf8");
  server = createServer({ cert: readFileSync(serverCert), key: readFileSync(serverKey) }, (request, response) => {
    if (request.url === "/echo") response.end("echo");
    else answer(response);
  });
  server.on("secureConnection", () => connections++);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
  rmSync(folder, { recursive: true });
});

const url = (): string => `https://127.0.0.1:${(server.address() as AddressInfo).port}`;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  connections = 0;
  wire = httpsWire({ server: url(), authorize: () => Promise.resolve({ headers: {}, tls: { ca } }) });
});

afterEach(() => {
  wire.close();
  vi.useRealTimers();
});

describe("a gathered answer", () => {
  test("stays in the kernel for a pause but for one part, in order", async () => {
    const agent = new Agent({ ...RESTING_SOCKET, ca });
    const held = Promise.withResolvers<ServerResponse>();
    answer = held.resolve;
    const client = get(`${url()}/watch`, { agent });
    const response = await held.promise;
    response.write("a");
    const [incoming]: IncomingMessage[] = await once(client, "response");
    if (incoming === undefined) throw new Error("no answer");
    readInBursts(incoming, GATHER_MS);
    let received = "";
    incoming.on("data", (chunk: Uint8Array) => {
      received += Buffer.from(chunk).toString();
    });
    await heard("the rest begins", () => vi.getTimerCount() === 1);
    response.write("b");
    await heard("one part more is read", () => incoming.socket.readableLength > 0);
    const partBytes = incoming.socket.readableLength;
    for (const part of "cdefg") {
      response.write(part);
      await roundTrip();
    }
    expect(incoming.socket.readableLength).toBe(partBytes);
    await pass(GATHER_MS - 1);
    await roundTrip();
    expect(received).toBe("a");
    await pass(1);
    await heard("what was gathered", () => received === "abcdefg");
    client.destroy();
    agent.destroy();
  });

  test("pauses again after each burst", async () => {
    const { response, received, abort } = await restingWatch();
    for (const part of ["b", "c"]) {
      response.write(part);
      await roundTrip();
      const before = received();
      await pass(GATHER_MS);
      await heard("the next burst", () => received() === `${before}${part}`);
      await heard("the rest begins", () => vi.getTimerCount() === 1);
    }
    abort();
  });

  test("says how long each part may have waited", async () => {
    const { response, received, waitedMs, abort } = await restingWatch();
    response.write("b");
    await roundTrip();
    await pass(GATHER_MS);
    await heard("the next part", () => received() === "ab");
    expect(waitedMs[0]).toBe(0);
    expect(waitedMs[1]).toBeGreaterThan(0);
    expect(waitedMs[1]).toBeLessThanOrEqual(GATHER_MS);
    abort();
  });

  test("does not pause behind a backlog", async () => {
    const { response, received, abort } = await restingWatch();
    const backlog = QUARTER.repeat(4);
    for (let part = 0; part < 4; part++) {
      response.write(QUARTER);
      await roundTrip();
    }
    await pass(GATHER_MS);
    await heard("the backlog", () => received() === `a${backlog}`);
    response.write("b");
    await heard("what came behind it", () => received() === `a${backlog}b`);
    abort();
  });

  test("ends a pause late, and its connection serves the next request", async () => {
    const { response, received } = await restingWatch();
    response.end("b");
    await new Promise(setImmediate);
    expect(received()).toBe("a");
    await pass(GATHER_MS);
    await heard("its end", () => received() === "ab|end");
    await roundTrip();
    expect(connections).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("that ends with its first burst has no pause", async () => {
    const { response, received } = await watch();
    response.end("a");
    await heard("its end", () => received() === "a|end");
    await roundTrip();
    expect(connections).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("that breaks off during a pause fails one pause late", async () => {
    const { response, received } = await restingWatch();
    response.destroy();
    await roundTrip();
    await pass(GATHER_MS);
    await heard("the failure", () => received() === "a|failed");
  });

  test("that is aborted during a pause is closed at once", async () => {
    const { response, received, abort } = await restingWatch();
    const closed = once(response, "close");
    abort();
    await closed;
    await heard("the rest is over", () => vi.getTimerCount() === 0);
    expect(received()).toBe("a");
  });
});
