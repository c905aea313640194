/** What the checks of links, anchors and commands find, and what they leave alone. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type LinkToken, withSiteLinks } from "../../docs/.vitepress/repository-links.ts";
import { deadLinks } from "./built-site.ts";
import { commandsIn, unknownFlags } from "./commands.ts";
import { anchorsOf, linksOf } from "./page-links.ts";

test("an anchor is made as GitHub makes it", () => {
  const page = "# 1. In `shadow` mode\n## What's *left*?\n## What's left?\n### [A link](b.md)\n```sh\n# none\n```\n";
  expect(anchorsOf(page)).toEqual(["1-in-shadow-mode", "whats-left", "whats-left-1", "a-link"]);
});

test("links to other hosts and links in code are left alone", () => {
  const page = "[a](b.md#c) [d](#e) [f](https://g.h/i#j)\n```\n[k](l.md)\n```\n";
  expect(linksOf(page)).toEqual([
    { path: "b.md", anchor: "c" },
    { path: "", anchor: "e" },
  ]);
});

test("a flag that a verb does not have is found, in each spelling of a command", () => {
  const page = [
    "```",
    "vigil run --shadow --shade | grep --color",
    "kubectl vigil get nodes --zone='a --b' \\",
    "  --zones=a",
    "npm run -s vigil -- top --colour",
    "vigil-writer --none; vigilant --none",
    "```",
    "`vigil run --prose`",
  ].join("\n");
  expect(commandsIn(page).flatMap(unknownFlags)).toEqual([
    "vigil run --shade",
    "vigil get --zones",
    "vigil top --colour",
  ]);
});

test("a built link to no page, file or anchor is dead", () => {
  const site = mkdtempSync(join(tmpdir(), "vigil-links-"));
  mkdirSync(join(site, "docs"));
  writeFileSync(
    join(site, "index.html"),
    '<a href="/docs/a.html#b">x</a> <a href="./docs/a.html#c">x</a> <img src="/d">',
  );
  writeFileSync(join(site, "docs/a.html"), '<h1 id="b"></h1> <a class="x" href="../">x</a> <a href="e.html">x</a>');
  expect(deadLinks(site).toSorted()).toEqual(["docs/a.html: e.html", "index.html: ./docs/a.html#c", "index.html: /d"]);
  rmSync(site, { recursive: true });
});

test("a link to a file that is no page becomes text, one to the README the home page", () => {
  const link = (href: string) => {
    let value = href;
    const attrSet = (_name: string, text: string) => {
      value = text;
    };
    return { type: "link_open", attrGet: () => value, attrSet };
  };
  const text: LinkToken = { type: "text", attrGet: () => null, attrSet: () => {} };
  const close = { ...text, type: "link_close" };
  const tokens = [link("../LICENSE"), text, close, link("../README.md#a"), text, close, link("b.md"), text, close];
  const kept = withSiteLinks(tokens, "docs/c.md");
  expect(kept.map(({ type }) => type)).toEqual([
    "text",
    "link_open",
    "text",
    "link_close",
    "link_open",
    "text",
    "link_close",
  ]);
  expect(kept.map((token) => token.attrGet("href")).filter((href) => href !== null)).toEqual(["/#a", "b.md"]);
});
