/** The deletions still have their places in the source. deletions.slow.test.ts shows that each is reported. */
import { expect, test } from "vitest";
import { planted } from "../support/planted-change.ts";
import { FAILING, UNCOMPILED } from "./deletions.ts";

test.each([...UNCOMPILED, ...FAILING])("$name has its place in $file", (deletion) => {
  expect(planted(deletion)).toContain(deletion.to);
});
