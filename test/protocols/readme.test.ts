/** Checks the table of messages in protocols/README.md against the schemas. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { messageTable, withMessageTable } from "./message-table.ts";

const PAGE = join(import.meta.dirname, "../../protocols/README.md");

test("protocols/README.md has the table of the schemas; npm run fix writes it", () => {
  const page = readFileSync(PAGE, "utf8");
  expect(withMessageTable(page)).toBe(page);
});

test("the table has a row per message, with its fields, senders and receivers", () => {
  expect(messageTable()).toContain(
    "| `asked.resync` | – | shard, reason | node, zone, taint-manager, pod-writer, ledger, policy → observer, node, taint-manager | publish",
  );
});

test("a page without the marks is refused, and the missing mark is named", () => {
  expect(() => withMessageTable("# Messages")).toThrow("the page must hold <!-- messages");
});
