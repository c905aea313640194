/** Holds docs/explain.md to the sentences in the code. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, expectTypeOf, test } from "vitest";
import {
  EXPLAINED_POLICY_SENTENCES,
  POLICY_SENTENCES,
  SENTENCES,
  type Sentence,
  type SentenceName,
  SHADOW_SENTENCES,
  sentence,
  TIMELINE_SENTENCES,
  type TimelineSentenceName,
  ZONE_SENTENCES,
} from "../../../services/ledger/explain/sentences.ts";
import { explainSentences, withExplainSentences } from "./explain-page.ts";

const PAGE = join(import.meta.dirname, "../../../docs/explain.md");

test("docs/explain.md has the sentences of the code; npm run fix writes them", () => {
  const page = readFileSync(PAGE, "utf8");
  expect(withExplainSentences(page)).toBe(page);
});

test("the lists have a line for each sentence", () => {
  const forms = [SENTENCES, POLICY_SENTENCES, ZONE_SENTENCES, EXPLAINED_POLICY_SENTENCES, TIMELINE_SENTENCES];
  const names = forms.flatMap((table) => Object.keys(table));
  expect(new Set(names).size).toBe(names.length);
  const rows = explainSentences().match(/^- .*: `.*`$/gm) ?? [];
  expect(rows).toHaveLength(names.length);
  expect(explainSentences()).toContain("- the node left the API: `Node <node> no longer exists.`");
  expect(explainSentences()).toContain("- `observed.gone`: `left the API`");
});

test("shadow mode says would, as the page has it", () => {
  expect(Object.values(SHADOW_SENTENCES).filter((text) => !text.includes("would "))).toEqual([]);
  expect(readFileSync(PAGE, "utf8")).toContain(`\`${SHADOW_SENTENCES.nodeTainted?.replace("{taints}", "<taints>")}\``);
});

test("a page without the markers is refused", () => {
  expect(() => withExplainSentences("# Explain")).toThrow("the page needs <!-- sentences");
});

test("a sentence begins with a capital letter", () => {
  const filled = sentence("requestOpen", { what: "its deletion", at: "2026-01-01T00:00:00Z" });
  expect(filled.text).toBe("Its deletion was requested at 2026-01-01T00:00:00Z, and its outcome is not known yet.");
});

test("a text outside the tables is no sentence", () => {
  expectTypeOf<string>().not.toExtend<Sentence>();
  expectTypeOf<"allIsWell">().not.toExtend<SentenceName | TimelineSentenceName>();
});
