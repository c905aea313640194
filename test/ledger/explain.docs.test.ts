/** Holds docs/explain.md to the sentences as the code has them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, expectTypeOf, test } from "vitest";
import {
  SENTENCES,
  type Sentence,
  type SentenceName,
  sentence,
  TIMELINE_SENTENCES,
  type TimelineSentenceName,
} from "../../services/ledger/explain/sentences.ts";
import { explainTables, withExplainTables } from "./explain-table.ts";

const PAGE = join(import.meta.dirname, "../../docs/explain.md");

test("docs/explain.md holds every sentence as the code has it; npm run fix writes it", () => {
  const page = readFileSync(PAGE, "utf8");
  expect(withExplainTables(page)).toBe(page);
});

test("the tables have a row for each sentence, with its state or its message", () => {
  const names = [SENTENCES, TIMELINE_SENTENCES].flatMap((forms) => Object.keys(forms));
  expect(new Set(names).size).toBe(names.length);
  expect(explainTables().match(/^\| .* \| `.*` \|$/gm)).toHaveLength(names.length);
  expect(explainTables()).toContain("| the node left the API | `Node <node> is not there any more.` |");
  expect(explainTables()).toContain("| `observed.gone` | `left the API` |");
});

test("a page without the marks is refused by name", () => {
  expect(() => withExplainTables("# Explain")).toThrow("the page must hold <!-- sentences");
});

test("a sentence begins with a capital, whatever is filled in first", () => {
  const filled = sentence("requestOpen", { what: "its deletion", at: "2026-01-01T00:00:00Z" });
  expect(filled).toBe("Its deletion was requested at 2026-01-01T00:00:00Z, and its outcome is not known yet.");
});

test("a text that no table holds is no sentence", () => {
  expectTypeOf<string>().not.toExtend<Sentence>();
  expectTypeOf<"allIsWell">().not.toExtend<SentenceName | TimelineSentenceName>();
});
