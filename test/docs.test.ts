/** Holds the pages to the tree: what they name exists. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { SIDEBAR } from "../docs/.vitepress/sidebar.ts";
import { VERBS } from "../services/cli/verb-list.ts";
import { checkSpec } from "../services/domain/node-policy.parse.ts";
import { nodeMachine } from "../services/node/node.machine.ts";
import { RUN_SETTINGS } from "../services/platform/config/config.ts";
import { zoneMachine } from "../services/zone/zone.machine.ts";
import { filesBelow } from "./architecture/source.ts";
import { unknownMetrics } from "./console/documented-metrics.ts";
import { commandsIn, unknownFlags } from "./docs-site/commands.ts";
import { GENERATED_PAGES } from "./docs-site/generated-pages.ts";
import { anchorsOf, linksOf } from "./docs-site/page-links.ts";
import { withMachineDrawings } from "./machine-drawings.ts";

const ROOT = join(import.meta.dirname, "..");
const PAGES = filesBelow(ROOT).filter((path) => path.endsWith(".md"));
const namedIn = (page: string, pattern: RegExp) =>
  [...readFileSync(join(ROOT, page), "utf8").matchAll(pattern)].map(([, name = ""]) => name);

/** The most words of README and docs: a reader has to get through them. */
const WORDS_MAX = 70_000;

test("README and docs have at most 70,000 words", () => {
  const read = PAGES.filter((page) => page === "README.md" || page.startsWith("docs/"));
  const words = read.flatMap((page) => readFileSync(join(ROOT, page), "utf8").split(/\s+/).filter(Boolean));
  expect(words.length).toBeLessThanOrEqual(WORDS_MAX);
});

