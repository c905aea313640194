/** Completion scripts for bash, zsh and fish, generated from the table of verbs. */
import { dashed } from "../../platform/config/flags.ts";
import type { Setting } from "../../platform/config/value.ts";
import type { Verb } from "../verb.ts";

/** Shells with a completion script. */
export const SHELLS = ["bash", "zsh", "fish"] as const;
/** A shell with a completion script. */
export type Shell = (typeof SHELLS)[number];

/** A script that completes verbs, their flags, the values of flags with choices, and names of the running fleet. */
export function completionScript(shell: Shell, verbs: readonly Verb[]): string {
  if (shell === "fish") return fishScript(verbs);
  const zsh = shell === "zsh" ? "#compdef vigil\nautoload -U +X bashcompinit && bashcompinit\n" : "";
  return `${zsh}# The names of a topic, from the console that the line names.
_vigil_names() {
  local flags=($(grep -oE -- "$_vigil_console_flags" <<<"$COMP_LINE" | tr " " =))
  vigil get "$1" -o name "\${flags[@]}" 2>/dev/null | sed "s|^[^/]*/||"
}
_vigil_console_flags="${CONSOLE_FLAGS}"
_vigil() {
  local word="$2" before="$3" verb first words each value="" line="\${COMP_LINE:0:COMP_POINT}"
  # The words before the cursor that are neither a flag nor its value.
  local typed=(\${line% *}) plain=()
  for each in "\${typed[@]:1}"; do
    if [ -n "$value" ]; then value=""; continue; fi
    case "$each" in
      ${switchesOf(verbs).join(" | ")} | -*=* | -[!-]?*) ;;
      -*) value=next ;;
      *) plain+=("$each") ;;
    esac
  done
  verb="\${plain[0]}" first="\${plain[1]}"
  # Bash treats the = between a flag and its value as a word.
  [ "$before" = "=" ] && before="\${COMP_WORDS[COMP_CWORD-2]}"
  case "$verb $before" in
${[...valueCases(verbs), ...nameCases(verbs, isFlag)].join("\n")}
    " "*) words="${verbs.map(({ name }) => name).join(" ")}" ;;
    *) case "$verb $first $word" in
${nameCases(verbs, isWord).join("\n")}
${verbs.map((verb) => `      "${verb.name} "*) words="${wordsOf(verb).join(" ")}" ;;`).join("\n")}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _vigil vigil
`;
}

/** The flags that select the console, as an extended regular expression. */
const CONSOLE_FLAGS = "--(server|server-ca|token-file)[= ][^ ]+|--allow-token-over-http";

const isFlag = (place: string): boolean => place.startsWith("-");
const isWord = (place: string): boolean => !isFlag(place);

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

/** Where names of the running fleet are completed; a word that begins with `-` is a flag. */
function nameCases(verbs: readonly Verb[], isPlace: (place: string) => boolean): string[] {
  return verbs.flatMap(({ name, liveNames }) =>
    [...liveNames]
      .filter(([place]) => isPlace(place))
      .map(([place, topic]) => {
        const pattern = isFlag(place) ? `"${name} ${place}"` : `"${name} ${place} "[!-]* | "${name} ${place} "`;
        return `    ${pattern}) words="$(_vigil_names ${topic})" ;;`;
      }),
  );
}

/** The case pattern of a flag in all its spellings. */
function patternOf(verb: Verb, flag: string): string {
  return spellings(verb, flag)
    .map((spelling) => `"${verb.name} ${dashed(spelling)}"`)
    .join(" | ");
}

/** The flags without a value, in all their spellings. */
function switchesOf(verbs: readonly Verb[]): string[] {
  const switches = verbs.flatMap((verb) =>
    settingsOf(verb)
      .filter(({ unit }) => unit === "switch")
      .flatMap(({ flag }) => spellings(verb, flag).map(dashed)),
  );
  return [...new Set([...switches, "--help", "-h", "--version"])];
}

function spellings({ aliases }: Verb, flag: string): string[] {
  const letters = [...aliases].filter(([alias, { flag: meant }]) => alias.length === 1 && meant === flag);
  return [flag, ...letters.map(([letter]) => letter)];
}

function settingsOf({ sections }: Verb): Setting[] {
  return sections.flatMap(({ settings }) => Object.values(settings));
}

function fishScript(verbs: readonly Verb[]): string {
  const lines = verbs.flatMap((verb) => {
    const seen = `__fish_seen_subcommand_from ${verb.name}`;
    const first =
      verb.firstWords.length === 0 ? [] : [fishLine(`${seen}; and __vigil_words 2`, verb.firstWords.join(" "))];
    const names = [...verb.liveNames]
      .filter(([place]) => isWord(place))
      .map(([place, topic]) => {
        const behind = place === "" ? "; and" : `; and __fish_seen_subcommand_from ${place}; and not`;
        return fishLine(`${seen}${behind} __vigil_words 2`, `(__vigil_names ${topic})`);
      });
    return [
      `complete -c vigil -n __fish_use_subcommand -a ${verb.name} -d ${quoted(verb.summary)}`,
      ...first,
      ...names,
      ...settingsOf(verb).map((setting) => fishFlag(verb, setting, seen)),
    ];
  });
  return `# The names of a topic, from the console that the line names.
function __vigil_names
    set -l flags (commandline -p | string match -ar -- ${quoted(CONSOLE_FLAGS.replace("(", "(?:"))} | string replace " " =)
    vigil get $argv[1] -o name $flags 2>/dev/null | string replace -r '^[^/]*/' ''
end
# Whether the word being written is the one of this number that is no flag.
function __vigil_words
    test (commandline -opc | string match -v -- '-*' | count) -eq $argv[1]
end
complete -c vigil -f
${lines.join("\n")}
`;
}

function fishLine(condition: string, words: string): string {
  return `complete -c vigil -n ${quoted(condition)} -a ${quoted(words)}`;
}

function fishFlag(verb: Verb, setting: Setting, seen: string): string {
  const { flag, choices, unit, meaning } = setting;
  const topic = verb.liveNames.get(dashed(flag));
  const values = topic === undefined ? (choices ?? []).filter(Boolean).join(" ") : `(__vigil_names ${topic})`;
  const names = spellings(verb, flag).map((name) => (name.length === 1 ? `-s ${name}` : `-l ${name}`));
  const value = unit === "switch" ? [] : ["-x", ...(values === "" ? [] : [`-a ${quoted(values)}`])];
  return ["complete -c vigil -n", quoted(seen), ...names, ...value, "-d", quoted(meaning)].join(" ");
}

/** A text in single quotes, as fish reads it. */
function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
