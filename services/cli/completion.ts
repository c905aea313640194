/** Completion scripts for bash and zsh, written from the table of verbs. */
import type { Setting } from "../runtime/config.value.ts";
import type { Verb } from "./verb.ts";

/** The shells that completion is written for. */
export const SHELLS = ["bash", "zsh"] as const;

/** A script that completes verbs, their flags, and the values of flags that have choices. */
export function completionScript(shell: (typeof SHELLS)[number], verbs: readonly Verb[]): string {
  const zsh = shell === "zsh" ? "#compdef vigil\nautoload -U +X bashcompinit && bashcompinit\n" : "";
  return `${zsh}_vigil() {
  local word="$2" before="$3" verb="\${COMP_WORDS[1]}" words
  [ "$COMP_CWORD" -eq 1 ] && verb=""
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
  return [...verb.firstWords, ...flags.map((flag) => `--${flag}`)];
}

function valueCases(verbs: readonly Verb[]): string[] {
  return verbs.flatMap((verb) =>
    settingsOf(verb).flatMap(({ flag, choices }) =>
      choices === undefined ? [] : [`    "${verb.name} --${flag}") words="${choices.join(" ")}" ;;`],
    ),
  );
}

function settingsOf({ sections }: Verb): Setting[] {
  return sections.flatMap(({ settings }) => Object.values(settings));
}
