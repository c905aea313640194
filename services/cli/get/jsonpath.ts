/**
 * JSONPath templates as kubectl has them (kubernetes.io/docs/reference/kubectl/jsonpath): text with expressions in
 * braces, `{range}…{end}` and quoted text. Results of one expression are separated by spaces; a field that does not exist
 * gives nothing.
 */
import { ConfigProblem } from "../../platform/config/value.ts";
import { type JsonPath, jsonText, parseJsonPath, unquoted } from "../../structures/json-path.ts";

/** A parsed template: the text of a document. */
export type Template = (document: unknown) => string;

type Part =
  | { readonly text: string }
  | { readonly path: JsonPath }
  | { readonly range: JsonPath; readonly body: Part[] };

const TOKEN = /\{((?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^{}"'])*)\}|([^{}]+)/y;
/** Parses a template. Throws a ConfigProblem that names the part which is not understood. */
export function jsonPathTemplate(template: string): Template {
  const parts: Part[] = [];
  const open: Part[][] = [parts];
  let at = 0;
  while (at < template.length) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(template);
    if (match === null) throw problem(template, template.slice(at));
    at = TOKEN.lastIndex;
    const [, expression, text] = match;
    if (expression === undefined) open.at(-1)?.push({ text: text ?? "" });
    else place(expression.trim(), open, template);
  }
  if (open.length > 1) throw problem(template, "{range} without {end}");
  return (document) => textOf(parts, document);
}

function place(expression: string, open: Part[][], template: string): void {
  const parts = open.at(-1) ?? [];
  if (expression === "end") {
    if (open.length === 1) throw problem(template, "{end} without {range}");
    open.pop();
  } else if (/^range\s/.test(expression)) {
    const body: Part[] = [];
    parts.push({ range: pathOf(expression.slice("range".length).trim(), template), body });
    open.push(body);
  } else if (/^["']/.test(expression)) {
    const text = unquoted(expression);
    if (text === null) throw problem(template, expression);
    parts.push({ text });
  } else {
    parts.push({ path: pathOf(expression, template) });
  }
}

function textOf(parts: readonly Part[], current: unknown): string {
  return parts
    .map((part) => {
      if ("text" in part) return part.text;
      if ("path" in part) return part.path([current]).map(jsonText).join(" ");
      return part
        .range([current])
        .map((value) => textOf(part.body, value))
        .join("");
    })
    .join("");
}

function pathOf(path: string, template: string): JsonPath {
  const parsed = parseJsonPath(path);
  if (parsed === null) throw problem(template, path);
  return parsed;
}

function problem(template: string, part: string): ConfigProblem {
  const example = '{range .items[*]}{.name}{"\\n"}{end}';
  return new ConfigProblem(`-o jsonpath=${template}: ${part} is not understood; write it as ${example}`);
}
