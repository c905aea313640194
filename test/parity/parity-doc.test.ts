/** Checks docs/parity.md against itself and the tree: each rule has one row, and every test it names exists. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const NOT_SHOWN = "not shown";
const NOTHING_TO_SHOW = "–";

/** The last number of each family of rules; each is numbered from 1 without a gap. */
const LAST_OF_FAMILY = {
  "R1.": 7,
  "R2.": 49,
  "R3.": 11,
  "R4.": 42,
  "R5.": 20,
  "R6.": 21,
  "R7.": 13,
  "R8.": 35,
  "R9.": 34,
  "R12.": 3,
  "R13.": 2,
  C: 5,
  L: 54,
  P: 15,
  D: 41,
};

const rows = readFileSync(join(ROOT, "docs/parity.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| rule "))
  .map((line) => line.slice(1, -1).split("|"))
  .map(([id = "", is = "", short = "", shown = "", ...rest]) => ({
    id: id.trim(),
    is: is.trim(),
    short: short.trim(),
    tests: shown.trim().split(", "),
    rest,
  }));
const problemsOf = (problem: (row: (typeof rows)[number]) => boolean) => rows.filter(problem).map(({ id }) => id);

/** Whether a row names a file: a suite or a part of one. */
const isThere = (name: string) => ["test.ts", "ts"].some((ending) => existsSync(join(ROOT, `test/${name}.${ending}`)));

describe("docs/parity.md", () => {
  test.each(Object.entries(LAST_OF_FAMILY))("has every rule of %s, in order, up to %i", (family, last) => {
    const ids = rows.map(({ id }) => id).filter((id) => id.startsWith(family) && /^\d+$/.test(id.slice(family.length)));
    expect(ids).toEqual(Array.from({ length: last }, (_, index) => `${family}${index + 1}`));
  });

  test("has each row once, in four cells", () => {
    const ids = rows.map(({ id }) => id);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    expect(problemsOf(({ id, short, rest }) => id === "" || short === "" || rest.length > 0)).toEqual([]);
  });

  test("marks each row as same, better or absent", () => {
    expect(problemsOf(({ is }) => !["same", "better", "absent"].includes(is))).toEqual([]);
  });

  test("names tests that exist, or says that there is none", () => {
    const isNone = (tests: readonly string[]) => tests.length === 1 && tests[0] === NOT_SHOWN;
    const named = rows.filter(({ tests, is }) => !isNone(tests) && !(is === "absent" && tests[0] === NOTHING_TO_SHOW));
    expect(
      named.flatMap(({ id, tests }) => tests.filter((name) => !isThere(name)).map((name) => `${id}: ${name}`)),
    ).toEqual([]);
  });
});
