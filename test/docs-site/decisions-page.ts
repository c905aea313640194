/** Writes docs/decisions.md from the titles of the decision records. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(import.meta.dirname, "../../docs/decisions");

/** The list of all decisions, the newest last. */
export function decisionsPage(): string {
  const rows = readdirSync(FOLDER)
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => {
      const [, number = "", title = ""] = /^# (\d+)\. (.+)$/m.exec(readFileSync(join(FOLDER, name), "utf8")) ?? [];
      return `| ${Number(number)} | [${title}](decisions/${name}) |`;
    });
  return [
    "# Decisions",
    "",
    "<!-- Written by `npm run fix` from docs/decisions; do not edit. -->",
    "",
    "Each record says what was decided, why, what follows, and what was not chosen.",
    "",
    "| | decision |",
    "|---|---|",
    ...rows,
    "",
  ].join("\n");
}
