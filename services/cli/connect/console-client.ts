/** HTTP client of the console of a running process; the server is in services/console. */
import http from "node:http";
import https from "node:https";
import { text as textIn } from "node:stream/consumers";
import { switchSetting, textSetting } from "../../platform/config/setting-builders.ts";
import { ConfigProblem, type ValuesOf } from "../../platform/config/value.ts";
import { parsed } from "../../structures/json.ts";
import { Failure, type Host } from "../verb.ts";
import { certificateIn, tokenIn } from "./credential-files.ts";

const SERVER = "http://127.0.0.1:8080";

/** Flags of verbs that query the console. */
export const CONSOLE_SETTINGS = {
  server: textSetting("server", SERVER, "Console of a running process with a ledger, as in its --listen.", SERVER),
  serverCa: textSetting(
    "server-ca",
    "ca.pem",
    "Certificate authority that signed an https:// console's certificate; without it the public ones.",
  ),
  tokenFile: textSetting(
    "token-file",
    "console.token",
    "File with the console's token, as in its --listen-token-file.",
  ),
  allowTokenOverHttp: switchSetting(
    "allow-token-over-http",
    false,
    "Send the token to an http:// console too, where it can be read on the way.",
  ),
} as const;

/** The values of CONSOLE_SETTINGS. */
export type ConsoleAddress = Readonly<ValuesOf<typeof CONSOLE_SETTINGS>>;
type ConsoleClientHost = Pick<Host, "stopped" | "readFile">;

const ANSWER_MS_MAX = 10_000;
const SCHEMES: readonly string[] = ["http:", "https:"];

/**
 * The JSON under a path of the console. Throws a ConfigProblem for wrong flags, a Failure for any other problem and on
 * a stop.
 */
export async function getFromConsole<T>(at: ConsoleAddress, path: string, host: ConsoleClientHost): Promise<T> {
  const { url, statusCode, text } = await answerOf(at, path, host);
  const answer = parsed(text) ?? null;
  if (statusCode === 200 && answer !== null) return answer as T;
  throw new Failure(errorIn(answer) ?? notAConsole(url, statusCode));
}

/** The text under a path of the console, such as its metrics. Throws as getFromConsole does. */
export async function textFromConsole(at: ConsoleAddress, path: string, host: ConsoleClientHost): Promise<string> {
  const { url, statusCode, text } = await answerOf(at, path, host);
  if (statusCode === 200) return text;
  throw new Failure(errorIn(parsed(text)) ?? notAConsole(url, statusCode));
}

function notAConsole(url: URL, statusCode: number): string {
  return `${url.href} answers ${statusCode}: not a Vigil console; check --server`;
}

interface ConsoleText {
  readonly url: URL;
  readonly statusCode: number;
  readonly text: string;
}

async function answerOf(at: ConsoleAddress, path: string, host: ConsoleClientHost): Promise<ConsoleText> {
  const { server } = at;
  const url = urlOf(at, path);
  const options = optionsOf(at, host);
  const { stopped } = host;
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(ANSWER_MS_MAX)]);
  const failure = (error: Error, line: (why: string) => string) =>
    new Failure(stopped.aborted ? "interrupted before the console answered" : line(reasonOf(error, signal)));
  const response = await responseOf(url, { ...options, signal }).catch((error: Error) => {
    const hint = "start vigil run with --listen, or name its address with --server";
    throw failure(error, (why) => `no console at ${server}: ${why}; ${hint}`);
  });
  const text = await textIn(response).catch((error: Error) => {
    throw failure(error, (why) => `${url.href}: the answer was cut off: ${why}`);
  });
  return { url, statusCode: response.statusCode ?? 0, text };
}

function urlOf({ server, tokenFile, allowTokenOverHttp }: ConsoleAddress, path: string): URL {
  const url = URL.parse(path, server);
  if (url === null || !SCHEMES.includes(url.protocol)) {
    throw new ConfigProblem(`--server=${server}: not a URL; write it as ${SERVER}`);
  }
  if (url.protocol === "http:" && tokenFile !== "" && !allowTokenOverHttp) {
    const fix = "use --server=https://…, or add --allow-token-over-http";
    throw new ConfigProblem(`--token-file=${tokenFile}: the token can be read on the way to ${server}; ${fix}`);
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

/** The response without its body. Follows no redirect, which could send the token to another server. */
function responseOf(url: URL, options: https.RequestOptions): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = (url.protocol === "https:" ? https : http).request(url, { ...options, agent: false }, resolve);
    request.once("error", reject).end();
  });
}

function reasonOf(error: NodeJS.ErrnoException, signal: AbortSignal): string {
  if (signal.aborted) return `no answer within ${ANSWER_MS_MAX / 1000} s`;
  // OpenSSL's own message has two lines and names its source files.
  if (/wrong version number/i.test(error.message)) return "the server does not use TLS, write it with http://";
  const inner = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  return inner.message;
}

function errorIn(answer: unknown): string | null {
  if (typeof answer !== "object" || answer === null || !("error" in answer)) return null;
  return typeof answer.error === "string" ? answer.error : null;
}
