/** Asks an API server for its version. */
import type { Clock, Wire } from "../../../../protocols/ports.ts";
import { parsed, recordOf, textOf } from "../../structures/json.ts";
import { call } from "../transport/call.ts";

/** A version of Kubernetes, such as 1.28. */
export interface ServerVersion {
  readonly major: number;
  readonly minor: number;
}

const PATH = "/version";
const TIMEOUT_MS = 10_000;

/** The version of the API server, which needs no rights; null where it does not say. */
export function serverVersion(io: { readonly wire: Wire; readonly clock: Clock }): Promise<ServerVersion | null> {
  const request = { method: "GET", path: PATH, headers: { accept: "application/json" }, body: null };
  return new Promise((resolve) => {
    call(io, request, TIMEOUT_MS, (answer) => {
      resolve(answer.kind === "answer" && answer.status === 200 ? readVersion(answer.text) : null);
    });
  });
}

/** The version in an answer; null for none. Providers write suffixes, as in the minor version `28+`. */
function readVersion(text: string): ServerVersion | null {
  const { major, minor } = recordOf(parsed(text));
  const [first, second] = [major, minor].map((part) => Number.parseInt(textOf(part) ?? "", 10));
  if (first === undefined || second === undefined || Number.isNaN(first + second)) return null;
  return { major: first, minor: second };
}
