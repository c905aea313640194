/** Completion scripts for bash and zsh, generated from the table of verbs. */
import { dashed } from "../platform/config/flags.ts";
import type { Setting } from "../platform/config/value.ts";
import type { Verb } from "./verb.ts";

/** Shells with a completion script. */
export const SHELLS = ["bash", "zsh"] as const;

/** A script that completes verbs, their flags, and the values of flags with choices. */
export function completionScript(shell: (typeof SHELLS)[number], verbs: readonly Verb[]): string {
  const zsh = shell === "zsh" ? "#compdef vigil\nautoload -U +X bashcompinit && bashcompinit\n" : "";
  return `${zsh}_vigil() {
  local word="$2" before="$3" verb="\${COMP_WORDS[1]}" words
  [ "$COMP_CWORD" -eq 1 ] && verb=""
  # Bash treats the = between a flag and its value as a word.
  [ "$before" = "=" ] && before="\${COMP_WORDS[COMP_CWORD-2]}"
  case "$verb $before" in
${valueCases(verbs).join("\n")}
    " "*) words="${verbs.map(({ name }) => name).join(" ")}" ;;
${verbs.map((verb) => `    "${verb.name} "*) words="${wordsOf(verb).join(" ")}" ;;`).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _vigil vigil
`;
}

function wordsOf(verb: Verb): string[] {
  const flags = [...settingsOf(verb).map(({ flag }) => flag), ...verb.aliases.keys(), "help"];
  return [...verb.firstWords, ...flags.map(dashed)];
}

function valueCases(verbs: readonly Verb[]): string[] {
  return verbs.flatMap((verb) =>
    settingsOf(verb).flatMap(({ flag, choices }) =>
      choices === undefined ? [] : [`    ${patternOf(verb, flag)}) words="${choices.join(" ")}" ;;`],
    ),
  );
}

/** The case pattern of a flag in all its spellings. */
function patternOf({ name, aliases }: Verb, flag: string): string {
  const letters = [...aliases].filter(([alias, { flag: meant }]) => alias.length === 1 && meant === flag);
  return [flag, ...letters.map(([letter]) => letter)].map((spelling) => `"${name} ${dashed(spelling)}"`).join(" | ");
}

function settingsOf({ sections }: Verb): Setting[] {
  return sections.flatMap(({ settings }) => Object.values(settings));
}
