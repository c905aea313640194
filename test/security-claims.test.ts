/** SECURITY.md names a test for each thing that it says an attacker cannot do. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");
const PAGE = readFileSync(join(ROOT, "SECURITY.md"), "utf8");
const TESTS = /test\/[\w./-]+\.test\.ts/g;

/** The tests behind the page's short links, such as `[roles][]`. */
const LINKS = new Map([...PAGE.matchAll(/^\[([\w ]+)\]: (\S+)$/gm)].map(([, name = "", path = ""]) => [name, path]));

/** Paragraphs, items of lists and rows of tables; the heading of a table is none. */
const STATEMENTS = PAGE.split("\n\n").flatMap((block) =>
  block.startsWith("|") ? block.split("\n").slice(2) : block.split(/\n(?=- )/),
);

/** The tests that a statement names. */
function testsOf(statement: string): string[] {
  const linked = [...statement.matchAll(/\[([\w ]+)\]\[\]/g)].flatMap(([, name = ""]) => LINKS.get(name) ?? []);
  return [...(statement.match(TESTS) ?? []), ...linked];
}

describe("SECURITY.md", () => {
  const claims = STATEMENTS.filter((statement) => /\bcannot\b|\]\[\]/.test(statement));

  test.each(claims.map((claim) => [claim.slice(0, 50), claim]))("names a test: %s", (_beginning, claim) => {
    expect(testsOf(claim)).not.toEqual([]);
  });

  test("names only tests that exist", () => {
    const named = new Set(STATEMENTS.flatMap(testsOf));
    expect([...named].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    expect(named.size).toBeGreaterThan(10);
  });
});
