/**
 * Writes what can be written from something else: the tables of messages and sentences, NATS' roles, comment lines that
 * are too long.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rolesConfig } from "../deploy/nats/roles.ts";
import { withExplainTables } from "./ledger/explain-table.ts";
import { withMessageTable } from "./protocols/message-table.ts";
import { completedLock } from "./tidy/lockfile.ts";
import { filesBelow } from "./tidy/source.ts";
import { wrapLongComments } from "./tidy/wrap.ts";

const ROOT = join(import.meta.dirname, "..");

rewrite("protocols/README.md", withMessageTable);
rewrite("docs/explain.md", withExplainTables);
rewrite("package-lock.json", completedLock);
rewrite("deploy/nats/roles.conf", () => rolesConfig());
for (const path of filesBelow(ROOT).filter((name) => name.endsWith(".ts"))) rewrite(path, wrapLongComments);

function rewrite(path: string, mend: (text: string) => string): void {
  const file = join(ROOT, path);
  const text = readFileSync(file, "utf8");
  const mended = mend(text);
  if (mended === text) return;
  writeFileSync(file, mended);
  process.stdout.write(`wrote ${path}\n`);
}
