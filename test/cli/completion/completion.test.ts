/** Runs the completion script in a real bash and checks its suggestions. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { completionScript } from "../../../services/cli/completion/completion-script.ts";
import { VERBS } from "../../../services/cli/verb-list.ts";

/** A `vigil` that knows two nodes, a zone, a policy and a pod, and writes down how it was called. */
const FOLDER = mkdtempSync(join(tmpdir(), "vigil-completion-"));
const CALLS = join(FOLDER, "calls");
writeFileSync(
  join(FOLDER, "vigil"),
  `#!/bin/sh
echo "$@" >> ${CALLS}
case "$2" in
nodes) echo node/worker-1; echo node/worker-2 ;; zones) echo zone/eu/b ;; pods) echo pod/shop/cart-0 ;;
policies) echo nodepolicy/gpu ;; esac
`,
  { mode: 0o755 },
);
afterAll(() => rmSync(FOLDER, { recursive: true }));

function offered(words: readonly string[]): string[] {
  const current = words.at(-1) ?? "";
  const before = words.at(-2) ?? "";
  const script = [
    completionScript("bash", VERBS),
    `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")})`,
    `COMP_CWORD=${words.length - 1}`,
    `COMP_LINE='${words.join(" ")}'`,
    `COMP_POINT=${words.join(" ").length}`,
    `_vigil vigil '${current}' '${before}'`,
    'printf "%s\\n" "$' + '{COMPREPLY[@]}"',
  ].join("\n");
  const env = { ...process.env, PATH: `${FOLDER}:${process.env.PATH}` };
  return execFileSync("bash", ["-c", script], { encoding: "utf8", env }).split("\n").filter(Boolean);
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
  [
    ["vigil", "get", "zones", "-o", "j"],
    ["json", "jsonpath="],
  ],
  [
    ["vigil", "get", "zones", "--output", ""],
    ["table", "wide", "name", "json", "yaml", "jsonpath=", "custom-columns="],
  ],
  [["vigil", "get", "zones", "--wat"], ["--watch"]],
  [["vigil", "get", "zones", "-w"], ["-w"]],
  [["vigil", "run", "--enable"], ["--enable-taint-manager"]],
  [["vigil", "get", "z"], ["zones"]],
  [
    ["vigil", "explain", "node", ""],
    ["worker-1", "worker-2"],
  ],
  [["vigil", "explain", "zone", "e"], ["eu/b"]],
  [["vigil", "explain", "pod", "shop/"], ["shop/cart-0"]],
  [["vigil", "explain", "-n", "shop", "pod", ""], ["shop/cart-0"]],
  [
    ["vigil", "explain", "--namespace=shop", "po"],
    ["pod", "policy"],
  ],
  [
    ["vigil", "get", "-w", "-owide", "nodes", ""],
    ["worker-1", "worker-2"],
  ],
  [["vigil", "explain", "pol"], ["policy"]],
  [["vigil", "explain", "policy", ""], ["gpu"]],
  [["vigil", "get", "nodes", "worker-1", "worker-2"], ["worker-2"]],
  [["vigil", "get", "nodes", "--zone", ""], ["eu/b"]],
  [["vigil", "freeze", "--policy", ""], ["gpu"]],
  [["vigil", "thaw", "--policy", "g"], ["gpu"]],
  [["vigil", "watch", "writes", "--node", "worker-2"], ["worker-2"]],
  [
    ["vigil", "prove-down", ""],
    ["worker-1", "worker-2"],
  ],
  [["vigil", "prove-down", "--reason", "off", "worker-2"], ["worker-2"]],
  [
    ["vigil", "explain", "node", "--serv"],
    ["--server", "--server-ca"],
  ],
])("after %j bash offers %j", (words, expected) => expect(offered(words)).toEqual(expected));

test("names come from the console that the line names", () => {
  offered(["vigil", "explain", "node", "--server=https://vigil:8080", "--token-file", "t", "w"]);
  expect(readFileSync(CALLS, "utf8").trimEnd().split("\n").at(-1)).toBe(
    "get nodes -o name --server=https://vigil:8080 --token-file=t",
  );
});
