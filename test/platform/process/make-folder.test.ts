/** The temporary folders of a process. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const PROCESS = join(import.meta.dirname, "../../../services/platform/process/process.ts");

test.each(["", "process.exit(3);"])("a temporary folder ends with its process: %j", (end) => {
  const script = `import { thisProcess } from ${JSON.stringify(PROCESS)};
    const host = thisProcess();
    const folder = host.makeFolder();
    host.writeFile(folder + "/kubeconfig", "x");
    console.log(folder);
    ${end}`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  expect(stdout, stderr).toMatch(/^\/.*vigil-\w+\n$/);
  expect(existsSync(stdout.trim())).toBe(false);
});
