/**
 * Scenarios on virtual time: nodes with missing or absurd fields, and payloads that are no messages. Nothing breaks and
 * nothing is written.
 */
import { describe, expect, test } from "vitest";
import { subjectOf } from "../../protocols/subjects.ts";
import { metricValue } from "../support/metric-value.ts";
import { VirtualCluster } from "../support/virtual-cluster.ts";
import { ALL_UNKNOWN, ALL_WELL, SPINE } from "./spine.ts";

const NODE = { kind: "Node", namespace: "", name: "odd" } as const;
const TIME = "2026-01-01T00:00:00Z";

describe("a node", () => {
  test.each([
    ["no spec and no status", {}, {}],
    ["conditions that are no list", {}, { conditions: null }],
    ["a condition without times", {}, { conditions: [{ type: "Ready", status: "True" }] }],
    [
      "an unreadable time",
      {},
      { conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: null, lastTransitionTime: TIME }] },
    ],
    [
      "a condition twice",
      {},
      { conditions: [1, 2].map(() => ({ type: "Ready", status: "True", lastHeartbeatTime: TIME })) },
    ],
  ])("with %s does no harm to itself or its neighbours", (_what, spec, status) => {
    const cluster = new VirtualCluster();
    const neighbour = cluster.addNode({ name: "neighbour" });
    const body = { apiVersion: "v1", kind: "Node", metadata: { name: "odd" }, spec, status };
    cluster.write({ verb: "create", ref: NODE, urgency: 0, body });
    cluster.start(SPINE);
    cluster.advance(40_000);
    expect(cluster.conditions("neighbour")).toEqual(ALL_WELL);
    neighbour.stop();
    cluster.advance(50_001);
    expect(cluster.conditions("neighbour")).toEqual(ALL_UNKNOWN);
  });
});

describe("on the bus", () => {
  const garbage: [string, string][] = [
    ["no JSON", "{"],
    ["no frame", "[]"],
    [
      "an unknown type",
      JSON.stringify({
        v: 1,
        type: "asked.nothing",
        id: "a@b:1:asked.nothing.0:1",
        source: "a@b",
        at: 0,
        cause: null,
        body: {},
      }),
    ],
    [
      "a body of nonsense",
      JSON.stringify({
        v: 1,
        type: "observed.node",
        id: "a@b:1:observed.node.0:1",
        source: "a@b",
        at: 0,
        cause: null,
        body: { node: 7 },
      }),
    ],
    [
      "another version",
      JSON.stringify({
        v: 2,
        type: "observed.node",
        id: "a@b:1:observed.node.0:1",
        source: "a@b",
        at: 0,
        cause: null,
        body: {},
      }),
    ],
  ];

  test.each(garbage)("%s is counted and dropped, and nothing is written", async (_what, payload) => {
    const cluster = new VirtualCluster();
    cluster.addNode({ name: "node-1" });
    const process = cluster.start(SPINE);
    cluster.advance(10_000);
    const before = cluster.node("node-1");
    for (let shard = 0; shard < 64; shard++) {
      cluster.transport.publish(
        subjectOf("test", "observed.node", shard, ["node-1"]),
        new TextEncoder().encode(payload),
      );
    }
    cluster.advance(10_000);
    expect(cluster.node("node-1")).toEqual(before);
    expect(await metricValue(process.metrics, "vigil_bus_dropped_total")).toBe(64);
  });
});

test("steps of the wall clock in both directions bring no verdict and hide none", () => {
  const cluster = new VirtualCluster();
  const kubelet = cluster.addNode({ name: "node-1", statusPeriodMs: 10_000 });
  cluster.start(SPINE);
  cluster.advance(30_000);
  cluster.clock.stepWall(3_600_000);
  cluster.advance(60_000);
  cluster.clock.stepWall(-7_200_000);
  cluster.advance(60_000);
  expect(cluster.conditions("node-1")).toEqual(ALL_WELL);
  kubelet.stop();
  const stoppedAtMs = cluster.clock.monotonicMs();
  cluster.advance(25_000);
  cluster.clock.stepWall(600_000);
  cluster.advance(25_001);
  expect(cluster.conditions("node-1")).toEqual(ALL_UNKNOWN);
  expect(cluster.published("asked.condition").map(({ atMs }) => atMs)).toEqual([stoppedAtMs + 50_001]);
});
