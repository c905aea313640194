/** `vigil completion`: prints a shell's completion script. */
import { ConfigProblem } from "../../platform/config/value.ts";
import { completionScript, SHELLS } from "../completion/completion-script.ts";
import { defineVerb, type Verb } from "../verb.ts";

/** The verb that prints a completion script for the verbs it is given. */
export const completionVerb = (verbs: () => readonly Verb[]): Verb =>
  defineVerb({
    name: "completion",
    summary: "print a completion script for a shell",
    words: "<bash|zsh|fish>",
    firstWords: SHELLS,
    wordsMax: 1,
    settings: {},
    examples: [
      { command: "source <(vigil completion bash)", does: "completes vigil in this shell" },
      {
        command: "vigil completion zsh > ~/.zfunc/_vigil",
        does: "completes vigil in every zsh with ~/.zfunc in fpath",
      },
      { command: "vigil completion fish > ~/.config/fish/completions/vigil.fish", does: "completes it in every fish" },
    ],
    run: async (_values, [word = ""], host) => {
      const shell = SHELLS.find((name) => name === word);
      if (shell === undefined)
        throw new ConfigProblem(`${`completion ${word}`.trim()}: name a shell, ${SHELLS.join(", ")}`);
      host.print(completionScript(shell, verbs()));
      return 0;
    },
  });
