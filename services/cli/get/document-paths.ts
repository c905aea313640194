/** Paths into documents that users write, as kubectl has them: `-o custom-columns=NAME:.name` and `--sort-by=.since`. */
import { ConfigProblem } from "../../platform/config/value.ts";
import { type JsonPath, jsonText, parseJsonPath } from "../../structures/json-path.ts";

/** What kubectl prints for a field that does not exist. */
const NONE = "<none>";

/** The headings of `NAME:.name,ZONE:.zone`, and the cells of a document. Throws a ConfigProblem. */
export function customColumns(spec: string): {
  readonly heading: readonly string[];
  readonly cells: (document: object) => readonly string[];
} {
  const columns = spec.split(",").map((column) => {
    const [, heading = "", path = ""] = /^([^:]+):(.+)$/.exec(column) ?? [];
    return { heading, path: pathOf(path) ?? refuse(`-o custom-columns=${spec}: "${column}"`, "NAME:.name,ZONE:.zone") };
  });
  return {
    heading: columns.map(({ heading }) => heading),
    cells: (document) =>
      columns.map(({ path }) => {
        const found = path([document]).filter((value) => value !== null);
        return found.map(jsonText).join(",") || NONE;
      }),
  };
}

/**
 * The order of documents by the value at a path: numbers by size, texts with their numbers by size (`n-2` before
 * `n-10`), a missing value first. Throws a ConfigProblem.
 */
export function documentOrder(text: string): (left: object, right: object) => number {
  const path = pathOf(text) ?? refuse(`--sort-by=${text}: the path`, ".since");
  const sortKey = (document: object) => path([document])[0] ?? null;
  return (left, right) => orderOf(sortKey(left), sortKey(right));
}

function orderOf(left: unknown, right: unknown): number {
  if (left === null || right === null) return Number(left !== null) - Number(right !== null);
  if (typeof left === "number" && typeof right === "number") return left - right;
  return jsonText(left).localeCompare(jsonText(right), "en", { numeric: true });
}

/** A path with or without the braces of a template; null where it is empty or not understood. */
function pathOf(text: string): JsonPath | null {
  const path = /^\{(.*)\}$/.exec(text)?.[1] ?? text;
  return path === "" ? null : parseJsonPath(path);
}

function refuse(what: string, example: string): never {
  throw new ConfigProblem(`${what} is not understood; write it as ${example}`);
}
