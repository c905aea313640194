/**
 * Builds what `npm pack` packs: JavaScript and types under dist/, since Node runs no TypeScript below node_modules. npm
 * runs this before it packs.
 */
import { execFileSync } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
const OUTPUT = join(ROOT, "dist");
/** Files that the program reads at run time. */
const READ = ["services/console/page"];
/** The command, which is JavaScript already. */
const COMMAND = "services/vigil.js";

rmSync(OUTPUT, { recursive: true, force: true });
execFileSync("tsc", ["--project", join(import.meta.dirname, "tsconfig.json")], { stdio: "inherit" });
for (const path of [...READ, COMMAND]) cpSync(join(ROOT, path), join(OUTPUT, path), { recursive: true });
