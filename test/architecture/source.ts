/** The repository for the architecture rules: every source file parsed once. It judges nothing. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Comment, type ParseResult, parseSync } from "oxc-parser";

/** Any node of a syntax tree, with the fields that every node has. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** One parsed TypeScript file; `path` is relative to the repository and uses `/`. */
export interface Source {
  readonly path: string;
  readonly text: string;
  readonly lines: readonly string[];
  readonly program: SyntaxNode;
  readonly comments: readonly Comment[];
  /** Every module this file names, in an import, a re-export or a dynamic import of a literal. */
  readonly imports: readonly { readonly specifier: string; readonly at: number }[];
}

/** One breach in one place. */
export interface Breach {
  readonly path: string;
  readonly line: number;
  readonly problem: string;
}

/** A rule over one file; `applies` chooses the files. */
export interface Rule {
  readonly name: string;
  readonly applies: (path: string) => boolean;
  readonly check: (source: Source) => Breach[];
}

/** Folders without source of ours. */
const FOREIGN = new Set(["node_modules", ".git", "bench-results", "dist", ".temp"]);

/** Every file of the repository below `root`, as sorted relative paths. */
export function filesBelow(root: string, folder = ""): string[] {
  const entries = readdirSync(join(root, folder), { withFileTypes: true }).filter(({ name }) => !FOREIGN.has(name));
  return entries
    .flatMap((entry) => {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      return entry.isDirectory() ? filesBelow(root, path) : [path];
    })
    .sort();
}

/** Every TypeScript file below `root`, parsed. Throws an Error that names the file which does not parse. */
export function sourcesBelow(root: string): Source[] {
  return filesBelow(root)
    .filter((path) => path.endsWith(".ts"))
    .map((path) => parse(path, readFileSync(join(root, path), "utf8")));
}

/** Parses one file. Throws an Error that names the file and the first fault. */
export function parse(path: string, text: string): Source {
  const result = parseSync(path, text);
  const fault = result.errors[0];
  if (fault !== undefined) throw new Error(`${path}: ${fault.message}`);
  const program: unknown = result.program;
  if (!isNode(program)) throw new Error(`${path}: the parser gave no program`);
  return {
    path,
    text,
    lines: text.split("\n"),
    program,
    comments: result.comments,
    imports: importsOf(result, text),
  };
}

/** The 1-based line of an offset in a source. */
export function lineAt(source: Source, offset: number): number {
  return source.text.slice(0, offset).split("\n").length;
}

/** Calls `visit` for every node, with its ancestors from the program down to its parent. */
export function walk(
  node: SyntaxNode,
  visit: (node: SyntaxNode, ancestors: readonly SyntaxNode[]) => void,
  ancestors: readonly SyntaxNode[] = [],
): void {
  visit(node, ancestors);
  const below = [...ancestors, node];
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child)) walk(child, visit, below);
    }
  }
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

function importsOf(result: ParseResult, text: string): Source["imports"] {
  const { staticImports, staticExports, dynamicImports } = result.module;
  const named = staticImports.map(({ moduleRequest, start }) => ({ specifier: moduleRequest.value, at: start }));
  const passedOn = staticExports.flatMap(({ entries, start }) =>
    entries.flatMap(({ moduleRequest }) =>
      moduleRequest === null ? [] : [{ specifier: moduleRequest.value, at: start }],
    ),
  );
  const late = dynamicImports.map(({ moduleRequest, start }) => ({
    specifier: text.slice(moduleRequest.start, moduleRequest.end).replace(/^["'`]|["'`]$/g, ""),
    at: start,
  }));
  return [...named, ...passedOn, ...late];
}
