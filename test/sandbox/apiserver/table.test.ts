/** The tables of kubectl: columns, cells and ages. */
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../../services/sandbox/apiserver/api-objects.ts";
import { ageOf, durationWords } from "../../../services/sandbox/apiserver/views/column.ts";
import { COLUMNS } from "../../../services/sandbox/apiserver/views/columns.ts";
import { podCells } from "../../../services/sandbox/apiserver/views/pod-columns.ts";
import { Embedded, node, START_MS } from "./embedded.ts";

const TYPED = { apiVersion: "v1", kind: "Any" };
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe("an age", () => {
  test.each([
    [-2 * SECOND, "<invalid>"],
    [-1 * SECOND, "0s"],
    [0, "0s"],
    [119_999, "119s"],
    [2 * MINUTE, "2m"],
    [2 * MINUTE + 5 * SECOND, "2m5s"],
    [10 * MINUTE - 1, "9m59s"],
    [10 * MINUTE + 5 * SECOND, "10m"],
    [3 * HOUR - 1, "179m"],
    [3 * HOUR, "3h"],
    [3 * HOUR + 5 * MINUTE, "3h5m"],
    [8 * HOUR + 5 * MINUTE, "8h"],
    [2 * DAY - 1, "47h"],
    [2 * DAY + 3 * HOUR, "2d3h"],
    [8 * DAY + 3 * HOUR, "8d"],
    [730 * DAY - 1, "729d"],
    [730 * DAY, "2y"],
    [735 * DAY, "2y5d"],
    [9 * 365 * DAY, "9y"],
  ])("of %i ms is %s", (ms, words) => expect(durationWords(ms)).toBe(words));

  test("without a time is unknown", () => {
    expect([null, undefined, "", "now"].map((instant) => ageOf(instant, START_MS))).toEqual(Array(4).fill("<unknown>"));
    expect(ageOf("2025-12-31T23:59:00Z", START_MS)).toBe("60s");
  });
});

const container = (state: JsonObject, ready = false, restartCount = 0): JsonObject => ({
  state,
  ready,
  restartCount,
});
const running = container({ running: {} }, true, 1);
const shown = (status: JsonObject, more: JsonObject = {}): string => {
  const spec = { containers: [{}, {}], ...more };
  const { ready, status: words, restarts } = podCells({ ...TYPED, metadata: { name: "p" }, spec, status });
  return `${ready} ${words} ${restarts}`;
};

const POD_ROWS: readonly (readonly [what: string, status: JsonObject, shown: string])[] = [
  ["a phase alone", { phase: "Pending" }, "0/2 Pending 0"],
  ["a reason of its own", { phase: "Failed", reason: "Evicted" }, "0/2 Evicted 0"],
  ["both containers running", { phase: "Running", containerStatuses: [running, running] }, "2/2 Running 2"],
  [
    "one crashing",
    {
      phase: "Running",
      containerStatuses: [running, container({ waiting: { reason: "CrashLoopBackOff" } }, false, 4)],
    },
    "1/2 CrashLoopBackOff 5",
  ],
  [
    "one ended with a code",
    { phase: "Running", containerStatuses: [container({ terminated: { exitCode: 3 } })] },
    "0/2 ExitCode:3 0",
  ],
  [
    "one ended by a signal",
    { phase: "Running", containerStatuses: [container({ terminated: { exitCode: 1, signal: 9 } })] },
    "0/2 Signal:9 0",
  ],
  [
    "one completed beside one running",
    { phase: "Running", containerStatuses: [running, container({ terminated: { reason: "Completed" } })] },
    "1/2 NotReady 1",
  ],
  [
    "the same, ready",
    {
      phase: "Running",
      conditions: [{ type: "Ready", status: "True" }],
      containerStatuses: [running, container({ terminated: { reason: "Completed" } })],
    },
    "1/2 Running 1",
  ],
];

test.each(POD_ROWS)("a pod with %s has its row", (_what, status, expected) => expect(shown(status)).toBe(expected));

