/** Checks the source against the architecture rules that no linter has, and shows that planted breaches are caught. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { EFFECT_RULES } from "./architecture/effects.rules.ts";
import { IMPORT_RULES, importCircles, unusedDependencies } from "./architecture/imports.rules.ts";
import { completedLock, unhashedPackages } from "./architecture/lockfile.ts";
import { PLANTED } from "./architecture/planted.ts";
import { SAYINGS_RULES } from "./architecture/sayings.rules.ts";
import { SHAPE_RULES } from "./architecture/shape.rules.ts";
import { type Breach, filesBelow, parse, sourcesBelow } from "./architecture/source.ts";
import { STOREY_RULES } from "./architecture/storeys.rules.ts";
import { layoutBreaches, surroundingsNamed } from "./architecture/tree.rules.ts";

const ROOT = join(import.meta.dirname, "..");
const RULES = [...IMPORT_RULES, ...EFFECT_RULES, ...SHAPE_RULES, ...SAYINGS_RULES, ...STOREY_RULES];
const lineOf = ({ path, line, problem }: Breach) => `${path}:${line} ${problem}`;

describe("the source", () => {
  const sources = sourcesBelow(ROOT);

  test("is found", () => expect(sources.length).toBeGreaterThan(20));

  test.each(RULES)("keeps the rule: $name", ({ applies, check }) => {
    const breaches = sources.filter(({ path }) => applies(path)).flatMap(check);
    expect(breaches.map(lineOf)).toEqual([]);
  });

  test("has no circle of imports", () => expect(importCircles(sources).map(lineOf)).toEqual([]));

  test("uses every dependency it ships with", () => {
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    expect(unusedDependencies(sources, Object.keys(dependencies)).map(lineOf)).toEqual([]);
  });
});

test("package-lock.json names the packages of every platform; npm run fix adds them", () => {
  const lock = readFileSync(join(ROOT, "package-lock.json"), "utf8");
  const unknown = () => "unknown";
  expect(completedLock(lock, unknown)).toBe(lock);
});

test("package-lock.json has a hash of every package", () => {
  expect(unhashedPackages(readFileSync(join(ROOT, "package-lock.json"), "utf8"))).toEqual([]);
});

describe("the tree", () => {
  const paths = filesBelow(ROOT);

  test("has every file in its place, under a meaningful name", () => {
    expect(layoutBreaches(paths).map(lineOf)).toEqual([]);
  });

  test("describes only the product", () => {
    const texts = paths.filter((path) => /\.(ts|md|json|yaml|sh)$/.test(path));
    const breaches = texts.flatMap((path) => surroundingsNamed(path, readFileSync(join(ROOT, path), "utf8")));
    expect(breaches.map(lineOf)).toEqual([]);
  });
});

describe("a planted breach is caught", () => {
  const check = (path: string, text: string) =>
    RULES.filter(({ applies }) => applies(path)).flatMap((rule) => rule.check(parse(path, text)));

  test.each(PLANTED)("$what", ({ path, text, caught }) => {
    expect(check(path, text).map(({ problem }) => problem)).toEqual([expect.stringContaining(caught)]);
  });

  test("a file that keeps every rule is not reported", () => {
    const text = "/** Doubles. */\n\n/** Twice the value. */\nexport const twice = (value: number) => value * 2;\n";
    expect(check("services/node/twice.policy.ts", text)).toEqual([]);
  });

  test("a lock file without a platform's package", () => {
    const holder = { version: "1.0.0", dev: true, optionalDependencies: { "@x/binding-linux-arm64-musl": "1.0.0" } };
    const integrityOf = (name: string, of: string) => `hash of ${name} ${of}`;
    const text = JSON.stringify({ packages: { "node_modules/x": holder } });
    const lock = JSON.parse(completedLock(text, integrityOf));
    expect(lock.packages["node_modules/x"].integrity).toBe("hash of x 1.0.0");
    const platform = { os: ["linux"], cpu: ["arm64"], libc: ["musl"] };
    expect(lock.packages["node_modules/@x/binding-linux-arm64-musl"]).toEqual({
      version: "1.0.0",
      integrity: "hash of @x/binding-linux-arm64-musl 1.0.0",
      dev: true,
      optional: true,
      ...platform,
    });
  });

  test("a circle of imports", () => {
    const importing = (path: string, ...files: string[]) =>
      parse(`services/node/${path}`, files.map((file) => `import "./${file}";\n`).join(""));
    const [a, b, c] = [importing("a.ts", "b.ts"), importing("b.ts", "c.ts"), importing("c.ts", "b.ts")];
    expect(importCircles([a, b, c]).map(lineOf)).toEqual([
      "services/node/c.ts:1 circle: services/node/b.ts, services/node/c.ts",
    ]);
  });

  test("a dependency without an importer", () => {
    expect(unusedDependencies([], ["left-pad"]).map(({ problem }) => problem)).toEqual([
      "dependency left-pad is used by no shipped file",
    ]);
  });

  test.each([
    ["services/node/node-utils.ts", "says nothing"],
    ["services/node/pod.manager.ts", "says nothing"],
    ["services/scheduler/main.ts", "none of the services"],
    ["services/node/node.test.ts", "tests live under test/"],
    ["services/node/Node.ts", "lower case"],
    ["src/node.ts", "no place at the top"],
  ])("the path %s", (path, caught) => {
    expect(layoutBreaches([path]).map(({ problem }) => problem)).toEqual([expect.stringContaining(caught)]);
  });

  test("a text that names a path outside the repository", () => {
    const text = `# Design\n\nSee ${"../"}shared/design.md.\n`;
    expect(surroundingsNamed("docs/design.md", text).map(lineOf)).toEqual([
      "docs/design.md:3 names what lies outside the repository",
    ]);
  });

  test("the taint-manager keeps its name", () => {
    expect(layoutBreaches(["services/taint-manager/taint-manager.service.ts"])).toEqual([]);
  });
});
