/** The console's sockets: probes, metrics, the read-only API, the event stream and the page. An edge: it may wait. */
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { LedgerReader } from "../../protocols/ledger-reader.ts";
import type { Bus, Clock, Log, Stop } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { listenProblem } from "../platform/config/address.ts";
import { ClusterWatchHealth } from "../platform/shard-view/cluster-watch-health.ts";
import { carriesToken, isOwnHost, isProbe, tokenIn } from "./console.access.policy.ts";
import { EventStream, type Follower } from "./console.events.ts";
import { type About, answerTo, answerWaiting, problem, type RouteAnswer } from "./console.routes.ts";
import type { DelegatedAccess } from "./delegated-access.ts";
import { type Check, readinessOf } from "./readiness.policy.ts";

/** Bytes that may wait for a page that reads slowly, before it is let go. */
const FOLLOWER_BACKLOG_BYTES_MAX = 1024 * 1024;
/** Requests answered on one connection: they may be sent all at once, and their answers never read. */
export const REQUESTS_PER_SOCKET_MAX = 100;
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Headers of every answer: nothing is cached, nothing is loaded from elsewhere. */
const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'self'",
  "x-content-type-options": "nosniff",
};

/** A browser asks its user for a password. */
const CHALLENGES = ["Bearer", 'Basic realm="vigil", charset="UTF-8"'];

const STREAM_HEADERS = { ...HEADERS, "content-type": "text/event-stream", connection: "keep-alive" };

/** The files of the page by the path they are served under. */
const PAGE: ReadonlyMap<string, RouteAnswer> = new Map(
  (
    [
      ["/", "index.html", "text/html; charset=utf-8"],
      ["/page.css", "page.css", "text/css; charset=utf-8"],
      ["/page.js", "page.js", "text/javascript; charset=utf-8"],
      ["/icon.svg", "icon.svg", "image/svg+xml"],
    ] as const
  ).map(([path, file, contentType]) => {
    const body = readFileSync(new URL(`./page/${file}`, import.meta.url), "utf8");
    return [path, { status: 200, contentType, body }];
  }),
);

/** Where a console listens, and what it has from the beginning. */
export interface FrontOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly log: Log;
  readonly metricsText: () => Promise<string>;
  /** Public host names that the console is asked under, besides addresses and names of the cluster. */
  readonly hosts?: readonly string[];
  /** The token that all but probes must carry, as it is now; null for none. */
  readonly token?: (() => string) | null;
  /** Decides about requests, but for probes, that do not carry that token; null where nobody is asked. */
  readonly access?: Pick<DelegatedAccess, "decide"> | null;
  /** The certificate to speak TLS with, as it is now: another object when it was read again. Null for plain HTTP. */
  readonly tls?: (() => ListenTls) | null;
}

/** A certificate, with what leads to its authority, and its key, in PEM. */
export interface ListenTls {
  readonly cert: string;
  readonly key: string;
}

/** What a console shows once the process runs. */
export interface ShownOptions {
  readonly clock: Clock;
  /** The console's own bus: it listens to pulses only. */
  readonly bus: Bus;
  readonly profile: Profile;
  readonly about: About;
  /** Null in a process without a ledger: then there are probes and metrics only. */
  readonly ledger: LedgerReader | null;
  /** What only the process can tell, such as that it is stopping. */
  readonly ownChecks?: () => readonly Check[];
}

/** A listening console. Until there is something to show it tells that the process lives, and what it waits for. */
export interface RunningConsole {
  /** `http://host:port` or `https://host:port`, with the port it really got. */
  readonly url: string;
  /** Names what the process waits for before it can run, such as a server and its address. */
  waitsFor(what: string): void;
  /** Shows everything from now on. To be called once. */
  show(options: ShownOptions): void;
  /** Lets every page go and stops listening. */
  close(): Promise<void>;
}

/** What is answered at present; a stream is there once there is something to follow. */
interface Serving {
  readonly answer: (url: URL) => RouteAnswer | Promise<RouteAnswer> | null;
  readonly stream: EventStream | null;
  readonly stop: Stop;
}

