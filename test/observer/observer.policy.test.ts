/** Which changes of a node are published, and how its pods are split into messages. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ObservedNode } from "../../protocols/objects.ts";
import { PODS_CHUNKS_MAX } from "../../protocols/observed.ts";
import { CHUNK_BYTES_MAX, nodeChange, podChunks, waitedOf } from "../../services/observer/observer.policy.ts";
import { condition, nodeWith, taint } from "../node/node-fixtures.ts";
import { observedPod } from "../support/observed-objects.ts";

describe("a renewal read 100 ms late at most", () => {
  test.each([
    ["was made just now", 0, 0],
    ["was made meanwhile", 30, 30],
    ["was made as the wait began", 100, 100],
    ["was made just before the wait", 101, 100],
    ["was made a wait before that", 200, 100],
    ["comes from a clock that is behind", 201, 0],
    ["comes from a clock that is far behind", 60_000, 0],
    ["comes from a clock that is ahead", -1, 0],
  ])("%s, %i ms ago: it waited %i ms", (_, ageMs, waitedMs) => {
    expect(waitedOf(1_000_000 - ageMs, 1_000_000, 100)).toBe(waitedMs);
  });

  test("without a stamp counts from when it was read", () => {
    expect(waitedOf(null, 1_000_000, 100)).toBe(0);
  });
});

const before = nodeWith("True", {
  resourceVersion: "10",
  labels: { zone: "a" },
  taints: [taint("k", "NoSchedule", { value: "v", timeAdded: "t" })],
  conditions: [condition("Ready", "True", { reason: "r" }), condition("DiskPressure", "False")],
});
const [ready = condition("Ready", "True"), ...rest] = before.conditions;

describe("a node's change", () => {
  const cases: [string, Partial<ObservedNode>, ReturnType<typeof nodeChange>][] = [
    ["nothing but the resourceVersion", { resourceVersion: "12" }, "none"],
    ["an older resourceVersion, as of a restored backup", { resourceVersion: "9" }, "state"],
    ["a heartbeat", { resourceVersion: "12", conditions: [{ ...ready, heartbeatAt: 9 }, ...rest] }, "heartbeat"],
    ["a transition time", { conditions: [{ ...ready, transitionAt: 9 }, ...rest] }, "state"],
    ["a condition's type", { conditions: [{ ...ready, type: "Reddy" }, ...rest] }, "state"],
    ["a status", { conditions: [{ ...ready, status: "False" }, ...rest] }, "state"],
    ["a reason", { conditions: [{ ...ready, reason: "s" }, ...rest] }, "state"],
    ["a condition more", { conditions: [ready, ...rest, condition("PIDPressure", "False")] }, "state"],
    ["a condition less", { conditions: [ready] }, "state"],
    ["another order of conditions", { conditions: [...rest, ready] }, "state"],
    ["a label", { labels: { zone: "b" } }, "state"],
    ["a label more", { labels: { zone: "a", region: "r" } }, "state"],
    ["a taint's key", { taints: [taint("l", "NoSchedule", { value: "v", timeAdded: "t" })] }, "state"],
    ["a taint's effect", { taints: [taint("k", "NoExecute", { value: "v", timeAdded: "t" })] }, "state"],
    ["a taint's value", { taints: [taint("k", "NoSchedule", { value: "w", timeAdded: "t" })] }, "state"],
    ["a taint's time", { taints: [taint("k", "NoSchedule", { value: "v", timeAdded: "u" })] }, "state"],
    ["no taint any more", { taints: [] }, "state"],
  ];
  test.each(cases)("of %s", (_what, fields, change) => {
    expect(nodeChange(before, { ...structuredClone(before), ...fields })).toBe(change);
  });
});

describe("a change of a node's field", () => {
  /** Every field of the schema but the name, with a value that differs from `before`. */
  const otherwise: Required<Omit<ObservedNode, "node">> = {
    uid: "uid-2",
    resourceVersion: "12",
    createdAt: 7,
    labels: { zone: "b" },
    policyLabels: 1,
    unschedulable: true,
    taints: [],
    taintsOmitted: 2,
    conditions: [ready],
    taintsSeenAt: { "k:NoExecute": 5 },
    taintsSeenStale: true,
    taintSwap: { at: 1, firstKey: "k", firstAt: 0, secondAt: 1 },
    readyTransitionsAt: [5],
    conditionSightings: [{ type: "Kernel", status: "True", since: 5, transitionAt: null }],
    holds: [{ type: "Drain", fromAt: 5, toAt: null }],
    conditionTaints: { "k:NoExecute": "Kernel" },
    provedDown: { proof: "Manual", by: "ops", at: 5, reason: "off" },
    outOfServiceAt: 5,
    writtenBy: { ready: "vigil" },
    shadow: { added: [taint("k", "NoExecute")] },
  };
  test.each(Object.keys(otherwise) as (keyof typeof otherwise)[])(
    "%s alone is published, except a newer version",
    (field) => {
      const after = { ...structuredClone(before), [field]: otherwise[field] };
      const [same, changed] = [nodeChange(after, structuredClone(after)), nodeChange(before, after)];
      expect([same, changed]).toEqual(["none", field === "resourceVersion" ? "none" : "state"]);
    },
  );

  /** A change within a field that both nodes have. */
  const within: [string, Partial<ObservedNode>, Partial<ObservedNode>][] = [
    [
      "a sighting",
      { conditionSightings: [{ type: "K", status: "True", since: 5, transitionAt: 1 }] },
      { conditionSightings: [{ type: "K", status: "True", since: 5, transitionAt: 2 }] },
    ],
    ["a hold's end", { holds: [{ type: "D", fromAt: 5, toAt: null }] }, { holds: [{ type: "D", fromAt: 5, toAt: 6 }] }],
    [
      "a proof",
      { provedDown: { proof: "Manual", by: "a", at: 5, reason: "r" } },
      { provedDown: { proof: "Manual", by: "b", at: 5, reason: "r" } },
    ],
  ];
  test.each(within)("in a part of it, such as %s, is published", (_what, fields, others) => {
    expect(nodeChange({ ...before, ...fields }, { ...before, ...others })).toBe("state");
  });
});

