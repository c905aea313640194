/** The subject tree finds the same subscribers as a trial of each pattern. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { matches } from "../../protocols/subjects.ts";
import { SubjectTree } from "../../services/structures/subject-tree.ts";

describe("a subject tree", () => {
  const token = fc.constantFrom("a", "b", "c");
  const subject = fc.array(token, { minLength: 1, maxLength: 4 }).map((tokens) => tokens.join("."));
  const pattern = fc
    .tuple(fc.array(fc.oneof(token, fc.constant("*")), { maxLength: 4 }), fc.boolean())
    .map(([tokens, below]) => [...tokens, ...(below || tokens.length === 0 ? [">"] : [])].join("."));

  test("finds exactly the subscribers whose pattern matches", () => {
    fc.assert(
      fc.property(fc.array(pattern), fc.array(pattern), subject, (stay, leave, published) => {
        const tree = new SubjectTree<string>();
        const stops = leave.map((left, index) => tree.add(left, `left ${index}`));
        for (const [index, kept] of stay.entries()) tree.add(kept, `${index} ${kept}`);
        for (const stop of [...stops, ...stops]) stop();
        const found: string[] = [];
        tree.match(published, (subscriber) => found.push(subscriber));
        const expected = [...stay.entries()].filter(([, kept]) => matches(kept, published));
        expect(found.sort()).toEqual(expected.map(([index, kept]) => `${index} ${kept}`).sort());
      }),
    );
  });
});
