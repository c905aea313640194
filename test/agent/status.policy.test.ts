/** Whether a status has changed and whether it is posted now. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { STANDARD_AGENT } from "../../services/agent/agent.settings.ts";
import { computeStatus } from "../../services/agent/setters.ts";
import {
  extraDelayMs,
  isReportDue,
  NOTHING_REPORTED,
  nodeStatusHasChanged,
  updateNode,
  withPlatformLabels,
} from "../../services/agent/status.policy.ts";
import { conditionWith, inputOf, NOW, nodeOf, STATS } from "./agent-fixtures.ts";

const PERIOD_MS = STANDARD_AGENT.statusReportMs;
const LABELS = { "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64" };

describe("a changed status", () => {
  const a = conditionWith("A", "True");
  const b = conditionWith("B", "True");

  it.each([
    ["two missing ones", undefined, undefined, false],
    ["one missing", undefined, {}, true],
    ["another order of conditions", { conditions: [a, b] }, { conditions: [b, a] }, false],
    ["a heartbeat", { conditions: [a] }, { conditions: [{ ...a, lastHeartbeatTime: NOW }] }, false],
    ["a transition time", { conditions: [a] }, { conditions: [{ ...a, lastTransitionTime: NOW }] }, true],
    ["a message", { conditions: [a] }, { conditions: [{ ...a, message: "new" }] }, true],
    ["a condition more", { conditions: [a] }, { conditions: [a, b] }, true],
    ["a capacity", { capacity: { cpu: "1" } }, { capacity: { cpu: "2" } }, true],
    ["a capacity in the API's form", { capacity: { pods: "1k" } }, { capacity: { pods: "1000" } }, false],
    ["an allocatable in another form", { allocatable: { cpu: "2" } }, { allocatable: { cpu: "2000m" } }, false],
    ["an allocatable", { allocatable: { cpu: "2" } }, { allocatable: { cpu: "2001m" } }, true],
    ["a resource more", { capacity: { cpu: "1" } }, { capacity: { cpu: "1", "example.com/gpu": "0" } }, true],
    ["another order of fields", { x: { p: 1, q: 2 } }, { x: { q: 2, p: 1 } }, false],
  ])("differs by %s: %s (R9.17)", (_, before, after, changed) => {
    expect(nodeStatusHasChanged(before, after)).toBe(changed);
  });

  it("is not caused by a comparison", () => {
    const status = { conditions: [b, a] };
    nodeStatusHasChanged(status, status);
    expect(status.conditions).toEqual([b, a]);
  });
});

describe("updating a node", () => {
  const known = computeStatus(nodeOf({ metadata: { labels: LABELS } }), inputOf()).node;

  it("changes only heartbeats on an up-to-date node", () => {
    expect(updateNode(known, inputOf({ nowMs: inputOf().nowMs + 10_000 }), "").changed).toBe(false);
  });

  it.each([
    ["", [], false],
    ["", ["10.1.0.0/24"], true],
    ["10.1.0.0/24", ["10.1.0.0/24"], false],
    ["10.1.0.0/24", ["10.1.0.0/24", "fd00::/64"], true],
    ["10.1.0.0/24", [], false],
  ])("with pod ranges %j before and %j now is a change: %s (R9.15)", (before, podCIDRs, changed) => {
    expect(updateNode({ ...known, spec: { podCIDRs } }, inputOf(), before).changed).toBe(changed);
  });

  it.each([
    [LABELS, true],
    [{}, false],
    [{ ...LABELS, "kubernetes.io/os": "windows" }, false],
    [{ "kubernetes.io/os": "linux" }, false],
  ])("with labels %j leaves them: %s (R9.16)", (labels, right) => {
    const node = nodeOf({ ...known, metadata: { labels: { ...labels, mine: "1" } } });
    expect(withPlatformLabels(node, STATS) === node).toBe(right);
    expect(updateNode(node, inputOf(), "")).toMatchObject({
      changed: !right,
      node: { metadata: { labels: { ...LABELS, mine: "1" } } },
    });
  });
});

describe("a report", () => {
  it.each([
    ["nothing was reported", NOTHING_REPORTED, false, 0, true],
    ["the status changed", { atMs: 0, extraDelayMs: 0 }, true, 1, true],
    ["the period is not over", { atMs: 0, extraDelayMs: 0 }, false, PERIOD_MS - 1, false],
    ["the period is over to the millisecond", { atMs: 0, extraDelayMs: 0 }, false, PERIOD_MS, true],
    ["the period is lengthened", { atMs: 0, extraDelayMs: 10 }, false, PERIOD_MS + 9, false],
    ["the lengthened period is over", { atMs: 0, extraDelayMs: 10 }, false, PERIOD_MS + 10, true],
    ["the shortened period is over", { atMs: 0, extraDelayMs: -10 }, false, PERIOD_MS - 10, true],
  ])("when %s is due: %s (R9.12)", (_, last, changed, nowMs, due) => {
    expect(isReportDue(last, changed, nowMs, PERIOD_MS)).toBe(due);
  });

  it("follows a change or a start by 2.5 to 7.5 min, else by 5 (R9.12, R9.14)", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), fc.boolean(), (chance, changed) => {
        const first = extraDelayMs(NOTHING_REPORTED, changed, PERIOD_MS, () => chance);
        expect(first).toBeGreaterThanOrEqual(-PERIOD_MS / 2);
        expect(first).toBeLessThan(PERIOD_MS / 2);
        const later = extraDelayMs({ atMs: 1, extraDelayMs: 5 }, changed, PERIOD_MS, () => chance);
        expect(later).toBe(changed ? first : 0);
      }),
    );
  });
});
