/**
 * Checks that an API server is reachable and accepts our credentials: a start with a wrong address or token fails with
 * one clear line.
 */
import type { Clock, Wire } from "../../../../protocols/ports.ts";
import { type Answer, call } from "../transport/call.ts";
import { refusalOf } from "../transport/outcome.policy.ts";
import { collectionPath } from "../transport/paths.ts";

/** A user waits at a terminal no longer than this. */
const CHECK_TIMEOUT_MS = 10_000;

/** Why a server cannot be used now, in one line that names the fix; `final` when waiting cannot help. */
export interface ServerProblem {
  readonly message: string;
  readonly final: boolean;
}

const CERTIFICATE_FAULT = /certificate|self[- ]signed|altname|wrong version number/i;

/** The first request of a process: a small read that its permissions allow. */
const FIRST_READS = {
  /** An observer lists nodes. A list from the cache (resourceVersion=0) would ignore the limit and bring them all. */
  "list nodes": `${collectionPath("Node", "")}?limit=1`,
  /** Any account may read this; a writer need not be able to list anything. */
  "ask for its version": "/version",
} as const;

/** The name of a first read. */
export type FirstRead = keyof typeof FIRST_READS;

/** Null when the server answers the first read; otherwise the problem. */
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
