#!/usr/bin/env node
/**
 * The command `vigil`: says which Node it needs, or starts the program. It is plain JavaScript that every Node reads,
 * because an older Node refuses TypeScript before any of it runs.
 */
import { existsSync } from "node:fs";
import module from "node:module";
import { join } from "node:path";

/** The oldest versions that run the program, as `engines` in package.json names them. */
const OLDEST = { 22: 21, 24: 5 };

const { node } = process.versions;
const [major = 0, minor = 0] = node.split(".").map(Number);

if (major > 24 || minor >= (OLDEST[major] ?? Number.POSITIVE_INFINITY)) {
  // Enabled before any module of the program is loaded: with its code compiled a start takes 0.3 s less and the process
  // 27 MiB, and 12 MiB more because Node loads no type stripper. No other user can write beside the packages.
  module.enableCompileCache(join(import.meta.dirname, "../node_modules/.cache/vigil"));
  // A package holds JavaScript, a checkout TypeScript.
  await import(existsSync(new URL("main.js", import.meta.url)) ? "./main.js" : "./main.ts");
} else {
  process.stderr.write(
    `vigil: Node ${node} cannot run it: install Node 24.5 or newer, or 22.21; ` +
      "in a checkout, `npm run vigil --` takes the Node 24 that npm installed\n",
  );
  process.exitCode = 1;
}
