/** The console's HTTP server: probes, metrics, the read-only API, the event stream and the dashboard. An edge. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { LedgerReader } from "../../protocols/ledger-reader.ts";
import type { Bus, Clock, Io, Log, Stop, Timer } from "../../protocols/ports.ts";
import { listenProblem } from "../platform/config/address.ts";
import type { ReadableMetrics } from "../platform/process/metrics.ts";
import { nodeHttp } from "../platform/process/node-http.ts";
import { isOwnHost } from "../platform/process/own-host.ts";
import { ReaderTurns } from "../platform/process/reader-turns.ts";
import { ClusterWatchHealth } from "../platform/shard-view/cluster-watch-health.ts";
import { carriesToken, isProbe, tokenIn } from "./console.access.policy.ts";
import { EventStream, type Follower } from "./console.events.ts";
import { type About, answerTo, answerWaiting, problem, type RouteAnswer } from "./console.routes.ts";
import type { DelegatedAccess } from "./delegated-access.ts";
import { atTheDoor, SILENT_MS } from "./first-request.ts";
import { pageFile } from "./page-files.ts";
import { Readers } from "./readers.ts";
import { type Check, readinessOf } from "./readiness.policy.ts";

/** Unsent bytes at which a page that reads too slowly is disconnected. */
const FOLLOWER_BACKLOG_BYTES_MAX = 1024 * 1024;
/** Requests per connection: what a client sends at once beyond them, Node refuses by itself. */
const REQUESTS_PER_SOCKET_MAX = 100;
/** How old the text of metrics may be, in milliseconds. Scrapers read it every 15 s or so. */
const METRICS_AGE_MAX_MS = 1_000;
/** How often a page that follows is checked again, in milliseconds. */
const FOLLOWER_CHECK_MS = 60_000;
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Headers of every answer: no caching, no content of other sites. */
const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'self'",
  "x-content-type-options": "nosniff",
};

/** The Basic one makes a browser prompt its user for the token. */
const CHALLENGES = ["Bearer", 'Basic realm="vigil", charset="UTF-8"'];
const STREAM_HEADERS = { ...HEADERS, "content-type": "text/event-stream", connection: "keep-alive" };

/** Where a console listens, and what it has from the start. */
export interface FrontOptions {
  readonly host: string;
  /** 0 selects a free one. */
  readonly port: number;
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics: ReadableMetrics;
  /** The turns that its readers share with others of the process; absent for turns of their own. */
  readonly turns?: ReaderTurns;
  /** Public names of the console, besides addresses and names of the cluster. */
  readonly hosts?: readonly string[];
  /** Gives the current token that all requests but probes must carry; null for none. */
  readonly token?: (() => string) | null;
  /** Authorizes requests, except probes, that do not carry that token; null for none. */
  readonly access?: Pick<DelegatedAccess, "decide"> | null;
  /** Gives the current certificate, a new object after each renewal; null for plain HTTP. */
  readonly tls?: (() => ListenTls) | null;
  /** How long a connection may say nothing, in milliseconds; absent for ten seconds. */
  readonly silentMs?: number;
}

/** A certificate with its chain, and its key, in PEM. */
export interface ListenTls {
  readonly cert: string;
  readonly key: string;
}

/** What a console shows once the process runs. */
export interface ShownOptions extends Pick<Io, "clock" | "profile"> {
  /** The console's own bus, on which it subscribes to pulses only. */
  readonly bus: Bus;
  readonly about: About;
  /** Null in a process without a ledger, which serves probes and metrics only. */
  readonly ledger: LedgerReader | null;
  /** The members of its fleet, ready for JSON; rejects with an Error of one line while they are not known. */
  readonly fleet: () => Promise<readonly object[]>;
  /** Checks of the process itself, such as that it is not stopping. */
  readonly ownChecks?: () => readonly Check[];
  /** Why this process does not speak for the cluster, such as that another one leads; null while it does. */
  readonly standby?: () => string | null;
}

/** A listening console. Until `show` it serves liveness, metrics and what the process waits for. */
export interface RunningConsole {
  /** `http://host:port` or `https://host:port`, with the port in use. */
  readonly url: string;
  /** Sets what the process waits for before it can run, such as a server and its address. */
  waitsFor(what: string): void;
  /** Serves everything from now on. To be called once. */
  show(options: ShownOptions): void;
  /** Ends every event stream and stops listening. */
  close(): Promise<void>;
}

