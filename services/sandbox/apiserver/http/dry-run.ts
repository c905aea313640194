/** Reads the dryRun option of writes. */
import { isObject, type Json } from "../api-objects.ts";
import { invalidOptions } from "../api-status.ts";
import type { Call, Verb } from "../routes.ts";

/** The options object of each write. */
const OPTIONS_OF: Readonly<Partial<Record<Verb, string>>> = {
  create: "CreateOptions",
  update: "UpdateOptions",
  patch: "PatchOptions",
  delete: "DeleteOptions",
  deletecollection: "DeleteOptions",
};

/** Whether a call is a dry run. Throws a 422 for a `dryRun` with any value but `All`. */
export function isDryRun({ verb, query, body }: Call): boolean {
  const options = OPTIONS_OF[verb];
  if (options === undefined) return false;
  // A delete's options may come in its body, which then replaces the query.
  const isDelete = options === "DeleteOptions" && body !== null && body !== "";
  return isDryRunOption(isDelete ? dryRunIn(body) : query.getAll("dryRun"), options);
}

/** Whether this `dryRun` asks for a dry run. Throws a 422. */
export function isDryRunOption(asked: Json | undefined, options: string): boolean {
  if (!Array.isArray(asked) || asked.length === 0) return false;
  if (asked.every((word) => word === "All")) return true;
  const shown = `[]string{${asked.map((word) => JSON.stringify(word)).join(", ")}}`;
  const message = `Unsupported value: ${shown}: supported values: "All"`;
  throw invalidOptions(options, [{ type: "FieldValueNotSupported", field: "dryRun", message }]);
}

/** A malformed body is refused later, where all options are parsed. */
function dryRunIn(body: string): Json | undefined {
  if (!body.includes('"dryRun"')) return undefined;
  try {
    const options: unknown = JSON.parse(body);
    return isObject(options) ? options.dryRun : undefined;
  } catch {
    return undefined;
  }
}
