/** Asks the console of a running process over HTTP. What it answers is decided in services/console. */
import http from "node:http";
import https from "node:https";
import { text as textIn } from "node:stream/consumers";
import { ConfigProblem, type Setting, type ValuesOf } from "../platform/config/value.ts";
import { parsed } from "../platform/structures/json.ts";
import { certificateIn, tokenIn } from "./credential-files.ts";
import { Failure, type Host } from "./verb.ts";

/** Where the console is, and what it and its server are known by. */
export const CONSOLE_SETTINGS = {
  server: {
    unit: "text",
    flag: "server",
    standard: "http://127.0.0.1:8080",
    meaning: "Console of a running process that has a ledger, as given to it by --listen.",
    example: "http://127.0.0.1:8080",
  } as Setting<string>,
  serverCa: {
    unit: "text",
    flag: "server-ca",
    standard: "",
    meaning: "Certificate authority that a console with https:// is checked against; without it the usual ones.",
    example: "ca.pem",
  } as Setting<string>,
  tokenFile: {
    unit: "text",
    flag: "token-file",
    standard: "",
    meaning: "File with the token that the console was given by --listen-token-file.",
    example: "console.token",
  } as Setting<string>,
  allowTokenOverHttp: {
    unit: "switch",
    flag: "allow-token-over-http",
    standard: false,
    meaning: "Send the token to http:// too, where it can be read on the way.",
  } as Setting<boolean>,
} as const;

/** A value for each of them. */
export type ConsoleAddress = Readonly<ValuesOf<typeof CONSOLE_SETTINGS>>;
type ConsoleClientHost = Pick<Host, "stopped" | "readFile">;

const ANSWER_MS_MAX = 10_000;
const SCHEMES: readonly string[] = ["http:", "https:"];

/**
 * The JSON under a path of the console. Throws a ConfigProblem when the flags do not say how to ask, else a Failure of
 * one line, also when the process is asked to end.
 */
export async function getFromConsole<T>(at: ConsoleAddress, path: string, host: ConsoleClientHost): Promise<T> {
  const { server } = at;
  const url = urlOf(at, path);
  const options = optionsOf(at, host);
  const { stopped } = host;
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(ANSWER_MS_MAX)]);
  const failure = (error: Error, told: (why: string) => string) =>
    new Failure(stopped.aborted ? "interrupted before the console answered" : told(reasonOf(error, signal)));
  const response = await responseOf(url, { ...options, signal }).catch((error: Error) => {
    const hint = "start vigil run with --listen, or name another with --server";
    throw failure(error, (why) => `no console at ${server}: ${why}; ${hint}`);
  });
  const text = await textIn(response).catch((error: Error) => {
    throw failure(error, (why) => `${url.href} broke off its answer: ${why}`);
  });
  const answer = parsed(text) ?? null;
  const { statusCode = 0 } = response;
  if (statusCode === 200 && answer !== null) return answer as T;
  throw new Failure(errorIn(answer) ?? `${url.href} answers ${statusCode}: not a console of Vigil`);
}

function urlOf({ server, tokenFile, allowTokenOverHttp }: ConsoleAddress, path: string): URL {
  const url = URL.parse(path, server);
  if (url === null || !SCHEMES.includes(url.protocol)) {
    throw new ConfigProblem(`--server=${server}: not a URL; write it as ${CONSOLE_SETTINGS.server.example}`);
  }
  if (url.protocol === "http:" && tokenFile !== "" && !allowTokenOverHttp) {
    const fix = "write --server=https://…, or give --allow-token-over-http";
    throw new ConfigProblem(`--token-file=${tokenFile}: its token could be read on the way to ${server}; ${fix}`);
  }
  return url;
}

function optionsOf({ serverCa, tokenFile }: ConsoleAddress, host: ConsoleClientHost): https.RequestOptions {
  if (serverCa !== "") certificateIn(host, "server-ca", serverCa);
  return {
    ...(serverCa === "" ? {} : { ca: host.readFile(serverCa) }),
    ...(tokenFile === "" ? {} : { headers: { authorization: `Bearer ${tokenIn("token-file", tokenFile, host)}` } }),
  };
}

/** The head of an answer, its body yet to be read. No redirect is followed: it could lead a token elsewhere. */
function responseOf(url: URL, options: https.RequestOptions): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asked = (url.protocol === "https:" ? https : http).request(url, { ...options, agent: false }, resolve);
    asked.once("error", reject).end();
  });
}

function reasonOf(error: NodeJS.ErrnoException, signal: AbortSignal): string {
  if (signal.aborted) return `no answer within ${ANSWER_MS_MAX / 1000} s`;
  // OpenSSL tells this on two lines, and in its own source's terms.
  if (/wrong version number/i.test(error.message)) return "no TLS is spoken there, write it with http://";
  const inner = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  return inner.message;
}

function errorIn(answer: unknown): string | null {
  if (typeof answer !== "object" || answer === null || !("error" in answer)) return null;
  return typeof answer.error === "string" ? answer.error : null;
}
