/** Asks the console of a running process over HTTP. What it answers is decided in services/console. */
import { ConfigProblem, type Setting } from "../runtime/config.value.ts";
import { parsed } from "../runtime/kube.json.ts";
import { Failure, type Host } from "./verb.ts";

/** Where the console is. */
export const CONSOLE_SETTINGS = {
  server: {
    unit: "text",
    flag: "server",
    standard: "http://127.0.0.1:8080",
    meaning: "Console of a running process that has a ledger, as given to it by --listen.",
    example: "http://127.0.0.1:8080",
  } as Setting<string>,
} as const;

const ANSWER_MS_MAX = 10_000;
const SCHEMES: readonly string[] = ["http:", "https:"];

/**
 * The JSON under a path of the console. Throws a ConfigProblem when the server is no URL, else a Failure of one line,
 * also when the process is asked to end.
 */
export async function askConsole<T>(server: string, path: string, { stopped }: Pick<Host, "stopped">): Promise<T> {
  const url = URL.parse(path, server);
  if (url === null || !SCHEMES.includes(url.protocol)) {
    throw new ConfigProblem(`--server=${server}: not a URL; write it as ${CONSOLE_SETTINGS.server.example}`);
  }
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(ANSWER_MS_MAX)]);
  const failure = (error: Error, told: (why: string) => string) =>
    new Failure(stopped.aborted ? "interrupted before the console answered" : told(reasonOf(error)));
  const response = await fetch(url, { signal }).catch((error: Error) => {
    const hint = "start vigil run with --listen, or name another with --server";
    throw failure(error, (why) => `no console at ${server}: ${why}; ${hint}`);
  });
  const text = await response.text().catch((error: Error) => {
    throw failure(error, (why) => `${url.href} broke off its answer: ${why}`);
  });
  const answer = parsed(text) ?? null;
  if (response.ok && answer !== null) return answer as T;
  throw new Failure(errorIn(answer) ?? `${url.href} answers ${response.status}: not a console of Vigil`);
}

function reasonOf({ cause, message }: Error): string {
  const { code, message: reason }: NodeJS.ErrnoException = cause instanceof Error ? cause : { name: "", message };
  // OpenSSL tells this on two lines, and in its own source's terms.
  return code === "ERR_SSL_WRONG_VERSION_NUMBER" ? "no TLS is spoken there, write it with http://" : reason;
}

function errorIn(answer: unknown): string | null {
  if (typeof answer !== "object" || answer === null || !("error" in answer)) return null;
  return typeof answer.error === "string" ? answer.error : null;
}
