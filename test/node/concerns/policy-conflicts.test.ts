/** When a conflict of policies is reported: once, and again when it may be another one. */
import { describe, expect, test } from "vitest";
import { PolicyConflicts } from "../../../services/node/concerns/selection/policy-conflicts.ts";
import { recordingLog } from "../../support/recording-log.ts";

const policy = (name: string, pool: string) => {
  return { name, selector: [{ key: "pool", operator: "In" as const, values: [pool] }] };
};
const GPU = policy("gpu", "gpu");
const ALL = { name: "all", selector: [] };

function started() {
  const log = recordingLog();
  const conflicts = new PolicyConflicts(log);
  conflicts.keep([ALL, GPU]);
  const report = (): number => {
    conflicts.report(["all", "gpu"], "n-1");
    return log.lines.length;
  };
  return { conflicts, report };
}

describe("a conflict is logged", () => {
  test("once, whatever else changes", () => {
    const { conflicts, report } = started();
    expect([report(), report()]).toEqual([1, 1]);
    conflicts.keep([ALL, GPU, policy("cpu", "cpu")]);
    expect(report()).toBe(1);
  });

  test("again when a policy has gone and come back", () => {
    const { conflicts, report } = started();
    report();
    conflicts.keep([ALL]);
    conflicts.keep([ALL, GPU]);
    expect(report()).toBe(2);
  });

  test("again when a selector was mended and broken again", () => {
    const { conflicts, report } = started();
    report();
    conflicts.keep([policy("all", "cpu"), GPU]);
    conflicts.keep([ALL, GPU]);
    expect(report()).toBe(2);
  });
});