function cellsOf(kind: keyof typeof COLUMNS, object: JsonObject): Record<string, Json> {
  const table = COLUMNS[kind];
  const row = table.cells({ ...TYPED, metadata: { name: "x" }, ...object }, START_MS);
  expect(row).toHaveLength(table.columns.length);
  return Object.fromEntries(table.columns.map(({ name }, index) => [name, row[index] ?? null]));
}

test("a node's row has its state, roles and addresses", () => {
  const metadata = { name: "n", labels: { "node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge" } };
  const ready = (status: string): JsonObject => ({
    conditions: [{ type: "Ready", status }],
    addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
    nodeInfo: { kubeletVersion: "v1.32.0" },
  });
  expect(cellsOf("nodes", { metadata, spec: { unschedulable: true }, status: ready("True") })).toMatchObject({
    Status: "Ready,SchedulingDisabled",
    Roles: "edge,worker",
    Version: "v1.32.0",
    "Internal-IP": "10.0.0.1",
    "External-IP": "<none>",
    "OS-Image": "<unknown>",
  });
  expect(cellsOf("nodes", { metadata, status: ready("Unknown") }).Status).toBe("NotReady");
  expect(cellsOf("nodes", { metadata: { name: "n" } })).toMatchObject({ Status: "Unknown", Roles: "<none>" });
});

test("an Event's row has its first and last time and its count", () => {
  const metadata = { name: "e" };
  const involvedObject = { kind: "Node", name: "n" };
  const old = { firstTimestamp: "2025-12-31T23:00:00Z", lastTimestamp: "2025-12-31T23:59:30Z", count: 3 };
  expect(
    cellsOf("events", { metadata, involvedObject, ...old, source: { component: "kubelet", host: "n" } }),
  ).toMatchObject({
    "Last Seen": "30s",
    "First Seen": "60m",
    Count: 3,
    Object: "node/n",
    Source: "kubelet, n",
  });
  const series = { count: 4, lastObservedTime: "2025-12-31T23:59:50.000000Z" };
  const fresh = { eventTime: "2025-12-31T23:58:00.000000Z", series, reportingComponent: "x" };
  expect(cellsOf("events", { metadata, involvedObject, ...fresh })).toMatchObject({
    "Last Seen": "10s",
    "First Seen": "2m",
    Count: 5,
    Source: "x",
  });
});

describe("a Table", () => {
  const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
  const asTable = (embedded: Embedded, path: string) => embedded.ask("GET", path, undefined, "json", { accept });

  test("has columns, and rows with their object's metadata or the requested part", () => {
    const embedded = new Embedded();
    embedded.ask("POST", "/api/v1/nodes", node("n"));
    const table = asTable(embedded, "/api/v1/nodes").object;
    expect(table).toMatchObject({
      kind: "Table",
      apiVersion: "meta.k8s.io/v1",
      columnDefinitions: COLUMNS.nodes.columns.map(({ name, priority }) => ({ name, priority })),
      rows: [{ cells: expect.arrayContaining(["n", "Unknown"]), object: { kind: "PartialObjectMetadata" } }],
    });
    const rows = (query: string) => asTable(embedded, `/api/v1/nodes?includeObject=${query}`).object.rows;
    expect(rows("Object")).toMatchObject([{ object: { kind: "Node", spec: {} } }]);
    expect(rows("None")).toMatchObject([{ object: null }]);
    expect(asTable(embedded, "/api/v1/nodes/n").object.rows).toHaveLength(1);
  });

  test("of a watch names its columns once", () => {
    const embedded = new Embedded();
    const watch = embedded.begin("GET", "/api/v1/nodes?watch=1", undefined, "json", { accept });
    embedded.ask("POST", "/api/v1/nodes", node("a"));
    embedded.ask("POST", "/api/v1/nodes", node("b"));
    expect(watch.events.map(({ object }) => object.columnDefinitions === null)).toEqual([false, true]);
  });

  test("is not used for a failure, and an unknown form is 406", () => {
    const embedded = new Embedded();
    expect(asTable(embedded, "/api/v1/nodes/none")).toMatchObject({ status: 404, object: { kind: "Status" } });
    const headers = { accept: "application/vnd.kubernetes.protobuf" };
    expect(embedded.ask("GET", "/api/v1/nodes", undefined, "json", headers).status).toBe(406);
  });
});
