/** Architecture rules about the form of a file: its docstrings, its sizes and its words. */
import { kindOf } from "./imports.rules.ts";
import { type Breach, lineAt, type Rule, type Source, type SyntaxNode, walk } from "./source.ts";

/** The most lines of a function; in a test file, without its inner functions. */
const FUNCTION_LINES_MAX = { shipped: 50, test: 60 };
/** Characters of a line, quoted text not counted. */
const LINE_CHARACTERS_MAX = 120;
/** Branches and loops inside each other. */
const NESTING_MAX = 3;
/** Characters of a test's name, with the titles around it. */
const TEST_NAME_CHARACTERS_MAX = 80;

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);
const BRANCHES = new Set([
  "IfStatement",
  "ForStatement",
  "ForOfStatement",
  "ForInStatement",
  "WhileStatement",
  "DoWhileStatement",
  "SwitchStatement",
  "TryStatement",
]);
/** Names from elsewhere that cannot be replaced. */
const GIVEN_NAMES = /(taint|controller)[-_]?manager/gi;
const VAGUE = /^(managers?|helpers?|utils?|utility|utilities|common|misc)$/i;

/** Spelt in two parts, so that the rule does not find itself. */
const FORBIDDEN_WORDS: readonly [RegExp, string][] = [
  [/\b(TO_?DO|FIX_?ME|XXX|HACK)\b/, "leftover: do it or delete it"],
  [/@ts-(ignore|expect-error|nocheck)/, "silenced type error: mend the type"],
  [/(biome-ignore|oxlint-disable|eslint-disable)/, "silenced linter: mend the code or the rule"],
  [/\bas unknown as\b/, "double cast: narrow the value with a guard"],
  [/\b(describe|test|it)\.(skip|only|todo)\b/, "a test that does not run"],
  [/^\s*(\/\/|\*)\s*[-=#*]{4,}/, "banner: split the file or drop the line"],
];

const everyFile = (path: string) => kindOf(path) !== null;
const isTest = (path: string) => path.endsWith(".test.ts");

const opening: Rule = {
  name: "a file opens with a docstring that says what it is",
  applies: () => true,
  check: (source) => {
    const first = source.comments.find(({ type }) => type === "Block");
    const before = source.text.slice(0, first?.start ?? 0).replace(/^#!.*\n/, "");
    const says = first?.value.startsWith("*") && before.trim() === "" && /[.:?]\s*$/.test(first.value);
    return says ? [] : [{ path: source.path, line: 1, problem: "must open with /** a sentence. */" }];
  },
};

const exportsAreTold: Rule = {
  name: "every export has a docstring",
  applies: (path) => everyFile(path) && !isTest(path),
  check: (source) =>
    exportsOf(source)
      .filter(({ start }) => !hasDocstring(source, start))
      .map(({ start }) => ({ path: source.path, line: lineAt(source, start), problem: "export without a docstring" })),
};

const sizes: Rule = {
  name: "functions and lines are short and flat",
  applies: () => true,
  check: (source) => [...lineSizes(source), ...functionSizes(source), ...nesting(source)],
};

const words: Rule = {
  name: "no leftovers, silenced checks or banners",
  applies: (path) => path !== "test/architecture/shape.rules.ts",
  check: (source) =>
    source.lines.flatMap((text, index) =>
      FORBIDDEN_WORDS.filter(([pattern]) => pattern.test(text)).map(([, problem]) => ({
        path: source.path,
        line: index + 1,
        problem,
      })),
    ),
};

const names: Rule = {
  name: "an exported name says what it is",
  applies: everyFile,
  check: (source) =>
    exportsOf(source).flatMap((node) => {
      const name = declaredName(node);
      const parts = name.replace(GIVEN_NAMES, "").split(/(?=[A-Z])|_/);
      if (!parts.some((part) => VAGUE.test(part))) return [];
      return [
        { path: source.path, line: lineAt(source, node.start), problem: `${name} says nothing: name what it is` },
      ];
    }),
};

const testNames: Rule = {
  name: "a test has a short name",
  applies: (path) => kindOf(path) === "test",
  check: (source) => {
    const breaches: Breach[] = [];
    walk(source.program, (node, ancestors) => {
      const name = nameIn(node, /^(test|it)$/);
      if (name === undefined) return;
      const titles = ancestors.flatMap((ancestor) => nameIn(ancestor, /^describe$/) ?? []);
      const characters = [...titles, name].map(({ start, end }) => end - start - 1).reduce((a, b) => a + b) - 1;
      if (characters <= TEST_NAME_CHARACTERS_MAX) return;
      const problem = `test name of ${characters} characters with its describe, at most ${TEST_NAME_CHARACTERS_MAX}`;
      breaches.push({ path: source.path, line: lineAt(source, name.start), problem });
    });
    return breaches;
  },
};

/** The rules of this file. */
export const SHAPE_RULES: readonly Rule[] = [opening, exportsAreTold, sizes, words, names, testNames];

/** Whether one of the names in a path contains a meaningless word. */
export function hasVagueName(path: string): boolean {
  return path.split(/[/.]/).some((part) =>
    part
      .replace(GIVEN_NAMES, "")
      .split("-")
      .some((word) => VAGUE.test(word)),
  );
}

/** The literal that names a test or a describe, of a call by a name of `calls`. */
function nameIn(node: SyntaxNode, calls: RegExp): SyntaxNode | undefined {
  if (node.type !== "CallExpression" || !calls.test(calledName(node))) return undefined;
  const [name] = node.arguments as SyntaxNode[];
  return name !== undefined && ["Literal", "TemplateLiteral"].includes(name.type) ? name : undefined;
}

/** The identifier that a call starts from: `test` of `test.each(rows)(…)`; "" for none. */
function calledName(call: SyntaxNode): string {
  const inner = (call.callee ?? call.object) as SyntaxNode | undefined;
  if (inner !== undefined) return calledName(inner);
  return typeof call.name === "string" ? call.name : "";
}

function exportsOf(source: Source): SyntaxNode[] {
  const body = source.program.body as SyntaxNode[];
  return body.filter(({ type, declaration }) => type === "ExportNamedDeclaration" && declaration !== null);
}

function hasDocstring(source: Source, start: number): boolean {
  return source.comments.some(
    ({ type, value, start: opens, end }) =>
      type === "Block" &&
      value.startsWith("*") &&
      opens > 0 &&
      end <= start &&
      source.text.slice(end, start).trim() === "",
  );
}

function declaredName(node: SyntaxNode): string {
  const declaration = node.declaration as SyntaxNode;
  const holder = Array.isArray(declaration.declarations) ? (declaration.declarations[0] as SyntaxNode) : declaration;
  const id = holder.id as SyntaxNode | undefined;
  return typeof id?.name === "string" ? id.name : "";
}

function lineSizes(source: Source): Breach[] {
  return source.lines.flatMap((text, index) => {
    const unquoted = text.replace(/(["'`])(?:\\.|(?!\1).)*\1/g, "");
    if (unquoted.length <= LINE_CHARACTERS_MAX) return [];
    return [{ path: source.path, line: index + 1, problem: `over ${LINE_CHARACTERS_MAX} characters` }];
  });
}

function functionSizes(source: Source): Breach[] {
  const isOfTests = kindOf(source.path) === "test";
  const linesMax = isOfTests ? FUNCTION_LINES_MAX.test : FUNCTION_LINES_MAX.shipped;
  const breaches: Breach[] = [];
  walk(source.program, (node) => {
    if (!FUNCTIONS.has(node.type)) return;
    const lines = isOfTests ? ownLines(source, node) : linesOf(source, node);
    if (lines <= linesMax) return;
    const problem = `function of ${lines} lines, at most ${linesMax}`;
    breaches.push({ path: source.path, line: lineAt(source, node.start), problem });
  });
  return breaches;
}

function linesOf(source: Source, node: SyntaxNode): number {
  return lineAt(source, node.end) - lineAt(source, node.start) + 1;
}

function ownLines(source: Source, node: SyntaxNode): number {
  let inner = 0;
  walk(node, (below, ancestors) => {
    const outermost = !ancestors.some(({ type }, depth) => depth > 0 && FUNCTIONS.has(type));
    if (below !== node && FUNCTIONS.has(below.type) && outermost) inner += linesOf(source, below) - 1;
  });
  return linesOf(source, node) - inner;
}

function nesting(source: Source): Breach[] {
  const breaches: Breach[] = [];
  walk(source.program, (node, ancestors) => {
    if (!BRANCHES.has(node.type) || isElseIf(node, ancestors)) return;
    if (depthOf([...ancestors, node]) !== NESTING_MAX + 1) return;
    const problem = `nested deeper than ${NESTING_MAX}: return early or name the inner part`;
    breaches.push({ path: source.path, line: lineAt(source, node.start), problem });
  });
  return breaches;
}

function depthOf(chain: readonly SyntaxNode[]): number {
  const inside = chain.slice(chain.findLastIndex(({ type }) => FUNCTIONS.has(type)) + 1);
  return inside.filter((node, index) => BRANCHES.has(node.type) && !isElseIf(node, inside.slice(0, index))).length;
}

function isElseIf(node: SyntaxNode, ancestors: readonly SyntaxNode[]): boolean {
  const parent = ancestors.at(-1);
  return node.type === "IfStatement" && parent?.type === "IfStatement" && parent.alternate === node;
}
