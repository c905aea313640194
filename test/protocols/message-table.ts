/** Writes the table of messages in protocols/README.md from the schemas. */
import { isMessageType, MESSAGES } from "../../protocols/messages.ts";

const OPENS = "<!-- messages: written by npm run fix -->";
const CLOSES = "<!-- end of messages -->";

/** The table of every message in Markdown. */
export function messageTable(): string {
  const rows = Object.keys(MESSAGES)
    .filter(isMessageType)
    .map((type) => {
      const { schema, keyNames, from, to, purpose } = MESSAGES[type];
      const key = keyNames.length === 0 ? "–" : keyNames.join(", ");
      return `| \`${type}\` | ${key} | ${Object.keys(schema.shape).join(", ")} | ${from} → ${to} | ${purpose} |`;
    });
  return ["| message | key | body | from → to | meaning |", "|---|---|---|---|---|", ...rows].join("\n");
}

/** A page whose table between the two marks is written again. Throws an Error when a mark is missing. */
export function withMessageTable(page: string): string {
  const from = page.indexOf(OPENS);
  const to = page.indexOf(CLOSES);
  if (from < 0 || to < from) throw new Error(`the page must hold ${OPENS} and, after it, ${CLOSES}`);
  return `${page.slice(0, from + OPENS.length)}\n${messageTable()}\n${page.slice(to)}`;
}