describe("chunks of pods", () => {
  test("of a node without pods are one empty chunk", () => {
    expect(podChunks([])).toEqual({ chunks: [[]], omitted: [] });
  });

  test("hold every pod once, in order, within the limit", () => {
    const anyPod = fc
      .record({ name: fc.string({ maxLength: 250 }), padding: fc.integer({ min: 0, max: 30_000 }) })
      .map(({ name, padding }) => observedPod(name, { tolerations: [{ value: "é".repeat(padding) }] }));
    fc.assert(
      fc.property(fc.array(anyPod, { maxLength: 12 }), (pods) => {
        const { chunks, omitted } = podChunks(pods);
        const fitting = pods.filter((pod) => Buffer.byteLength(JSON.stringify(pod)) + 1 <= CHUNK_BYTES_MAX);
        expect(chunks.flat()).toEqual(fitting);
        expect(omitted).toEqual(pods.filter((pod) => !fitting.includes(pod)));
        for (const chunk of chunks)
          expect(Buffer.byteLength(JSON.stringify(chunk))).toBeLessThanOrEqual(CHUNK_BYTES_MAX + 2);
      }),
      { numRuns: 50 },
    );
  });

  test("are filled one after the other, so a full node takes few messages", () => {
    const third = { tolerations: [{ value: "x".repeat(CHUNK_BYTES_MAX / 3 - 300) }] };
    const pods = Array.from({ length: 7 }, (_, index) => observedPod(`p-${index}`, third));
    expect(podChunks(pods).chunks.map(({ length }) => length)).toEqual([3, 3, 1]);
  });

  test("leave out a pod too large for a message", () => {
    const absurd = observedPod("absurd", { tolerations: [{ value: "x".repeat(CHUNK_BYTES_MAX) }] });
    const { chunks, omitted } = podChunks([observedPod("a"), absurd, observedPod("b")]);
    expect(chunks.flat().map(({ name }) => name)).toEqual(["a", "b"]);
    expect(omitted).toEqual([absurd]);
  });

  test("are at most PODS_CHUNKS_MAX; pods beyond are left out", () => {
    const whole = { tolerations: [{ value: "x".repeat(CHUNK_BYTES_MAX - 1000) }] };
    const pods = Array.from({ length: PODS_CHUNKS_MAX + 2 }, () => observedPod("p", whole));
    const { chunks, omitted } = podChunks([...pods, observedPod("small")]);
    expect([chunks.length, omitted.length]).toEqual([PODS_CHUNKS_MAX, 2]);
    expect(chunks.at(-1)?.at(-1)?.name).toBe("small");
  });
});
