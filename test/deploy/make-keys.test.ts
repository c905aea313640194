/** Runs make-keys.ts as an operator does. What the keys allow is shown by nats-roles.test.ts. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

const PROGRAM = join(import.meta.dirname, "../../deploy/nats/make-keys.ts");
const folder = mkdtempSync(join(tmpdir(), "vigil-keys-"));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const make = (...words: string[]) => spawnSync(process.execPath, [PROGRAM, ...words], { encoding: "utf8" });

const contents = () => new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]));

test("keys that are there already stay as they are, and are named", () => {
  expect(make(folder)).toMatchObject({ status: 0, stderr: "" });
  const before = contents();
  const { status, stdout } = make(folder);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^made 0, kept 14 that were there: observer\.nk, .*route-password\n$/);
  expect(contents()).toEqual(before);
});

test("a process can be added to those that have a key of their own", () => {
  expect(make(folder, "reader=r-0,r-1", "writer=w-0").status).toBe(0);
  const before = contents();
  expect([...before.keys()].filter((name) => name.endsWith(".nk")).sort()).toEqual([
    "history.nk",
    "inspector.nk",
    "r-0.nk",
    "r-1.nk",
    "w-0.nk",
  ]);
  expect(make(folder, "reader=r-0,r-1,r-2", "writer=w-0").stdout).toMatch(/^made 1, kept 6 /);
  const after = contents();
  for (const [name, text] of before) if (!name.endsWith(".conf")) expect(after.get(name)).toBe(text);
  expect(after.get("keys.conf")).toContain(before.get("keys.conf")?.split("\n")[0]);
  expect(after.get("roles.conf")).toContain('"vigil.v1.*.pulse.member.*.r-2"');
});

test.each([
  ["viewer=v-0", "viewer=v-0: the role must be one of observer, node,"],
  ["reader=R_0", '"R_0": a member\'s name must be lower-case letters, digits and -'],
  ["reader=", '"": a member\'s name must be lower-case letters, digits and -'],
  ["reader=node", "node: is the name of a role; give the process another name"],
  ["reader=r-0,r-0", "r-0: is named twice; give each process a name of its own"],
])("%s is refused in one line, and nothing is made", (word, problem) => {
  const { status, stderr } = make(folder, word);
  expect(status).toBe(1);
  expect(stderr.startsWith(problem) && stderr.indexOf("\n") === stderr.length - 1).toBe(true);
  expect(existsSync(join(folder, "keys.conf"))).toBe(false);
});

test("a seed that cannot be read is named", () => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "node.nk"), "no seed");
  const { status, stderr } = make(folder);
  expect([status, stderr]).toEqual([
    1,
    `${join(folder, "node.nk")}: must hold an NKey seed; delete it to have a new one made\n`,
  ]);
});

test("without a folder the usage is one line and exit code 2", () => {
  const { status, stderr } = make();
  expect(status).toBe(2);
  expect(stderr).toMatch(/^name the folder to write to, .*\n$/);
});
