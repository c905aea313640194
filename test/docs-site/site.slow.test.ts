/** The documentation site: it builds, and each of its links leads somewhere. */
import { execFile } from "node:child_process";
import { globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { filesBelow } from "../architecture/source.ts";
import { deadLinks } from "./built-site.ts";

const ROOT = join(import.meta.dirname, "../..");
/** The build computes for about ten seconds, and shares the processor with simulations. */
const BUILD_MS_MAX = 300_000;
const VITEPRESS = join(ROOT, "node_modules/vitepress/bin/vitepress.js");

describe("the site", () => {
  const site = mkdtempSync(join(tmpdir(), "vigil-site-"));
  beforeAll(async () => {
    const build = [VITEPRESS, "build", join(ROOT, "docs"), "--outDir", site];
    await promisify(execFile)(process.execPath, build, { cwd: ROOT, env: { ...process.env, NODE_ENV: "production" } });
  }, BUILD_MS_MAX);
  afterAll(() => rmSync(site, { recursive: true }));

  test("has a page for every page of docs/", () => {
    const pages = filesBelow(ROOT).filter((path) => path.startsWith("docs/") && path.endsWith(".md"));
    const built = globSync("**/*.html", { cwd: site });
    expect(pages.map((path) => path.replace(/md$/, "html")).filter((path) => !built.includes(path))).toEqual([]);
    expect(built).toContain("index.html");
  });

  test("has no link that leads nowhere, and no anchor that is missing", () => {
    expect(deadLinks(site)).toEqual([]);
  });
});
