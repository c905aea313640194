/** What every write request of Vigil must name, whether or not the API carries it out. */
import { isObject, type Json } from "../../services/sandbox/apiserver/api-objects.ts";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";

const KINDS: ReadonlySet<string> = new Set(["nodes", "pods"]);
const WRITES: ReadonlySet<string> = new Set(["patch", "update", "delete", "deletecollection"]);

/** The problem of one of Vigil's requests, as text: without a UID it would write to a later object of the same name. */
export function requestProblem({ verb, resource, name, body }: Call): string | null {
  if (!WRITES.has(verb) || !KINDS.has(resource.plural)) return null;
  return uidOf(body) === null ? `${resource.plural} ${name}: a ${verb} was requested whatever the UID` : null;
}

function uidOf(body: string | null): string | null {
  const parsed: Json = body === null ? null : JSON.parse(body);
  if (Array.isArray(parsed)) {
    const test = parsed.find((step) => isObject(step) && step.op === "test" && step.path === "/metadata/uid");
    return isObject(test) ? textOf(test.value) : null;
  }
  if (!isObject(parsed)) return null;
  const { metadata, preconditions } = parsed;
  return uidIn(metadata) ?? uidIn(preconditions);
}

function uidIn(named: Json | undefined): string | null {
  return isObject(named) ? textOf(named.uid) : null;
}

function textOf(value: Json | undefined): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
