/**
 * Asks an API server whether it is there and lets us in, so that a start with a wrong address or token ends with one
 * clear line.
 */
import type { Clock, Wire } from "../../protocols/ports.ts";
import { type Answer, call } from "./kube.call.ts";
import { refusalOf } from "./kube.outcome.policy.ts";
import { collectionPath } from "./kube.paths.ts";

/** Someone who waits at a terminal is told after this. */
const CHECK_TIMEOUT_MS = 10_000;

/** Null when nodes can be listed; otherwise one line that says what is wrong and what to do. */
export function checkServer(
  io: { readonly wire: Wire; readonly clock: Clock },
  server: string,
): Promise<string | null> {
  const path = `${collectionPath("Node", "")}?limit=1&resourceVersion=0`;
  return new Promise((resolve) => {
    call(io, { method: "GET", path, headers: { accept: "application/json" }, body: null }, CHECK_TIMEOUT_MS, (answer) =>
      resolve(problemIn(answer, server)),
    );
  });
}

function problemIn(answer: Answer, server: string): string | null {
  if (answer.kind === "lost") return `cannot reach the API server: ${answer.message}`;
  if (answer.status === 200) return null;
  const { message, status } = refusalOf(answer);
  if (status === 401) return `the API server ${server} does not accept our credentials: ${message}`;
  if (status === 403) return `the API server ${server} does not let us list nodes: ${message}`;
  return `the API server ${server} does not answer as one: ${message}`;
}
