/** The dashboard's files: its own, and those of the package that draws its charts. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import type { RouteAnswer } from "./console.routes.ts";

const HTML = "text/html; charset=utf-8";
const CSS = "text/css; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";

const MODULES = [
  "page",
  "elements",
  "evictions",
  "explain",
  "fleet",
  "held-back",
  "node-eviction",
  "nodes",
  "policies",
  "timeline",
  "views",
  "wrong",
  "zone-rate",
];

/** The files by path, with the name of each: in the folder `page`, or in a package. */
const FILES: ReadonlyMap<string, readonly [contentType: string, file: string]> = new Map([
  ["/", [HTML, "./index.html"]],
  ["/page.css", [CSS, "./page.css"]],
  ["/icon.svg", ["image/svg+xml", "./icon.svg"]],
  ["/uplot.css", [CSS, "uplot/dist/uPlot.min.css"]],
  ["/uplot.js", [SCRIPT, "uplot/dist/uPlot.esm.js"]],
  ...MODULES.map((name): [string, [string, string]] => [`/${name}.js`, [SCRIPT, `./${name}.js`]]),
]);

const read = new Map<string, RouteAnswer>();

/** The answer with the file of this path; null for another path. Throws if an installation lacks the file. */
export function pageFile(path: string): RouteAnswer | null {
  const [contentType, file] = FILES.get(path) ?? [];
  if (contentType === undefined || file === undefined) return null;
  const known = read.get(path);
  if (known !== undefined) return known;
  const answer = { status: 200, contentType, body: readFileSync(placeOf(file), "utf8") };
  read.set(path, answer);
  return answer;
}

function placeOf(file: string): URL {
  if (file.startsWith("./")) return new URL(`page/${file}`, import.meta.url);
  return pathToFileURL(createRequire(import.meta.url).resolve(file));
}
