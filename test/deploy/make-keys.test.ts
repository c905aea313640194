/** Runs make-keys.ts as an operator does. What the keys allow is shown by nats-roles.test.ts. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

const PROGRAM = join(import.meta.dirname, "../../deploy/nats/make-keys.ts");
const folder = mkdtempSync(join(tmpdir(), "vigil-keys-"));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const make = (...words: string[]) => spawnSync(process.execPath, [PROGRAM, ...words], { encoding: "utf8" });

test("keys that are there already stay as they are, and the refusal is one line and exit code 1", () => {
  expect(make(folder)).toMatchObject({ status: 0, stderr: "" });
  const read = () => readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
  const before = read();
  const { status, stderr } = make(folder);
  expect(status).toBe(1);
  expect(stderr).toMatch(/^EEXIST: file already exists, .*\.nk'; name a folder for new keys\n$/);
  expect(read()).toEqual(before);
});

test("without a folder the usage is one line and exit code 2", () => {
  const { status, stderr } = make();
  expect([status, stderr]).toEqual([2, "name the folder to write to: npx node deploy/nats/make-keys.ts <folder>\n"]);
});
