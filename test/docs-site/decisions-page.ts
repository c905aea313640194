/** Writes docs/decisions/README.md, the decision records by subject, from their titles. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(import.meta.dirname, "../../docs/decisions");
const RECORD = /^\d{4}-.*\.md$/;

/** The subjects in the order of the records, each with the number of its first one. */
const SUBJECTS: readonly { readonly title: string; readonly from: number }[] = [
  { title: "What is known, and since when", from: 1 },
  { title: "Taints and countdowns", from: 6 },
  { title: "Zones", from: 9 },
  { title: "Writes", from: 12 },
  { title: "Processes", from: 17 },
  { title: "Policies and modes", from: 21 },
  { title: "Messages and reads", from: 28 },
  { title: "Security, logs and names", from: 31 },
  { title: "The project", from: 35 },
];

/** The list of all decisions under their subjects. */
export function decisionsPage(): string {
  const records = readdirSync(FOLDER)
    .filter((name) => RECORD.test(name))
    .sort()
    .map((name) => {
      const [, number = "", title = ""] = /^# (\d+)\. (.+)$/m.exec(readFileSync(join(FOLDER, name), "utf8")) ?? [];
      return { number: Number(number), line: `${number}. [${title}](${name})` };
    });
  const sections = SUBJECTS.map(({ title, from }, index) => {
    const next = SUBJECTS[index + 1]?.from ?? Number.POSITIVE_INFINITY;
    const lines = records.filter(({ number }) => number >= from && number < next).map(({ line }) => line);
    return [`## ${title}`, "", ...lines].join("\n");
  });
  return [
    "# Decisions",
    "<!-- Written by `npm run fix` from docs/decisions; do not edit. -->",
    "Each record says what was decided, why, what follows, and what was not chosen.",
    ...sections,
  ]
    .join("\n\n")
    .concat("\n");
}
