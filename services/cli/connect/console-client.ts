/** HTTP client of the console of a running process; the server is in services/console. */
import type http from "node:http";
import https from "node:https";
import { text as textIn } from "node:stream/consumers";
import type { Clock } from "../../../protocols/ports.ts";
import { switchSetting, textSetting } from "../../platform/config/setting-builders.ts";
import { ConfigProblem, type ValuesOf } from "../../platform/config/value.ts";
import { nodeHttp } from "../../platform/process/node-http.ts";
import { parsed } from "../../structures/json.ts";
import { Failure, type Host } from "../verb.ts";
import { certificateIn, tokenIn } from "./credential-files.ts";

const SERVER = "http://127.0.0.1:8080";
/** The variable of the environment that names a console for every verb. */
export const SERVER_VARIABLE = "VIGIL_SERVER";

/** Flags of verbs that query the console. */
export const CONSOLE_SETTINGS = {
  server: textSetting(
    "server",
    SERVER,
    `Console of a running process with a ledger, as in its --listen; without it ${SERVER_VARIABLE}, or ${SERVER}.`,
  ),
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
type ConsoleClientHost = Pick<Host, "stopped" | "readFile" | "environment">;

/** The address of the console, and which flag or variable it comes from. */
export function consoleAt(
  { server }: Pick<ConsoleAddress, "server">,
  { environment }: Pick<Host, "environment">,
): { readonly server: string; readonly from: string } {
  if (server !== "") return { server, from: "--server" };
  const named = environment[SERVER_VARIABLE] ?? "";
  return named === "" ? { server: SERVER, from: "the default" } : { server: named, from: SERVER_VARIABLE };
}

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
  throw new Failure(errorIn(answer) ?? notAConsole(url, statusCode, consoleAt(at, host).from));
}

/** The text under a path of the console, such as its metrics. Throws as getFromConsole does. */
export async function textFromConsole(at: ConsoleAddress, path: string, host: ConsoleClientHost): Promise<string> {
  const { url, statusCode, text } = await answerOf(at, path, host);
  if (statusCode === 200) return text;
  throw new Failure(errorIn(parsed(text)) ?? notAConsole(url, statusCode, consoleAt(at, host).from));
}

function notAConsole(url: URL, statusCode: number, from: string): string {
  const fix = from === "the default" ? "name one with --server" : `check ${from}`;
  return `${url.href} answers ${statusCode}: not a Vigil console; ${fix}`;
}

interface ConsoleText {
  readonly url: URL;
  readonly statusCode: number;
  readonly text: string;
}

/** One server-sent event. */
export interface ConsoleEvent {
  readonly name: string;
  readonly data: unknown;
}

/**
 * The events of a stream of the console, until the process is stopped. Throws a ConfigProblem for wrong flags, and a
 * Failure when there is no such stream, when it ends, or when it sends nothing for as long as an answer may take: a
 * console sends a snapshot each second.
 */
export async function* eventsFromConsole(
  at: ConsoleAddress,
  path: string,
  host: ConsoleClientHost,
  clock: Clock,
): AsyncGenerator<ConsoleEvent> {
  const silence = new AbortController();
  const startTimer = () => clock.after(ANSWER_MS_MAX, () => silence.abort());
  let timer = startTimer();
  try {
    const { url, response, failure } = await responseFrom(at, path, host, silence.signal);
    const { statusCode = 0, headers } = response;
    if (statusCode !== 200 || !headers["content-type"]?.startsWith("text/event-stream")) {
      const refusal = errorIn(parsed(await textIn(response)));
      throw new Failure(refusal ?? notAConsole(url, statusCode, consoleAt(at, host).from));
    }
    try {
      for await (const event of eventsIn(response)) {
        timer.cancel();
        timer = startTimer();
        yield event;
      }
    } catch (error) {
      if (host.stopped.aborted || !(error instanceof Error)) return;
      throw failure(error, (why) => `${url.href}: the stream was cut off: ${why}`);
    }
    if (!host.stopped.aborted) throw new Failure(`${url.href}: the console has ended the stream`);
  } finally {
    timer.cancel();
  }
}

async function* eventsIn(response: http.IncomingMessage): AsyncGenerator<ConsoleEvent> {
  let rest = "";
  for await (const chunk of response.setEncoding("utf8")) {
    const events = `${rest}${chunk}`.split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(event) ?? [];
      if (name !== undefined && data !== undefined) yield { name, data: parsed(data) };
    }
  }
}

async function answerOf(at: ConsoleAddress, path: string, host: ConsoleClientHost): Promise<ConsoleText> {
  const timeout = AbortSignal.timeout(ANSWER_MS_MAX);
  const { url, response, failure } = await responseFrom(at, path, host, timeout);
  const text = await textIn(response).catch((error: Error) => {
    throw failure(error, (why) => `${url.href}: the answer was cut off: ${why}`);
  });
  return { url, statusCode: response.statusCode ?? 0, text };
}

/** The beginning of an answer, and what makes a Failure of an error of it. Aborted by the signal or a stop. */
async function responseFrom(at: ConsoleAddress, path: string, host: ConsoleClientHost, timeout: AbortSignal) {
  const { server, from } = consoleAt(at, host);
  const url = urlOf(at, path, host);
  const options = optionsOf(at, host);
  const { stopped } = host;
  const signal = AbortSignal.any([stopped, timeout]);
  const failure = (error: Error, line: (why: string) => string) =>
    new Failure(stopped.aborted ? "interrupted before the console answered" : line(reasonOf(error, signal)));
  const response = await responseOf(url, { ...options, signal }).catch((error: Error) => {
    const hint = `start vigil run with --listen, or name its address with --server or ${SERVER_VARIABLE}`;
    throw failure(error, (why) => `no console at ${server} (${from}): ${why}; ${hint}`);
  });
  return { url, response, failure };
}

function urlOf(at: ConsoleAddress, path: string, host: ConsoleClientHost): URL {
  const { tokenFile, allowTokenOverHttp } = at;
  const { server, from } = consoleAt(at, host);
  const url = URL.parse(path, server);
  if (url === null || !SCHEMES.includes(url.protocol)) {
    throw new ConfigProblem(`${from}=${server}: not a URL; write it as ${SERVER}`);
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
    const request = (url.protocol === "https:" ? https : nodeHttp).request(url, { ...options, agent: false }, resolve);
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
