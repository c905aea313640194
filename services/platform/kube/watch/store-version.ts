/** Reads how new an API server's store is: the version of a list of one item, which no cache answers. */
import type { Clock, Wire } from "../../../../protocols/ports.ts";
import { parsed, recordOf, textOf } from "../../../structures/json.ts";
import { call } from "../transport/call.ts";
import { refusalOf } from "../transport/outcome.policy.ts";
import type { StreamEnd } from "./stream.ts";

/** The version of a store, or why it is not known. */
export type StoreVersion =
  | { readonly kind: "known"; readonly version: string }
  | { readonly kind: "unknown"; readonly end: Extract<StreamEnd, { readonly kind: "refused" | "failed" }> };

/** A server answers it as soon as any small list. */
const TIMEOUT_MS = 10_000;

/** Reads the present version of a collection, and calls `done` once, never within the call. */
export function readStoreVersion(
  io: { readonly wire: Wire; readonly clock: Clock },
  { path, selectors }: { readonly path: string; readonly selectors: Readonly<Record<string, string>> },
  done: (version: StoreVersion) => void,
): void {
  // Without a resourceVersion the API server answers with the newest state of its store.
  const query = new URLSearchParams({ ...selectors, limit: "1" });
  const headers = { accept: "application/json" };
  call(io, { method: "GET", path: `${path}?${query.toString()}`, headers, body: null }, TIMEOUT_MS, (answer) => {
    if (answer.kind === "lost") {
      const { message, timedOut } = answer;
      done({ kind: "unknown", end: { kind: "failed", message, timedOut } });
      return;
    }
    const version = answer.status === 200 ? versionIn(answer.text) : null;
    if (version !== null) done({ kind: "known", version });
    else done({ kind: "unknown", end: { kind: "refused", refusal: refusalOf(answer) } });
  });
}

function versionIn(list: string): string | null {
  return textOf(recordOf(recordOf(parsed(list)).metadata).resourceVersion);
}