interface Serving {
  readonly answer: (url: URL) => RouteAnswer | Promise<RouteAnswer> | null;
  /** Null while there is nothing to follow. */
  readonly stream: () => EventStream | null;
  readonly stop: Stop;
}

/** Starts to listen. Rejects with an Error of one line when the address cannot be used. */
export async function startConsole(front: FrontOptions): Promise<RunningConsole> {
  const { host, port, tls = null, silentMs = SILENT_MS, clock, metrics } = front;
  const readers = new Readers({ turns: front.turns ?? new ReaderTurns(clock), metrics });
  const metricsText = kept(() => metrics.text(), METRICS_AGE_MAX_MS, clock);
  let serving = waiting("starting");
  const server = serverOf({ tls, silentMs }, (request, response) => {
    const answer = (streams: Stop) => void serve(request, response, { front, metricsText, serving, streams });
    const probe = isProbe(urlOf(request)?.pathname ?? "");
    readers.onRequest(request, response, { isProbe: probe, answer, refuse: () => refuse(response) });
  });
  guard(server, tls === null ? "connection" : "secureConnection", { readers, silentMs });
  server.maxRequestsPerSocket = REQUESTS_PER_SOCKET_MAX;
  await listening(server, host, port);
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `${tls === null ? "http" : "https"}://${urlHostOf(host)}:${bound}`,
    waitsFor(what) {
      serving = waiting(`waiting for ${what}`);
    },
    show(options) {
      serving = showing(options);
    },
    async close() {
      serving.stop();
      readers.stop();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function serverOf(
  { tls, silentMs }: { readonly tls: (() => ListenTls) | null; readonly silentMs: number },
  take: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  if (tls === null) return nodeHttp.createServer(take);
  let used = tls();
  const server = createTlsServer({ ...used, handshakeTimeout: silentMs }, take);
  server.prependListener("connection", () => {
    const now = tls();
    if (now === used) return;
    used = now;
    server.setSecureContext({ ...now });
  });
  return server;
}

/** Lets connections into the server by its door. */
function guard(
  server: Server,
  event: "connection" | "secureConnection",
  { readers, silentMs }: { readonly readers: Readers; readonly silentMs: number },
): void {
  const listeners = server.listeners(event);
  server.removeAllListeners(event);
  const admit = (socket: Socket): void => {
    for (const listener of listeners) listener.call(server, socket);
  };
  const refuse = (socket: Socket): void => readers.cut(socket);
  server.on(event, (socket: Socket) => atTheDoor(socket, { silentMs, admit, refuse }));
}

function waiting(why: string): Serving {
  return { answer: (url) => answerWaiting(url, why), stream: () => null, stop: () => {} };
}

function showing(options: ShownOptions): Serving {
  const { about, bus, clock, ledger, fleet, ownChecks, profile, standby = () => null } = options;
  const pulses = bus.latest("observed.pulse");
  const watches = new ClusterWatchHealth(profile, clock.monotonicMs());
  const stream = ledger === null ? null : new EventStream(clock, ledger);
  const readiness = () => {
    for (const { message, receivedMs } of pulses.take()) watches.onPulse(message, receivedMs);
    const watchHealth = watches.report(clock.monotonicMs());
    return readinessOf({ busConnected: bus.connected(), watchHealth, own: ownChecks?.() ?? [] });
  };
  return {
    answer: (url) => pageFile(url.pathname) ?? answerTo(url, { about, ledger, fleet, readiness, standby: standby() }),
    stream: () => (standby() === null ? stream : null),
    stop() {
      pulses.stop();
      stream?.stop();
    },
  };
}

/** What a request is answered from. */
interface Sources {
  readonly front: FrontOptions;
  readonly metricsText: () => Promise<string>;
  readonly serving: Serving;
  /** Called when the answer has become a stream. */
  readonly streams: Stop;
}

async function serve(request: IncomingMessage, response: ServerResponse, sources: Sources): Promise<void> {
  const { front } = sources;
  try {
    const refusal = refusalOf(request, front);
    // Not awaited where it is known: what an answer costs is measured until the first wait.
    const refused = refusal instanceof Promise ? await refusal : refusal;
    if (response.closed) return;
    if (refused === null) {
      await answer(request, response, sources);
      return;
    }
    if (refused.status === 401) response.setHeader("www-authenticate", CHALLENGES);
    send(response, refused);
  } catch (error) {
    front.log.error("console request failed", { path: request.url, error });
    send(response, problem(500, `${request.url}: the console failed on this request; see its log`));
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { front, metricsText, serving, streams }: Sources,
): Promise<void> {
  const { method = "", url: target = "/" } = request;
  const url = urlOf(request);
  const stream = url?.pathname === "/api/stream" ? serving.stream() : null;
  if (method !== "GET" && method !== "HEAD") {
    response.setHeader("allow", "GET, HEAD");
    send(response, problem(405, `${method}: the console is read-only; use GET`));
  } else if (url === null) {
    send(response, problem(400, `${target}: not a path`));
  } else if (url.pathname === "/metrics") {
    send(response, { status: 200, contentType: METRICS_TYPE, body: await metricsText() });
  } else if (stream !== null) {
    if (method === "HEAD") response.writeHead(200, STREAM_HEADERS).end();
    else {
      const isFromNow = url.searchParams.get("from") === "now";
      follow(response, stream, { client: request.socket.remoteAddress ?? "", isFromNow });
      endWhenRefused(response, front);
    }
    streams();
  } else {
    send(response, (await serving.answer(url)) ?? problem(404, `${url.pathname}: no such path`));
  }
}

/** What `make` gives, made again when it is older than that. */
function kept(make: () => Promise<string>, ageMaxMs: number, clock: Clock): () => Promise<string> {
  let made: { readonly atMs: number; readonly text: Promise<string> } | null = null;
  return () => {
    const nowMs = clock.monotonicMs();
    if (made === null || nowMs - made.atMs >= ageMaxMs) made = { atMs: nowMs, text: make() };
    return made.text;
  };
}

/** Refuses requests of readers beyond their share, and ends the connection. */
function refuse(response: ServerResponse): void {
  if (response.destroyed) return;
  response.setHeader("retry-after", 1);
  response.setHeader("connection", "close");
  send(response, problem(503, "the console answers other requests; ask again in a second"));
}

function urlOf({ url = "/" }: IncomingMessage): URL | null {
  return URL.parse(url, "http://console");
}

/** Why a request is refused; null when it may be answered. */
function refusalOf(
  request: IncomingMessage,
  { hosts = [], token = null, access = null }: FrontOptions,
): RouteAnswer | null | Promise<RouteAnswer | null> {
  const { host, authorization } = request.headers;
  if (!isOwnHost(host, hosts)) {
    const name = JSON.stringify(host);
    return problem(403, `Host ${name}: not a name of this console; use its address, or add it to --listen-hosts`);
  }
  const url = urlOf(request);
  if ((token === null && access === null) || (url !== null && isProbe(url.pathname))) return null;
  if (token !== null && carriesToken(authorization, token())) return null;
  if (access === null) {
    return problem(401, "this console requires its token; give it with --token-file, or as the password in a browser");
  }
  return access
    .decide({ token: tokenIn(authorization), path: url?.pathname ?? "" })
    .then((decision) => (decision === "ok" ? null : problem(decision.status, decision.problem)));
}

function follow(response: ServerResponse, stream: EventStream, page: Pick<Follower, "client" | "isFromNow">): void {
  response.writeHead(200, STREAM_HEADERS);
  const follower: Follower = {
    ...page,
    send(text) {
      response.write(text);
      return response.writableLength <= FOLLOWER_BACKLOG_BYTES_MAX;
    },
    end: () => response.destroy(),
  };
  response.on("close", () => stream.leave(follower));
  if (!stream.follow(follower)) response.end("event: full\ndata: {}\n\n");
}

/**
 * Ends the stream of a client whose token no longer allows it. A check without an answer, as when the API is away, ends
 * no stream.
 */
function endWhenRefused(response: ServerResponse, front: FrontOptions): void {
  const { token = null, access = null, clock } = front;
  if (token === null && access === null) return;
  const check = async (): Promise<void> => {
    const refused = await refusalOf(response.req, front);
    if (refused !== null && refused.status !== 503) response.destroy();
    if (!response.destroyed) timer = later();
  };
  const later = (): Timer => clock.after(FOLLOWER_CHECK_MS, () => void check());
  let timer = later();
  response.once("close", () => timer.cancel());
}

function send(response: ServerResponse, { status, contentType, body }: RouteAnswer): void {
  response.writeHead(status, { ...HEADERS, "content-type": contentType, "content-length": Buffer.byteLength(body) });
  response.end(response.req.method === "HEAD" ? undefined : body);
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(new Error(`cannot listen on ${host}:${port}: ${listenProblem(error)}`, { cause: error }));
    });
    // Without a host Node listens on every address, also on a machine without IPv6.
    server.listen({ port, ...(host === "" ? {} : { host }) }, resolve);
  });
}

function urlHostOf(host: string): string {
  if (host === "") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}
