/**
 * Refuses contradictory request options before any object is read. bodies.ts reads those of a delete, dry-run.ts reads
 * dryRun.
 */

import { invalidOptions } from "../api-status.ts";
import { isApply } from "../patch/patches.ts";
import type { Call } from "../routes.ts";
import { type FieldProblem, forbiddenChange, required, unsupported } from "../validation/problems.ts";

const MANAGER_BYTES_MAX = 128;
const MATCH = "resourceVersionMatch";

/** Throws a 422 for invalid options. */
export function checkOptions(call: Call): void {
  const { verb } = call;
  if (verb === "list" || verb === "watch" || verb === "deletecollection") refuse("ListOptions", matchProblems(call));
  if (verb === "create") refuse("CreateOptions", managerProblems(call));
  if (verb === "update") refuse("UpdateOptions", managerProblems(call));
  if (verb === "patch") refuse("PatchOptions", patchProblems(call));
}

function refuse(options: string, problems: readonly FieldProblem[]): void {
  if (problems.length > 0) throw invalidOptions(options, problems);
}

function matchProblems({ verb, query }: Call): FieldProblem[] {
  const match = query.get(MATCH) ?? "";
  const version = query.get("resourceVersion") ?? "";
  if (match === "") return [];
  const forbidden = (why: string): FieldProblem => forbiddenChange(MATCH, why);
  return [
    ...(verb === "watch" ? [forbidden(`${MATCH} is forbidden for watch`)] : []),
    ...(version === "" ? [forbidden(`${MATCH} is forbidden unless resourceVersion is provided`)] : []),
    ...((query.get("continue") ?? "") === "" ? [] : [forbidden(`${MATCH} is forbidden when continue is provided`)]),
    ...(["Exact", "NotOlderThan"].includes(match) ? [] : [unsupported(MATCH, match, ["Exact", "NotOlderThan", ""])]),
    ...(match === "Exact" && version === "0"
      ? [forbidden(`${MATCH} "exact" is forbidden for resourceVersion "0"`)]
      : []),
  ];
}

function managerProblems({ query }: Call): FieldProblem[] {
  if (Buffer.byteLength(query.get("fieldManager") ?? "") <= MANAGER_BYTES_MAX) return [];
  const message = `Too long: must have at most ${MANAGER_BYTES_MAX} bytes`;
  return [{ type: "FieldValueTooLong", field: "fieldManager", message }];
}

/** An apply needs a field manager, and only an apply may force. */
function patchProblems(call: Call): FieldProblem[] {
  const { query } = call;
  if (!isApply(call)) {
    const forced = query.has("force") ? [forbiddenChange("force", "may not be specified for non-apply patch")] : [];
    return [...forced, ...managerProblems(call)];
  }
  if ((query.get("fieldManager") ?? "") === "") return [required("fieldManager", "is required for apply patch")];
  return managerProblems(call);
}
