/**
 * Asks an API server whether it is there and lets us in, so that a start with a wrong address or token ends with one
 * clear line.
 */
import type { Clock, Wire } from "../../../../protocols/ports.ts";
import { type Answer, call } from "../transport/call.ts";
import { refusalOf } from "../transport/outcome.policy.ts";
import { collectionPath } from "../transport/paths.ts";

/** Someone who waits at a terminal is told after this. */
const CHECK_TIMEOUT_MS = 10_000;

/** Why a server is of no use now; `final` when waiting cannot help. The message is one line that says what to do. */
export interface ServerProblem {
  readonly message: string;
  readonly final: boolean;
}

const CERTIFICATE_FAULT = /certificate|self[- ]signed|altname|wrong version number/i;

/** What a process asks first: something small that it is allowed if it is allowed its work. */
const FIRST_READS = {
  /** Who observes lists nodes. */
  "list nodes": `${collectionPath("Node", "")}?limit=1&resourceVersion=0`,
  /** Everyone with an account may; who only writes need not be able to list anything. */
  "ask for its version": "/version",
} as const;

/** The name of a first look. */
export type FirstRead = keyof typeof FIRST_READS;

/** Null when the server answers the first look; otherwise what is wrong. */
export function checkServer(
  io: { readonly wire: Wire; readonly clock: Clock },
  server: string,
  read: FirstRead = "list nodes",
): Promise<ServerProblem | null> {
  const request = { method: "GET", path: FIRST_READS[read], headers: { accept: "application/json" }, body: null };
  return new Promise((resolve) => {
    call(io, request, CHECK_TIMEOUT_MS, (answer) => resolve(problemIn(answer, server, read)));
  });
}

function problemIn(answer: Answer, server: string, read: FirstRead): ServerProblem | null {
  if (answer.kind === "lost") {
    const { message } = answer;
    return { message: `cannot reach the API server: ${message}`, final: CERTIFICATE_FAULT.test(message) };
  }
  if (answer.status === 200) return null;
  const { message, status } = refusalOf(answer);
  return {
    message: `the API server ${server} ${faultOf(status, read)}: ${message}`,
    final: status < 500 && status !== 429,
  };
}

function faultOf(status: number, read: FirstRead): string {
  if (status === 401) return "does not accept our credentials";
  if (status === 403) return `does not let us ${read}`;
  return "does not answer as one";
}
