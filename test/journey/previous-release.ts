/**
 * The release before this tree, from its tarball as npm would install it: the one that VIGIL_PREVIOUS names, or else
 * one packed from the last tag. Before the first release an earlier commit stands for it, and in a checkout without
 * history this tree itself.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
/** The last commit whose node policies set graces and rates only. */
const BEFORE_FIRST_RELEASE = "751b477bbcd38d65e68d795af034bbf0eee77860";

/** An installed release. */
export interface Release {
  /** What it was packed from. */
  readonly name: string;
  /** Its program. */
  readonly main: string;
  /** Removes it. */
  remove(): void;
}

/** Installs the release before this tree. */
export function installPreviousRelease(): Release {
  const folder = mkdtempSync(join(tmpdir(), "vigil-previous-"));
  const { name, tarball } = previousTarball(folder);
  execFileSync("tar", ["-xzf", tarball, "-C", folder]);
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const main = join(folder, "package/dist/services/main.js");
  return { name, main, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

function previousTarball(folder: string): { readonly name: string; readonly tarball: string } {
  const given = process.env.VIGIL_PREVIOUS;
  if (given !== undefined && existsSync(given)) return { name: given, tarball: given };
  const tags = git("tag", "--list", "v*", "--merged", "HEAD", "--sort=-version:refname") ?? "";
  const name = tags.split("\n")[0] || BEFORE_FIRST_RELEASE;
  const isKnown = git("cat-file", "-e", name) !== null;
  const sources = isKnown ? extracted(name, folder) : ROOT;
  execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: sources, stdio: "pipe" });
  const file = readdirSync(folder).find((each) => each.endsWith(".tgz"));
  if (file === undefined) throw new Error(`npm packed nothing of ${name}`);
  return { name: isKnown ? name : "this tree", tarball: join(folder, file) };
}

/** The sources of a commit, with the packages of this tree. */
function extracted(commit: string, folder: string): string {
  const sources = join(folder, "sources");
  mkdirSync(sources);
  const archive = join(folder, "sources.tar");
  git("archive", `--output=${archive}`, commit);
  execFileSync("tar", ["-xf", archive, "-C", sources]);
  symlinkSync(join(ROOT, "node_modules"), join(sources, "node_modules"));
  return sources;
}

/** Runs git in this repository; null where it fails, as in a folder without history. */
function git(...args: string[]): string | null {
  const { status, stdout } = spawnSync("git", args, { cwd: ROOT, encoding: "utf8" });
  return status === 0 ? stdout : null;
}