test.each(PAGES)("every file that %s names exists", (page) => {
  const named = namedIn(page, /`((?:services|protocols|test|deploy|docs)\/[\w./-]+\.\w+)`/g);
  const linked = namedIn(page, /\]\((?!https?:|#)([^)#]+)/g).map((path) => join(dirname(page), path));
  expect([...named, ...linked].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test.each(PAGES)("every anchor that %s links to exists", (page) => {
  const anchored = linksOf(readFileSync(join(ROOT, page), "utf8")).filter(({ anchor }) => anchor !== "");
  const broken = anchored.filter(({ path, anchor }) => {
    const target = path === "" ? page : posix.join(posix.dirname(page), path);
    return !anchorsOf(readFileSync(join(ROOT, target), "utf8")).includes(anchor);
  });
  expect(broken).toEqual([]);
});

test.each(PAGES)("every flag of a command of %s exists", (page) => {
  expect(commandsIn(readFileSync(join(ROOT, page), "utf8")).flatMap(unknownFlags)).toEqual([]);
});

test.each(Object.entries(GENERATED_PAGES))("%s follows the code; npm run fix writes it", async (page, pageText) => {
  expect(readFileSync(join(ROOT, page), "utf8")).toBe(await pageText());
});

describe("the sidebar of the site", () => {
  const links = SIDEBAR.flatMap(({ items }) => items).map(({ link }) => link);
  const pages = links.map((link) => (link === "/" ? "README.md" : `${link.slice(1)}.md`));

  test("links to pages that exist, each once", () => {
    expect(pages.filter((page) => !PAGES.includes(page))).toEqual([]);
    expect(pages).toEqual([...new Set(pages)]);
  });

  test("has every page of docs/ but the decisions", () => {
    const own = PAGES.filter((page) => page.startsWith("docs/") && !page.startsWith("docs/decisions/"));
    expect(own.filter((page) => !pages.includes(page))).toEqual([]);
  });
});

test.each(PAGES)("every verb that %s names exists", (page) => {
  const verbs = VERBS.map(({ name }) => name);
  const named = namedIn(page, /(?:`vigil|npm run (?:-s )?vigil --) ([a-z][a-z-]*)/g);
  expect(named.filter((name) => !verbs.includes(name))).toEqual([]);
});

test.each(PAGES)("every script and every test that %s runs exists", (page) => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const missing = namedIn(page, /npm run (?:-s )?([\w:]+)/g).filter((name) => !Object.hasOwn(scripts, name));
  const paths = namedIn(page, /vitest run (test[\w./-]*)/g).filter((path) => !existsSync(join(ROOT, path)));
  expect([...missing, ...paths]).toEqual([]);
});

test.each(PAGES)("a command of %s prints only Vigil's output, without npm's banner", (page) => {
  expect(namedIn(page, /npm run (vigil)/g)).toEqual([]);
});

test("every flag of vigil run that the README and the decisions name exists", () => {
  const flags = [...Object.values(RUN_SETTINGS).map(({ flag }) => flag), "enable-taint-manager", "controllers"];
  const pages = ["README.md", ...PAGES.filter((page) => page.startsWith("docs/decisions/"))];
  const named = pages.flatMap((page) => namedIn(page, /`--([a-z-]+)/g));
  expect(named.filter((flag) => !flags.includes(flag))).toEqual([]);
});

test("every decision has a number of its own, the same in its title and its name", () => {
  const decisions = PAGES.filter((page) => /^docs\/decisions\/\d/.test(page));
  const numbers = decisions.map((page) => Number(page.slice("docs/decisions/".length).slice(0, 4)));
  expect(numbers).toEqual(decisions.map((_page, index) => index + 1));
  expect(decisions.flatMap((page) => namedIn(page, /^# (\d+)\./g)).map(Number)).toEqual(numbers);
});

test("docs/machines.md draws the real machines, each event, guard and action explained", () => {
  const page = readFileSync(join(ROOT, "docs/machines.md"), "utf8");
  expect(withMachineDrawings(page)).toBe(page);
  const named = [nodeMachine, zoneMachine].flatMap(({ events, implementations: { guards, actions } }) => [
    ...events,
    ...Object.keys(guards),
    ...Object.keys(actions),
  ]);
  const explained = namedIn("docs/machines.md", /^\| (`.*`) \|/gm).join(" ");
  expect(named.filter((name) => !explained.includes(`\`${name}\``))).toEqual([]);
});

test("every sentence of explain that the troubleshooting quotes exists", () => {
  const sentences = readFileSync(join(ROOT, "docs/explain.md"), "utf8");
  const quoted = namedIn("docs/troubleshooting.md", /`((?:It|Vigil|has been|stays|is due) [^`]*)`/g);
  expect(quoted.length).toBeGreaterThan(8);
  const parts = quoted.flatMap((sentence) => sentence.split(/…|<[^>]*>/)).map((part) => part.trim());
  expect(parts.filter((part) => !sentences.includes(part))).toEqual([]);
});

test("every number of docs/sizing.md was measured: docs/performance.md has it", () => {
  const measured = readFileSync(join(ROOT, "docs/performance.md"), "utf8");
  const numbers = namedIn("docs/sizing.md", /(\d+(?:\.\d+)? (?:s|MiB|%))(?![\w])/g);
  expect(numbers.length).toBeGreaterThan(30);
  expect(numbers.filter((number) => !measured.includes(number))).toEqual([]);
});

const PRESENT_PAGES = PAGES.filter((page) => page !== "docs/metrics.md" && !page.startsWith("docs/decisions/"));
test.each(PRESENT_PAGES)("every metric that %s names exists", (page) => {
  expect(unknownMetrics(readFileSync(join(ROOT, page), "utf8"))).toEqual([]);
});

test.each(PAGES)("every node policy of %s is accepted", (page) => {
  const objects = namedIn(page, /```yaml\n([^`]*)```/g)
    .filter((text) => /^kind: NodePolicy$/m.test(text))
    .map((text) => parse(text));
  expect(objects.flatMap(({ spec }) => checkSpec(spec).problems)).toEqual([]);
});

test("a page without the mark of a drawing is refused", () => {
  expect(() => withMachineDrawings("# Machines")).toThrow("the page must hold <!-- node machine");
});