/** Starts to listen. Rejects with an Error of one line when the address cannot be had. */
export async function startConsole(front: FrontOptions): Promise<RunningConsole> {
  const { host, port, tls = null } = front;
  let serving = waiting("starting");
  const server = serverOf(tls, (request, response) => serve(request, response, front, serving));
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
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function serverOf(
  tls: (() => ListenTls) | null,
  take: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  if (tls === null) return createServer(take);
  let used = tls();
  const server = createTlsServer({ ...used }, take);
  server.prependListener("connection", () => {
    const now = tls();
    if (now === used) return;
    used = now;
    server.setSecureContext({ ...now });
  });
  return server;
}

function waiting(why: string): Serving {
  return { answer: (url) => answerWaiting(url, why), stream: null, stop: () => {} };
}

function showing({ about, bus, clock, ledger, ownChecks, profile }: ShownOptions): Serving {
  const pulses = bus.latest("observed.pulse");
  const sight = new ClusterWatchHealth(profile, clock.monotonicMs());
  const look = () => {
    for (const { message, receivedMs } of pulses.take()) sight.take(message, receivedMs);
    return sight.report(clock.monotonicMs());
  };
  const stream = ledger === null ? null : new EventStream(clock, ledger);
  const readiness = () => readinessOf({ busConnected: bus.connected(), watchHealth: look(), own: ownChecks?.() ?? [] });
  return {
    answer: (url) => PAGE.get(url.pathname) ?? answerTo(url, { about, ledger, readiness }),
    stream,
    stop() {
      pulses.stop();
      stream?.stop();
    },
  };
}

function serve(request: IncomingMessage, response: ServerResponse, front: FrontOptions, serving: Serving): void {
  const proceed = (refused: RouteAnswer | null): void => {
    if (refused === null) answer(request, response, front, serving);
    else refuse(response, refused);
  };
  const fail = (error: unknown): void => {
    front.log.error("the console failed on a request", { path: request.url, error });
    send(response, problem(500, "the console failed on this request, see the log"));
  };
  try {
    const refused = refusalOf(request, front);
    if (refused instanceof Promise) refused.then((found) => response.closed || proceed(found)).catch(fail);
    else proceed(refused);
  } catch (error) {
    fail(error);
  }
}

function refuse(response: ServerResponse, refused: RouteAnswer): void {
  if (refused.status === 401) response.setHeader("www-authenticate", CHALLENGES);
  send(response, refused);
}

function answer(request: IncomingMessage, response: ServerResponse, front: FrontOptions, serving: Serving): void {
  const { method = "", url: target = "/" } = request;
  const url = urlOf(request);
  if (method !== "GET" && method !== "HEAD") {
    response.setHeader("allow", "GET, HEAD");
    send(response, problem(405, `${method}: the console only answers, use GET`));
  } else if (url === null) {
    send(response, problem(400, `${target}: not a path`));
  } else if (url.pathname === "/metrics") {
    sendMetrics(response, front);
  } else if (url.pathname === "/api/stream" && serving.stream !== null) {
    if (method === "HEAD") response.writeHead(200, STREAM_HEADERS).end();
    else follow(response, serving.stream, request.socket.remoteAddress ?? "");
  } else {
    sendLater(response, serving.answer(url) ?? problem(404, `${url.pathname}: not here`), front);
  }
}

function urlOf({ url = "/" }: IncomingMessage): URL | null {
  return URL.parse(url, "http://console");
}

/** Why a request is not even looked at; null when it may be answered. */
function refusalOf(
  request: IncomingMessage,
  { hosts = [], token = null, access = null }: FrontOptions,
): RouteAnswer | null | Promise<RouteAnswer | null> {
  const { headers } = request;
  if (!isOwnHost(headers.host, hosts)) {
    const name = JSON.stringify(headers.host);
    return problem(403, `Host ${name}: not a name of this console; ask by address, or name it with --listen-hosts`);
  }
  const url = urlOf(request);
  if ((token === null && access === null) || (url !== null && isProbe(url.pathname))) return null;
  if (token !== null && carriesToken(headers.authorization, token())) return null;
  if (access !== null) return refusalBy(access, tokenIn(headers.authorization), url?.pathname ?? "");
  return problem(401, "this console answers to its token only; give it with --token-file, or as a password");
}

async function refusalBy(
  access: Pick<DelegatedAccess, "decide">,
  token: string,
  path: string,
): Promise<RouteAnswer | null> {
  const decision = await access.decide({ token, path });
  return decision === "ok" ? null : problem(decision.status, decision.problem);
}

function sendLater(response: ServerResponse, answer: RouteAnswer | Promise<RouteAnswer>, { log }: FrontOptions): void {
  if (!(answer instanceof Promise)) {
    send(response, answer);
    return;
  }
  answer.then(
    (later) => send(response, later),
    (error) => {
      log.error("the console failed on a request", { path: response.req.url, error });
      send(response, problem(500, "the console failed on this request, see the log"));
    },
  );
}

function sendMetrics(response: ServerResponse, { metricsText, log }: FrontOptions): void {
  metricsText().then(
    (body) => send(response, { status: 200, contentType: METRICS_TYPE, body }),
    (error) => {
      log.error("metrics could not be read out", { error });
      send(response, problem(500, "metrics could not be read out, see the log"));
    },
  );
}

function follow(response: ServerResponse, stream: EventStream, client: string): void {
  response.writeHead(200, STREAM_HEADERS);
  const follower: Follower = {
    client,
    send(text) {
      response.write(text);
      return response.writableLength <= FOLLOWER_BACKLOG_BYTES_MAX;
    },
    end: () => response.destroy(),
  };
  response.on("close", () => stream.leave(follower));
  if (!stream.follow(follower)) response.end("event: full\ndata: {}\n\n");
}

function send(response: ServerResponse, { status, contentType, body }: RouteAnswer): void {
  response.writeHead(status, { ...HEADERS, "content-type": contentType, "content-length": Buffer.byteLength(body) });
  response.end(response.req.method === "HEAD" ? undefined : body);
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(new Error(`listen: ${host}:${port} cannot be had: ${listenProblem(error)}`, { cause: error }));
    });
    // Without a host Node takes every address that there is, also on a machine without IPv6.
    server.listen({ port, ...(host === "" ? {} : { host }) }, resolve);
  });
}

function urlHostOf(host: string): string {
  if (host === "") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}
