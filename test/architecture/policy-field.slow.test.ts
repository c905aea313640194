/** Adds the field of CONTRIBUTING.md to a copy of the tree: a person edits at most five files, and the rest follows. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { copiedTree } from "../support/planted-change.ts";

const FILES_MAX = 5;
const LINES_MAX = 60;
const ROOT = join(import.meta.dirname, "../..");
const [, diff = ""] = /```diff\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8")) ?? [];
const edits = diff.split(/^ \/\/ (?=.*\.ts$)/m).filter((edit) => edit !== "");

let copy: string;

beforeAll(() => {
  copy = copiedTree([
    "protocols",
    "services",
    "test",
    "deploy",
    "docs",
    "package-lock.json",
    "tsconfig.json",
    "vitest.config.ts",
  ]);
});

afterAll(() => rmSync(copy, { recursive: true, force: true }));

/** Applies the lines of one file: each run of added lines goes behind the line of the file that precedes it. */
function apply(edit: string): void {
  const [name = "", ...lines] = edit.trimEnd().split("\n");
  const file = join(copy, name);
  const text = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  let place = 0;
  for (const line of lines) {
    if (line.startsWith("+")) text.splice(place++, 0, line.slice(1));
    else place = text.indexOf(line.slice(1), place) + 1;
    if (place === 0) throw new Error(`${name} has no line ${line}`);
  }
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text.join("\n"));
}

function run(...words: readonly string[]): string {
  const { VITEST: _, ...env } = process.env;
  return execFileSync(process.execPath, words, { cwd: copy, env, encoding: "utf8" });
}

test("a plain field of a policy and its concern are at most five files and 60 lines", () => {
  expect(edits.length).toBeGreaterThan(2);
  expect(edits.length).toBeLessThanOrEqual(FILES_MAX);
  expect(diff.split("\n").length).toBeLessThanOrEqual(LINES_MAX);
});

test("types, definition, reference and explain follow from these", () => {
  edits.forEach(apply);
  run("deploy/fix.ts");
  run(join(copy, "node_modules/typescript/bin/tsc"), "--noEmit");
  for (const written of ["deploy/crd/nodepolicies.yaml", "docs/reference/node-policy.md", "docs/asyncapi.yaml"]) {
    expect(readFileSync(join(copy, written), "utf8")).toContain("joinDelay");
  }
  const suites = ["test/node/concerns/join-delay", "test/deploy/node-policy-crd.test", "test/domain/node-policy"];
  run(join(copy, "node_modules/vitest/vitest.mjs"), "run", "--project", "unit", ...suites);
});
