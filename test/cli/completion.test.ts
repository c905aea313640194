/** Runs the completion script in a real bash and checks its suggestions. */
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { completionScript } from "../../services/cli/completion-script.ts";
import { VERBS } from "../../services/cli/verb-list.ts";

function offered(words: readonly string[]): string[] {
  const current = words.at(-1) ?? "";
  const before = words.at(-2) ?? "";
  const script = [
    completionScript("bash", VERBS),
    `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")})`,
    `COMP_CWORD=${words.length - 1}`,
    `_vigil vigil '${current}' '${before}'`,
    'printf "%s\\n" "$' + '{COMPREPLY[@]}"',
  ].join("\n");
  return execFileSync("bash", ["-c", script], { encoding: "utf8" }).split("\n").filter(Boolean);
}

test.each([
  [["vigil", "pl"], ["playground"]],
  [
    ["vigil", "machine", ""],
    ["node", "zone", "--help"],
  ],
  [["vigil", "run", "--node-monitor-g"], ["--node-monitor-grace-period"]],
  [
    ["vigil", "run", "--eviction-mode", ""],
    ["taint", "direct"],
  ],
  [["vigil", "run", "--eviction-mode", "=", "di"], ["direct"]],
  [["vigil", "get", "zones", "-o", "j"], ["json"]],
  [
    ["vigil", "get", "zones", "--output", ""],
    ["table", "wide", "name", "json", "yaml"],
  ],
  [["vigil", "get", "zones", "--wat"], ["--watch"]],
  [["vigil", "get", "zones", "-w"], ["-w"]],
  [["vigil", "run", "--enable"], ["--enable-taint-manager"]],
  [["vigil", "get", "z"], ["zones"]],
])("after %j bash offers %j", (words, expected) => expect(offered(words)).toEqual(expected));
