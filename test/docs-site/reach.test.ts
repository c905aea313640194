/** A reader comes from the start page to each task in two clicks, and no page of a task is long. */
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { expect, test } from "vitest";
import { SIDEBAR } from "../../docs/.vitepress/sidebar.ts";
import { linksOf } from "./page-links.ts";

const ROOT = join(import.meta.dirname, "../..");
const TASKS = ["Start here", "How to", "When something is wrong"];
const read = (page: string): string => readFileSync(join(ROOT, page), "utf8");
const pageOf = (link: string): string => (link === "/" ? "README.md" : `${link.slice(1)}.md`);
const tasks = SIDEBAR.filter(({ text }) => TASKS.includes(text))
  .flatMap(({ items }) => items)
  .map(({ link }) => pageOf(link));

/** The pages to which a page links, itself among them. */
function linkedFrom(page: string): string[] {
  const paths = linksOf(read(page)).map(({ path }) => (path === "" ? page : posix.join(posix.dirname(page), path)));
  return [page, ...paths.filter((path) => path.endsWith(".md"))];
}

test("each task is two clicks from the README, without the sidebar", () => {
  const reached = linkedFrom("README.md").flatMap(linkedFrom);
  expect(tasks.filter((page) => !reached.includes(page))).toEqual([]);
  expect(tasks.length).toBeGreaterThan(20);
});

test.each(tasks.filter((page) => page.startsWith("docs/how-to/")))("%s has fewer than 1,000 words", (page) => {
  expect(read(page).split(/\s+/).length).toBeLessThan(1000);
});

test("docs/run-in-a-cluster.md has fewer than 1,000 words, and links to its steps", () => {
  expect(read("docs/run-in-a-cluster.md").split(/\s+/).length).toBeLessThan(1000);
  const steps = ["image-and-keys", "shadow-mode", "replace-upstream"].map((name) => `docs/how-to/${name}.md`);
  expect(linkedFrom("docs/run-in-a-cluster.md")).toEqual(expect.arrayContaining(steps));
});
