/** `npm ci` in a checkout, on a Node that is older than the one that its scripts use. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const NPMRC = join(import.meta.dirname, "../../.npmrc");
/** A package that no Node of today may run. */
const PACKAGE = { name: "checkout", version: "1.0.0", engines: { node: ">=99" } };

/** What npm prints of an installation; `prepare` makes the folder of the package. */
function installed(prepare: (folder: string) => void): string {
  const folder = mkdtempSync(join(tmpdir(), "checkout-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "package.json"), JSON.stringify(PACKAGE));
  const lock = { name: PACKAGE.name, version: PACKAGE.version, lockfileVersion: 3, packages: { "": PACKAGE } };
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock));
  prepare(folder);
  // What npm sets for the script of a test run would win over the file.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_config_")));
  const { stdout, stderr, status } = spawnSync("npm", ["ci", "--offline"], { cwd: folder, encoding: "utf8", env });
  expect(status).toBe(0);
  return `${stdout}${stderr}`;
}

test("npm ci on an older Node prints no warning of engines", () => {
  expect(installed((folder) => cpSync(NPMRC, join(folder, ".npmrc")))).not.toContain("EBADENGINE");
  expect(installed(() => {})).toContain("EBADENGINE");
});
