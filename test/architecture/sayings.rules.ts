/** Architecture rules about tables of sentences: what is left at their end is that something is not known. */
import { type Breach, lineAt, type Rule, type Source, type SyntaxNode, walk } from "./source.ts";

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);
/** The files that choose sentences and reasons. */
const TABLES =
  /^services\/(ledger\/(explain|compare)\/|ledger\/record\/history-text|cli\/(preview|compare)\/).*(?<!printer)\.ts$/;
/** What builds a sentence from values. */
const BUILDERS = new Set(["sentence", "timelineSentence"]);
const SAYS_UNKNOWN = /not known|Unknown|no reason/;
/** Branches that make a function a table. */
const BRANCHES_MIN = 2;

const endings: Rule = {
  name: "no table of sentences ends in a fact",
  applies: (path) => TABLES.test(path),
  check: (source) => {
    const breaches: Breach[] = [];
    walk(source.program, (node, ancestors) => {
      const problem = defaultOf(source, node) ?? fallbackOf(source, node, ancestors) ?? lastOf(source, node);
      if (problem !== null) breaches.push({ path: source.path, line: lineAt(source, node.start), problem });
    });
    return breaches;
  },
};

/** The rules of this file. */
export const SAYINGS_RULES: readonly Rule[] = [endings];

/** A branch for the rest of a switch; without one the compiler wants a sentence for each case. */
function defaultOf(source: Source, node: SyntaxNode): string | null {
  if (node.type !== "SwitchCase" || node.test !== null) return null;
  return isUnknown(source, node) ? null : "a default states a fact: name every case, or say that it is not known";
}

/** A text in place of a value that is missing: in a sentence it may not be empty either. */
function fallbackOf(source: Source, node: SyntaxNode, ancestors: readonly SyntaxNode[]): string | null {
  if (node.type !== "LogicalExpression" || node.operator !== "??" || isUnknown(source, node.right)) return null;
  const text = constantText(source, node.right);
  const isInSentence = ancestors.some(({ type, callee }) => type === "CallExpression" && BUILDERS.has(nameOf(callee)));
  const isFact = text !== null && (isInSentence || text.includes(" "));
  return isFact ? "a missing value becomes a fact: say that it is not known" : null;
}

/** The last return of a function that chooses between texts. */
function lastOf(source: Source, node: SyntaxNode): string | null {
  if (!FUNCTIONS.has(node.type)) return null;
  const body = statementsOf(node.body);
  const last = body.at(-1);
  const branches = body.filter(({ type }) => type === "IfStatement").length;
  if (branches < BRANCHES_MIN || last?.type !== "ReturnStatement" || isUnknown(source, last)) return null;
  const isFact = constantText(source, last.argument)?.includes(" ") === true;
  return isFact ? "the last branch states a fact: ask for it, and end with what is not known" : null;
}

function isUnknown(source: Source, value: unknown): boolean {
  return isNode(value) && SAYS_UNKNOWN.test(source.text.slice(value.start, value.end));
}

/** A text without values, as it is written between its quotes; null for anything else. */
function constantText(source: Source, value: unknown): string | null {
  if (!isNode(value)) return null;
  const text = source.text.slice(value.start, value.end);
  const isConstant = value.type === "Literal" ? /^["']/.test(text) : value.type === "TemplateLiteral";
  return isConstant && !text.includes("${") ? text.slice(1, -1) : null;
}

function statementsOf(body: unknown): readonly SyntaxNode[] {
  const statements = isNode(body) ? body.body : [];
  return Array.isArray(statements) ? statements.filter(isNode) : [];
}

function nameOf(callee: unknown): string {
  return isNode(callee) ? String(callee.name) : "";
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}
