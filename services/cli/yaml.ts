/** Documents in YAML as kubectl and its kin read them. */
import { Document, Scalar, visit } from "yaml";
import { isPrintable, printableJson } from "../platform/process/printable.ts";

/**
 * A value as one document. Texts that older readers take for something else, such as `no` or `on`, are quoted. So are
 * texts with characters that a terminal would act upon, because only a quoted text can hold them as escapes.
 */
export function yamlText(value: unknown): string {
  const document = new Document(value, { compat: "yaml-1.1" });
  visit(document, {
    Scalar(_key, scalar) {
      if (typeof scalar.value === "string" && !isPrintable(scalar.value)) scalar.type = Scalar.QUOTE_DOUBLE;
    },
  });
  // On one line each, so that no part of a text looks like a line of the document.
  const lines = document.toString({ lineWidth: 0, doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER });
  return printableJson(lines);
}
