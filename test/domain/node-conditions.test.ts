/** Which nodes need their pods published, and which Ready condition counts. */
import { describe, expect, test } from "vitest";
import { needsPods, readyConditionOf } from "../../services/domain/node-conditions.ts";
import { condition, nodeWith, taint } from "../node/node-fixtures.ts";

describe("pods are published", () => {
  test.each([
    ["not of a ready node", nodeWith("True"), false],
    ["of a node that is not ready", nodeWith("False"), true],
    ["of an unknown node", nodeWith("Unknown"), true],
    ["of a node without Ready", nodeWith(null), true],
    [
      "of a ready node with any NoExecute taint",
      nodeWith("True", { taints: [taint("example.com/a", "NoExecute")] }),
      true,
    ],
    ["not of one with other taints", nodeWith("True", { taints: [taint("example.com/a", "NoSchedule")] }), false],
  ])("%s", (_what, node, expected) => {
    expect(needsPods(node)).toBe(expected);
  });
});

test("of several Ready conditions the first counts (R2.31)", () => {
  const conditions = [condition("Other", "True"), condition("Ready", "False"), condition("Ready", "True")];
  expect(readyConditionOf({ conditions })?.status).toBe("False");
});
