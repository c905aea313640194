/** Architecture rules about the tree as a whole: where files are and how they are named. */
import { hasVagueName } from "./shape.rules.ts";
import type { Breach } from "./source.ts";

/** The permitted entries at the top of the repository. */
const TOP_LEVEL = new Set([
  ".changeset",
  ".ci",
  ".dockerignore",
  ".github",
  ".gitignore",
  ".npmrc",
  ".oxlintrc.json",
  "CHANGELOG.md",
  "CODE_OF_CONDUCT.md",
  "CONTRIBUTING.md",
  "Dockerfile",
  "LICENSE",
  "README.md",
  "SECURITY.md",
  "biome.json",
  "compose.yaml",
  "deploy",
  "docs",
  "knip.json",
  "package-lock.json",
  "package.json",
  "protocols",
  "services",
  "test",
  "tsconfig.json",
  "vitest.config.ts",
]);

/** The most files directly in a folder: more of them have a subject that deserves a folder of its own. */
const FILES_MAX = 25;

/** The folders under services/: one for each service, and the shared ones. */
const SERVICE_FOLDERS = new Set([
  "agent",
  "cli",
  "console",
  "domain",
  "ledger",
  "main.ts",
  "node",
  "node-writer",
  "observer",
  "platform",
  "pod-writer",
  "policy",
  "sandbox",
  "structures",
  "taint-manager",
  "vigil.js",
  "zone",
]);

const FILE_NAME = /^[a-z0-9]+(?:[.-][a-z0-9]+)*\.ts$/;

/** Breaches of layout and naming among the repository's paths. */
export function layoutBreaches(paths: readonly string[]): Breach[] {
  const ofPaths = paths.flatMap((path) => problemsOf(path).map((problem) => ({ path, line: 1, problem })));
  return [...ofPaths, ...fullFolders(paths)];
}

function fullFolders(paths: readonly string[]): Breach[] {
  const shipped = paths.filter((path) => path.startsWith("services/") || path.startsWith("protocols/"));
  const folders = Map.groupBy(shipped, (path) => path.slice(0, path.lastIndexOf("/")));
  return Array.from(folders)
    .filter(([, files]) => files.length > FILES_MAX)
    .map(([path, { length }]) => ({
      path,
      line: 1,
      problem: `${length} files, at most ${FILES_MAX}: give them rooms`,
    }));
}

function problemsOf(path: string): string[] {
  const [top = "", second = ""] = path.split("/");
  const name = path.split("/").at(-1) ?? "";
  const problems: string[] = [];
  if (!TOP_LEVEL.has(top)) problems.push(`${top} has no place at the top of the repository`);
  if (top === "services" && !SERVICE_FOLDERS.has(second)) problems.push(`services/${second} is none of the services`);
  if (top === "services" && name.endsWith(".test.ts")) problems.push("tests live under test/");
  if (name.endsWith(".ts") && !FILE_NAME.test(name)) problems.push("file names are lower case words joined by - and .");
  if (hasVagueName(path)) problems.push("a name that says nothing: name what it is");
  return problems;
}

/** Breaches of the rule that the repository only describes the product; `.ci/run` alone may name its environment. */
export function surroundingsNamed(path: string, text: string): Breach[] {
  if (path === ".ci/run" || path === "test/architecture/tree.rules.ts") return [];
  return text
    .split("\n")
    .flatMap((line, index) =>
      line.includes("../shared") ? [{ path, line: index + 1, problem: "names what lies outside the repository" }] : [],
    );
}
