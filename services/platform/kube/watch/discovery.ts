/** Finds out whether an API server serves a resource: whether its CustomResourceDefinition is installed. */
import type { Clock, Wire } from "../../../../protocols/ports.ts";
import { listOf, parsed, recordOf } from "../../../structures/json.ts";
import { call } from "../transport/call.ts";
import { refusalOf } from "../transport/outcome.policy.ts";
import type { StreamEnd } from "./stream.ts";

/** Whether a resource is served; `unknown` when the server did not say. */
export type Discovered =
  | { readonly kind: "served" }
  | { readonly kind: "absent" }
  | { readonly kind: "unknown"; readonly end: Exclude<StreamEnd, { readonly kind: "complete" }> };

/** Every authenticated client may read the discovery documents, so this needs no rights. */
const TIMEOUT_MS = 10_000;
const NOT_FOUND = 404;

/** Asks for the resources of a group and version, and calls `done` once, never within the call. */
export function isServed(
  io: { readonly wire: Wire; readonly clock: Clock },
  { path, plural }: { readonly path: string; readonly plural: string },
  done: (discovered: Discovered) => void,
): void {
  const request = { method: "GET", path, headers: { accept: "application/json" }, body: null };
  call(io, request, TIMEOUT_MS, (answer) => {
    if (answer.kind === "lost") {
      const { message, timedOut } = answer;
      done({ kind: "unknown", end: { kind: "failed", message, timedOut } });
    } else if (answer.status === NOT_FOUND) {
      done({ kind: "absent" });
    } else if (answer.status >= 200 && answer.status < 300) {
      const resources = listOf(recordOf(parsed(answer.text)).resources).map(recordOf);
      done({ kind: resources.some(({ name }) => name === plural) ? "served" : "absent" });
    } else {
      done({ kind: "unknown", end: { kind: "refused", refusal: refusalOf(answer) } });
    }
  });
}
