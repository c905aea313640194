/** Architecture rules of the two storeys: the core of a service is as upstream, and policies stand beside it. */
import { join } from "node:path/posix";
import { type Breach, lineAt, type Rule } from "./source.ts";

/** The cores, and the folder beside each for what policies add. */
const STOREYS = [{ core: /^services\/node\/[^/]+\.ts$/, beside: "services/node/concerns/" }];

/** Words of what policies add; the name of a file such as taint.policy.ts is none. */
const POLICY_WORDS = [
  /[Pp]olic(?:y|ies)(?!\.ts)/,
  /[Ff]reez|[Ff]roze/,
  /\bholds?\b|heldBy|blockedBy|[a-z]Hold/,
  /[Mm]aintenance|out-?[Oo]f-?[Ss]ervice|[Ss]hadow/,
];

const storeyOf = (path: string) => STOREYS.find(({ core }) => core.test(path));

const words: Rule = {
  name: "the core of a service has no word of policies",
  applies: (path) => storeyOf(path) !== undefined,
  check: ({ path, lines }) =>
    lines.flatMap((text, index): Breach[] => {
      const [word] = POLICY_WORDS.flatMap((each) => each.exec(text)?.[0] ?? []);
      const where = storeyOf(path)?.beside;
      return word === undefined ? [] : [{ path, line: index + 1, problem: `"${word}": policies stand in ${where}` }];
    }),
};

const wayIn: Rule = {
  name: "the core of a service knows no single thing that policies add",
  applies: (path) => storeyOf(path) !== undefined,
  check: (source) =>
    source.imports.flatMap(({ specifier, at }): Breach[] => {
      const beside = storeyOf(source.path)?.beside ?? "";
      const target = join(source.path, "..", specifier);
      const isSingle = target.startsWith(beside) && target.slice(beside.length).includes("/");
      return isSingle ? [{ path: source.path, line: lineAt(source, at), problem: `may not import ${target}` }] : [];
    }),
};

/** Every rule about the two storeys. */
export const STOREY_RULES: readonly Rule[] = [words, wayIn];
