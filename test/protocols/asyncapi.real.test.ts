/** docs/asyncapi.yaml before AsyncAPI's own validator, which npm's registry has. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeUnless } from "../support/describe-unless.ts";

const DOCUMENT = join(import.meta.dirname, "../../docs/asyncapi.yaml");
/** No dependency of the project, because it brings a hundred packages for this one check. */
const VALIDATOR = "@asyncapi/parser@3.6.3";
const REGISTRY_MISSING = "npm's registry does not answer: set one with `npm config set registry`";
const PROGRAM = `import { readFileSync } from "node:fs";
import { Parser } from "@asyncapi/parser";
const { document, diagnostics } = await new Parser().parse(readFileSync(process.argv[2], "utf8"));
const severe = diagnostics.filter(({ severity }) => severity === 0);
const errors = severe.map(({ message, path }) => path.join(".") + ": " + message);
console.log(JSON.stringify({ version: document?.version() ?? null, errors }));
`;

function registryProblem(): string | null {
  const { status } = spawnSync("npm", ["view", VALIDATOR, "name"], { timeout: 20_000 });
  return status === 0 ? null : REGISTRY_MISSING;
}

describeUnless(registryProblem(), "AsyncAPI's own validator", () => {
  const folder = mkdtempSync(join(tmpdir(), "asyncapi-"));
  const validated = (file: string): { version: string | null; errors: string[] } =>
    JSON.parse(execFileSync(process.execPath, ["validate.mjs", file], { cwd: folder, encoding: "utf8" }));

  beforeAll(() => {
    writeFileSync(join(folder, "package.json"), "{}");
    writeFileSync(join(folder, "validate.mjs"), PROGRAM);
    execFileSync("npm", ["install", "--silent", "--no-audit", "--no-fund", VALIDATOR], { cwd: folder, stdio: "pipe" });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("accepts docs/asyncapi.yaml", () => {
    expect(validated(DOCUMENT)).toEqual({ version: "3.0.0", errors: [] });
  });

  test("finds a mistake", () => {
    const file = join(folder, "mistaken.yaml");
    writeFileSync(file, readFileSync(DOCUMENT, "utf8").replace("\nchannels:\n", "\nchanels:\n"));
    const { errors } = validated(file);
    expect(errors).toContain("operations.done.write.channel.$ref: '#/channels/done.write' does not exist");
  });
});
