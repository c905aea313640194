/** Plants each deletion from a list of fields in a copy of the tree: the compiler or a unit test reports it. */
import { execFile } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { copiedTree, plant } from "../support/planted-change.ts";
import { FAILING, UNCOMPILED } from "./deletions.ts";

const run = promisify(execFile);

let copy: string;

beforeAll(() => {
  copy = copiedTree(["protocols", "services", "test", "tsconfig.json", "vitest.config.ts"]);
});

afterAll(() => rmSync(copy, { recursive: true, force: true }));

/** What a program of a package prints in the copy, and whether it succeeds. */
async function ran(program: string, words: readonly string[]): Promise<{ ok: boolean; text: string }> {
  const script = join(copy, "node_modules", program);
  const { VITEST: _, ...env } = process.env;
  return run(process.execPath, [script, ...words], { cwd: copy, env }).then(
    ({ stdout }) => ({ ok: true, text: stdout }),
    ({ stdout }: { stdout: string }) => ({ ok: false, text: stdout }),
  );
}

describe("does not compile without", () => {
  let errors: readonly string[];

  beforeAll(async () => {
    const files = [...new Set(UNCOMPILED.map(({ file }) => file))];
    writeFileSync(join(copy, "deletions.json"), JSON.stringify({ extends: "./tsconfig.json", include: [], files }));
    const undo = UNCOMPILED.map((deletion) => plant(deletion, copy));
    errors = (await ran("typescript/bin/tsc", ["--project", "deletions.json"])).text.split(/\n(?=\S)/);
    for (const takeOut of undo.toReversed()) takeOut();
  });

  test.each(UNCOMPILED)("$name", ({ file, reported }) => {
    const ofFile = errors.filter((error) => error.startsWith(`${file}(`));
    expect(ofFile).toContainEqual(expect.stringContaining(`'${reported}'`));
  });
});

describe("fails a test without", () => {
  test.each(FAILING)("$name", async (deletion) => {
    const takeOut = plant(deletion, copy);
    const { ok, text } = await ran("vitest/vitest.mjs", ["run", "--project", "unit", deletion.test]);
    takeOut();
    expect(text).toContain("failed: ");
    expect(ok).toBe(false);
  });
});
