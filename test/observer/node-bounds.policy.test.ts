/** Which taints of a node with too many are published. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { MESSAGE_BYTES_MAX } from "../../protocols/frame.ts";
import { TAINTS_MAX } from "../../protocols/objects.ts";
import { boundedNode } from "../../services/observer/observer.policy.ts";
import { nodeWith, taint } from "../node/node-fixtures.ts";

const OURS = taint("node.kubernetes.io/unreachable", "NoExecute");
const CONDITION = taint("node.kubernetes.io/disk-pressure", "NoSchedule");
const foreign = (effect: string, count: number) =>
  Array.from({ length: count }, (_, index) => taint(`example.com/${effect}-${index}`, effect));

test("a node with TAINTS_MAX taints is unchanged", () => {
  const node = nodeWith("True", { taints: foreign("NoExecute", TAINTS_MAX) });
  expect(boundedNode(node)).toBe(node);
});

test("our own taints are kept first, then other NoExecute taints, in their order", () => {
  const some = foreign("NoExecute", 10);
  const taints = [...foreign("NoSchedule", 100), ...some, CONDITION, OURS];
  const { taints: kept, taintsOmitted } = boundedNode(nodeWith("True", { taints }));
  expect([kept.length, taintsOmitted]).toEqual([TAINTS_MAX, taints.length - TAINTS_MAX]);
  expect(kept.slice(-12)).toEqual([...some, CONDITION, OURS]);
});

test("the recorded start of an omitted taint is omitted too", () => {
  const taints = [...foreign("NoExecute", TAINTS_MAX), OURS];
  const taintsSeenAt = Object.fromEntries(taints.map(({ key, effect }) => [`${key}:${effect}`, 5]));
  const { taints: kept, taintsSeenAt: seen = {} } = boundedNode(nodeWith("True", { taints, taintsSeenAt }));
  expect(Object.keys(seen)).toEqual(kept.map(({ key, effect }) => `${key}:${effect}`));
});

test("any taints take at most half of a message", () => {
  const text = (most: number) => fc.integer({ min: 0, max: 2 * most }).map((length) => "x".repeat(length));
  const anyTaint = fc.record({ key: text(317), value: text(63), effect: fc.constantFrom("NoExecute", "NoSchedule") });
  fc.assert(
    fc.property(fc.array(anyTaint, { maxLength: 300 }), (taints) => {
      const { taints: kept, taintsOmitted = 0 } = boundedNode(nodeWith("True", { taints }));
      expect(JSON.stringify(kept).length).toBeLessThanOrEqual(MESSAGE_BYTES_MAX / 2);
      expect(kept.length + taintsOmitted).toBe(taints.length);
    }),
    { numRuns: 50 },
  );
});
