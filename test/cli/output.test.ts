/** What the program does when its output fails: a full device, a closed pipe. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const MAIN = join(import.meta.dirname, "../../services/vigil.js");
const FULL = "/dev/full";

/** Runs `vigil` with these words in a shell; `then` redirects its output. Returns its own exit code. */
function vigil(words: string, then: string) {
  const script = `set -o pipefail; "$0" "$1" ${words} ${then}`;
  const { status, stderr } = spawnSync("bash", ["-c", script, process.execPath, MAIN], { encoding: "utf8" });
  return { status, stderr };
}

describe.runIf(existsSync(FULL))("output to a full device", () => {
  test.each(["--help", "run --help", "run --print-config", "version", "machine node", "completion bash"])(
    "of `vigil %s` is a failure of one line",
    (words) => {
      const stderr = "vigil: standard output cannot be written: ENOSPC: no space left on device\n";
      expect(vigil(words, `> ${FULL}`)).toEqual({ status: 1, stderr });
    },
  );

  test("for error messages too keeps the exit code", () => {
    expect(vigil("rnu", `2> ${FULL}`)).toEqual({ status: 2, stderr: "" });
  });
});

test("a reader that closes early is no failure and causes no message", () => {
  expect(vigil("run --print-config", "| head -1 > /dev/null")).toEqual({ status: 0, stderr: "" });
  expect(vigil("run --help", "| true")).toEqual({ status: 0, stderr: "" });
});
