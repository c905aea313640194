/** The command line: finds the verb, prints help, and turns problems into one line and an exit code. */
import { nearest } from "../domain/suggest.ts";
import { ConfigProblem } from "../platform/config/value.ts";
import { printable } from "../platform/process/printable.ts";
import { overview, verbHelp } from "./help.ts";
import { ExitCode, Failure, type Host, type Verb } from "./verb.ts";

/** The verbs of processes that stay. They are loaded alone, because what the others load would stay with them. */
const RESIDENT: ReadonlyMap<string, () => Promise<Verb>> = new Map([
  ["run", async () => (await import("./verbs/run.ts")).runVerb],
  ["agent", async () => (await import("./verbs/agent.ts")).agentVerb],
]);

/** Runs one command line and returns its exit code. Prints every problem and throws none. */
export async function runCommandLine(argv: readonly string[], host: Host): Promise<number> {
  const [word, ...rest] = argv;
  if (word === undefined || word === "help" || word === "--help" || word === "-h") return help(rest, host);
  const verb = (await RESIDENT.get(word)?.()) ?? (await verbOf(word === "--version" ? "version" : word));
  if (verb === undefined) return usageProblem(await unknownVerb(word), host);
  if (hasHelpFlag(rest)) {
    host.print(verbHelp(verb, host.columns));
    return ExitCode.ok;
  }
  try {
    return await verb.start(rest, host);
  } catch (problem) {
    if (problem instanceof ConfigProblem) return usageProblem(problem.message, host);
    if (!(problem instanceof Failure)) throw problem;
    host.warn(`vigil: ${printable(problem.message)}\n`);
    return ExitCode.failed;
  }
}

async function help(words: readonly string[], host: Host): Promise<number> {
  const [word, more] = words;
  if (more !== undefined) return usageProblem(`help ${words.join(" ")}: unexpected argument: ${more}`, host);
  const verb = await verbOf(word);
  if (word !== undefined && verb === undefined) return usageProblem(await unknownVerb(word), host);
  host.print(verb === undefined ? overview(await allVerbs()) : verbHelp(verb, host.columns));
  return ExitCode.ok;
}

async function verbOf(word: string | undefined): Promise<Verb | undefined> {
  return (await allVerbs()).find(({ name }) => name === word);
}

async function allVerbs(): Promise<readonly Verb[]> {
  return (await import("./verb-list.ts")).VERBS;
}

function hasHelpFlag(argv: readonly string[]): boolean {
  const flags = argv.includes("--") ? argv.slice(0, argv.indexOf("--")) : argv;
  return flags.includes("--help") || flags.includes("-h");
}

async function unknownVerb(word: string): Promise<string> {
  const names = (await allVerbs()).map(({ name }) => name);
  const meant = nearest(word, names);
  return `${word}: no such verb; ${meant === null ? `the verbs are ${names.join(", ")}` : `did you mean ${meant}?`}`;
}

function usageProblem(problem: string, host: Host): number {
  host.warn(`vigil: ${printable(problem)}\n`);
  return ExitCode.usage;
}
