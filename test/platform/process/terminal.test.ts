/** What a terminal sends and receives. */
import { expect, test } from "vitest";
import { drawn, keysIn } from "../../../services/platform/process/terminal.ts";

test.each([
  ["q", ["q"]],
  ["\u001b[A\u001b[B", ["up", "down"]],
  ["\u001bOA", ["up"]],
  ["\u001b", ["escape"]],
  ["\r", ["enter"]],
  ["\u007f", ["backspace"]],
  ["\t", ["tab"]],
  ["\u0003", ["interrupt"]],
  ["/käse", ["/", "k", "ä", "s", "e"]],
  ["\u001b[3~\u001b[1;5C\u0001", []],
])("%j is the keys %j", (input, keys) => expect(keysIn(input)).toEqual(keys));

test("a screen is drawn in place, without clearing it first", () => {
  expect(drawn(["a", "b"])).toBe("\u001b[Ha\u001b[K\r\nb\u001b[K\u001b[J");
});
