/** YAML output that kubectl and other YAML 1.1 readers parse. */
import { Document, Scalar, visit } from "yaml";
import { isPrintable, printableJson } from "../../platform/process/printable.ts";

/**
 * A value as one document. Quotes texts that YAML 1.1 reads as another type, such as `no`, and texts with control
 * characters, which only a quoted text can escape.
 */
export function yamlText(value: unknown): string {
  const document = new Document(value, { compat: "yaml-1.1" });
  visit(document, {
    Scalar(_key, scalar) {
      if (typeof scalar.value === "string" && !isPrintable(scalar.value)) scalar.type = Scalar.QUOTE_DOUBLE;
    },
  });
  // One line per text, so that no part of a text looks like a line of the document.
  const lines = document.toString({ lineWidth: 0, doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER });
  return printableJson(lines);
}
