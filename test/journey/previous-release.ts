/**
 * The release before this tree, installed by npm from its tarball: the one that VIGIL_PREVIOUS names, or one packed
 * from the last tag. Before the first release an earlier commit is used.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
/** The last commit in which node policies set only graces and rates. */
const BEFORE_FIRST_RELEASE = "751b477bbcd38d65e68d795af034bbf0eee77860";

/** An installed release. */
export interface Release {
  /** Its program. */
  readonly main: string;
  /** Removes it. */
  remove(): void;
}

/** Why there is no release before this tree, in one line; null when there is one. */
export function previousReleaseProblem(): string | null {
  const { VIGIL_PREVIOUS: given } = process.env;
  if (given !== undefined) return existsSync(given) ? null : `VIGIL_PREVIOUS=${given}: no such file`;
  if (git("cat-file", "-e", previousVersion()) !== null) return null;
  return "no earlier version in this checkout: `git fetch --unshallow`, or name a tarball in VIGIL_PREVIOUS";
}

/** Installs the release before this tree, with its own dependencies. */
export function installPreviousRelease(): Release {
  const folder = mkdtempSync(join(tmpdir(), "vigil-previous-"));
  const { VIGIL_PREVIOUS: given } = process.env;
  const tarball = given === undefined ? packed(previousVersion(), folder) : resolve(given);
  const project = join(folder, "project");
  mkdirSync(project);
  // npm installs into the nearest folder above that is a project.
  writeFileSync(join(project, "package.json"), "{}");
  npm(project, "install", "--no-audit", "--no-fund", tarball);
  const main = join(project, "node_modules/vigil/dist/services/main.js");
  return { main, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** The last tag before this tree, which may be tagged itself, or the commit that replaces it. */
function previousVersion(): string {
  const tags = git("tag", "--list", "v*", "--merged", "HEAD", "--no-contains", "HEAD", "--sort=-version:refname") ?? "";
  return tags.split("\n")[0] || BEFORE_FIRST_RELEASE;
}

/** Packs the sources of a commit into a folder, with the tools of this tree. Returns the tarball. */
function packed(commit: string, folder: string): string {
  const sources = join(folder, "sources");
  mkdirSync(sources);
  const archive = join(folder, "sources.tar");
  git("archive", `--output=${archive}`, commit);
  execFileSync("tar", ["-xf", archive, "-C", sources]);
  symlinkSync(join(ROOT, "node_modules"), join(sources, "node_modules"));
  npm(sources, "pack", "--pack-destination", folder);
  const file = readdirSync(folder).find((each) => each.endsWith(".tgz"));
  if (file === undefined) throw new Error(`npm packed nothing of ${commit}`);
  return join(folder, file);
}

function npm(cwd: string, ...args: string[]): void {
  execFileSync("npm", [...args, "--silent"], { cwd, stdio: ["ignore", "pipe", "inherit"] });
}

/** Runs git in this repository; null where it fails, as in a folder without history. */
function git(...args: string[]): string | null {
  const { status, stdout } = spawnSync("git", args, { cwd: ROOT, encoding: "utf8" });
  return status === 0 ? stdout : null;
}
