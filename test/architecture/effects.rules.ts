/** Architecture rules about hidden inputs and waiting: which globals a folder may touch, and that actors never wait. */
import { isActor, kindOf } from "./imports.rules.ts";
import { type Breach, lineAt, type Rule, type SyntaxNode, walk } from "./source.ts";

/** Globals that give access to time, chance and the machine, and what to use instead. */
const HIDDEN_INPUTS = new Map([
  ["Date", "take instants from the Clock, read and write stamps with services/domain/api-time.ts"],
  ["performance", "take the Clock"],
  ["setTimeout", "take the Clock"],
  ["setInterval", "take the Clock"],
  ["setImmediate", "take the Clock"],
  ["queueMicrotask", "take the Clock"],
  ["console", "take the Log"],
  ["process", "take it as an argument"],
  ["fetch", "take the Kube port"],
  ["crypto", "take Random"],
  ["globalThis", "take it as an argument"],
]);

/** Folders of the platform that only compute with their arguments, as actors do. */
const PURE_PLATFORM = /^services\/platform\/(shard-view|requests|fleet)\//;
/** The one file that reads and writes the API's stamps, for which it needs the calendar. */
const CALENDAR = "services/domain/api-time.ts";

/** What only the outermost folders may use. */
const hiddenInputs: Rule = {
  name: "time, chance and the machine come in as arguments",
  applies: (path) =>
    path !== CALENDAR &&
    (kindOf(path) === "protocols" || kindOf(path) === "service" || isActor(path) || PURE_PLATFORM.test(path)),
  check: checkOf(nameOfHiddenInput),
};

/** Globals for printing: the command line has its own terminal, the platform its log. */
const printing: Rule = {
  name: "nothing prints through console",
  applies: (path) => kindOf(path) === "top" || kindOf(path) === "platform",
  check: checkOf((node, ancestors) =>
    refersTo("console", node, ancestors) ? "console: write to the terminal or the log" : null,
  ),
};

const waiting: Rule = {
  name: "an actor never waits",
  applies: (path) => isActor(path) || kindOf(path) === "protocols",
  check: checkOf((node, ancestors) => {
    const waits = node.type === "AwaitExpression" || node.async === true;
    return waits || refersTo("Promise", node, ancestors) ? "no await, async or Promise: use a callback port" : null;
  }),
};

/** Tests share a process: each call would add listeners to its output, and its signals would no longer end it. */
const ownProcess: Rule = {
  name: "a test does not answer the signals of its process",
  applies: (path) => kindOf(path) === "test",
  check: checkOf((node, ancestors) =>
    refersTo("thisProcess", node, ancestors) ? "thisProcess: take processFiles" : null,
  ),
};

/** The rules of this file. */
export const EFFECT_RULES: readonly Rule[] = [hiddenInputs, printing, waiting, ownProcess];

/** A check that reports each node of a source with a problem. */
function checkOf(problemOf: (node: SyntaxNode, ancestors: readonly SyntaxNode[]) => string | null): Rule["check"] {
  return (source) => {
    const breaches: Breach[] = [];
    walk(source.program, (node, ancestors) => {
      const problem = problemOf(node, ancestors);
      if (problem !== null) breaches.push({ path: source.path, line: lineAt(source, node.start), problem });
    });
    return breaches;
  };
}

function refersTo(name: string, node: SyntaxNode, ancestors: readonly SyntaxNode[]): boolean {
  return isReference(node, ancestors) && node.name === name;
}

function nameOfHiddenInput(node: SyntaxNode, ancestors: readonly SyntaxNode[]): string | null {
  if (!isReference(node, ancestors)) return null;
  const name = String(node.name);
  const parent = ancestors.at(-1);
  if (name === "Math" && parent?.type === "MemberExpression") {
    const property = parent.property as SyntaxNode;
    return property.name === "random" ? "Math.random: take Random" : null;
  }
  const instead = HIDDEN_INPUTS.get(name);
  return instead === undefined ? null : `${name}: ${instead}`;
}

/** Whether an identifier refers to a value or a type, and is not merely the name of a field or a method. */
function isReference(node: SyntaxNode, ancestors: readonly SyntaxNode[]): boolean {
  if (node.type !== "Identifier") return false;
  const parent = ancestors.at(-1);
  if (parent === undefined) return false;
  const names = parent.type === "MemberExpression" ? parent.property : parent.key;
  return names !== node || parent.computed === true || parent.shorthand === true;
}
