/** The command's launcher, on this Node and on others. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

const LAUNCHER = join(import.meta.dirname, "../../services/vigil.js");

/** What `vigil version` prints on a Node that says it is this version. */
function onNode(version: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const claim = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } })`;
  const args = ["--import", `data:text/javascript,${encodeURIComponent(claim)}`, LAUNCHER, "version"];
  return new Promise((resolve) => {
    execFile(process.execPath, args, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr });
    });
  });
}

test.each(["20.19.2", "22.20.0", "23.11.0", "24.4.1"])(
  "Node %s gets a line that names the Node it needs",
  async (version) => {
    expect(await onNode(version)).toEqual({
      code: 1,
      stdout: "",
      stderr:
        `vigil: Node ${version} cannot run it: install Node 24.5 or newer, or 22.21; ` +
        "in a checkout, `npm run vigil --` takes the Node 24 that npm installed\n",
    });
  },
);

test.each(["22.21.0", "25.0.0"])("Node %s runs the program", async (version) => {
  expect(await onNode(version)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^vigil \d/) });
});
