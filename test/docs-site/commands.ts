/** The commands of Vigil in a page's blocks of code, and their flags that do not exist. */
import { VERBS } from "../../services/cli/verb-list.ts";

/** A command as the page has it, from its verb on. */
export interface DocumentedCommand {
  readonly verb: string;
  readonly flags: readonly string[];
}

const BLOCK = /^ *(`{3,})[^\n]*\n([\s\S]*?)^ *\1 *$/gm;
/** `vigil run …`, `kubectl vigil …` and `npm run -s vigil -- …`, up to a pipe, a comment or the next command. */
const COMMAND = /(?:^|[\s(])vigil (?:-- )?([a-z][a-z-]*)((?: +(?:'[^']*'|"[^"]*"|[^\s|#;&'"]+)+)*)/gm;
const QUOTED = /'[^']*'|"[^"]*"/g;
const EVERYWHERE: readonly string[] = ["help"];

/** Every command of a page's blocks of code; lines that end with a backslash go on. */
export function commandsIn(page: string): DocumentedCommand[] {
  const blocks = [...page.matchAll(BLOCK)].map(([, , code = ""]) => code.replaceAll(/\\\n\s*/g, " "));
  return blocks
    .flatMap((code) => [...code.matchAll(COMMAND)])
    .map(([, verb = "", rest = ""]) => ({
      verb,
      flags: [...rest.replace(QUOTED, "").matchAll(/(?:^|\s)--([a-z][a-z_-]*)/g)].map(([, flag = ""]) => flag),
    }))
    .filter(({ verb }) => VERBS.some(({ name }) => name === verb));
}

/** The flags of a command that its verb does not take. */
export function unknownFlags({ verb, flags }: DocumentedCommand): string[] {
  const { sections = [], aliases = new Map() } = VERBS.find(({ name }) => name === verb) ?? {};
  const known = [
    ...EVERYWHERE,
    ...sections.flatMap(({ settings }) => Object.values(settings).map(({ flag }) => flag)),
    ...aliases.keys(),
  ];
  return flags.filter((flag) => !known.includes(flag)).map((flag) => `vigil ${verb} --${flag}`);
}
