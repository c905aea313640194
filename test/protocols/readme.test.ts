/** Holds the table of messages in protocols/README.md to the schemas. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { messageTable, withMessageTable } from "./message-table.ts";

const PAGE = join(import.meta.dirname, "../../protocols/README.md");

test("protocols/README.md holds the table as the schemas are; npm run fix writes it", () => {
  const page = readFileSync(PAGE, "utf8");
  expect(withMessageTable(page)).toBe(page);
});

test("the table has a row for a message, with its fields, its sender and its receivers", () => {
  expect(messageTable()).toContain(
    "| `observed.gone` | node | node, uid | observer → observer, node, zone, taint-manager, ledger | a node left the API |",
  );
});

test("a page without the marks is refused by name", () => {
  expect(() => withMessageTable("# Messages")).toThrow("the page must hold <!-- messages");
});
