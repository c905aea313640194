/** Runs the completion script in a real fish and checks its suggestions. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { completionScript } from "../../../services/cli/completion/completion-script.ts";
import { VERBS } from "../../../services/cli/verb-list.ts";
import { describeUnless } from "../../support/describe-unless.ts";

const FISH = "/usr/bin/fish";
const MISSING = existsSync(FISH) ? null : "fish not found: apt-get install fish";

describeUnless(MISSING, "vigil completion fish", () => {
  const folder = mkdtempSync(join(tmpdir(), "vigil-fish-"));
  writeFileSync(
    join(folder, "vigil"),
    '#!/bin/sh\ncase "$*" in "get nodes -o name --server=http://x") echo node/w-1 ;; "get nodes -o name") echo node/w-2 ;; esac\n',
    {
      mode: 0o755,
    },
  );
  afterAll(() => rmSync(folder, { recursive: true }));

  const offered = (line: string): string[] => {
    const script = `${completionScript("fish", VERBS)}\ncomplete -C "${line}"\n`;
    const env = { PATH: `${folder}:/usr/bin:/bin`, HOME: folder };
    const out = execFileSync(FISH, ["--no-config", "-c", script], { encoding: "utf8", env });
    return out
      .split("\n")
      .filter(Boolean)
      .map((suggestion) => suggestion.split("\t")[0] ?? "");
  };

  test.each([
    ["vigil wat", ["watch"]],
    ["vigil machine ", ["node", "zone"]],
    ["vigil run --eviction-mode ", ["direct", "taint"]],
    ["vigil get nodes -o js", ["json", "jsonpath="]],
    ["vigil get zones --wat", ["--watch"]],
    ["vigil explain --server=http://x node ", ["w-1"]],
    ["vigil prove-down ", ["w-2"]],
    ["vigil watch --node ", ["w-2"]],
  ])("offers after %j what fits", (line, expected) => expect(offered(line)).toEqual(expected));
});
