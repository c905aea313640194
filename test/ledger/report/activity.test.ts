/** What the ledger logs: a line for each verdict, recovery, NoExecute taint, drain, and change of a zone or breaker. */
import { describe, expect, test } from "vitest";
import { shardOf } from "../../../protocols/subjects.ts";
import { createLog } from "../../../services/platform/process/log.ts";
import { observedNode } from "../../support/observed-objects.ts";
import { recordingLog } from "../../support/recording-log.ts";
import {
  askedEviction,
  askedTaint,
  doneNode,
  donePod,
  judgedNode,
  judgedZone,
  ledgerWorld,
  UNREACHABLE,
  WEB,
  type WorldOptions,
} from "../ledger-world.ts";

const SILENT = judgedNode("n-1", { readiness: "unknown", ready: "True", since: 50_000, heartbeatAt: 0 });

function logged(options: WorldOptions = {}) {
  const log = recordingLog();
  const world = ledgerWorld({ ...options, activityLog: log });
  world.receive("observed.node", observedNode("n-1"), null);
  return { ...world, log, texts: () => log.lines.map(({ message }) => message) };
}

describe("a line is logged", () => {
  test("for a verdict and a recovery, each once, with its reason", () => {
    const { receive, log, texts } = logged();
    receive("judged.node", judgedNode("n-1"), null);
    receive("judged.node", SILENT, null);
    receive("judged.node", SILENT, null);
    receive("judged.node", judgedNode("n-1"), null);
    expect(texts()).toEqual([
      "node n-1 judged unknown: silent for 50 s",
      "node n-1 judged ready: its kubelet reports Ready=True and renews its lease",
    ]);
    expect(log.lines[0]).toMatchObject({ level: "info", fields: { node: "n-1", zone: "a" } });
  });

  test("for a NoExecute taint that was written, and for its removal", () => {
    const { receive, texts } = logged();
    receive("judged.node", SILENT, null);
    const added = receive("asked.taint", askedTaint("n-1"), null);
    expect(texts().length).toBe(1);
    receive("done.write", doneNode("asked.taint", "n-1", { outcome: "conflict", retrying: true }), added);
    receive("done.write", doneNode("asked.taint", "n-1"), added);
    receive("judged.node", judgedNode("n-1"), null);
    const removed = receive("asked.taint", askedTaint("n-1", { add: [], remove: [UNREACHABLE], why: "healing" }), null);
    receive("done.write", doneNode("asked.taint", "n-1"), removed);
    expect(texts().filter((text) => text.includes("carries"))).toEqual([
      "node n-1 now carries node.kubernetes.io/unreachable:NoExecute: zone a admitted it for eviction",
      "node n-1 no longer carries node.kubernetes.io/unreachable:NoExecute: it is ready again",
    ]);
  });

  test("for swapped taints, not for one that only keeps pods off", () => {
    const { receive, texts } = logged();
    const notReady = { key: "node.kubernetes.io/not-ready", effect: "NoExecute" };
    const swap = askedTaint("n-1", { add: [notReady], remove: [UNREACHABLE], why: "swap" });
    const scheduling = askedTaint("n-1", { add: [{ ...notReady, effect: "NoSchedule" }], why: "conditions" });
    receive("done.write", doneNode("asked.taint", "n-1"), receive("asked.taint", swap, null));
    receive("done.write", doneNode("asked.taint", "n-1"), receive("asked.taint", scheduling, null));
    expect(texts()).toEqual([
      "node n-1 now carries node.kubernetes.io/not-ready:NoExecute in place of " +
        "node.kubernetes.io/unreachable:NoExecute: its Ready status changed",
    ]);
  });

  test("for a change of a zone's state or a halt, not for a pulse", () => {
    const { receive, texts } = logged();
    const partial = judgedZone({ state: "PartialDisruption", notReady: 6, taintsPerSecond: 0.01 });
    for (const zone of [judgedZone(), judgedZone(), partial, { ...partial, halted: true }]) {
      receive("judged.zone", zone, null);
    }
    expect(texts()).toEqual([
      "zone a is Normal: 0 of 10 nodes not ready; eviction rate: one node every 10 s",
      "zone a is PartialDisruption: 6 of 10 nodes not ready; eviction rate: one node every 100 s",
      "zone a is PartialDisruption: 6 of 10 nodes not ready; evictions are halted because every zone is disrupted",
    ]);
  });

  test("for a breaker that opens or closes, once each", () => {
    const { receive, log, texts } = logged();
    const counts = { selected: 9, unhealthy: 3, condemned: 2, inWindow: 2, permits: [], holds: [] };
    const closed = { trippedAt: null, resetAt: null, isStorm: false, stormEndedAt: null, condemnations: [] };
    const open = { ...closed, trippedAt: 1_000, isStorm: true };
    for (const memory of [closed, { ...open, resetAt: 61_000 }, { ...open, resetAt: 61_000 }, closed, closed]) {
      receive("judged.limits", { policy: "gpu", ...counts, memory }, null);
    }
    receive("judged.limits", { policy: "", ...counts, inWindow: 1, memory: open }, null);
    expect(texts()).toEqual([
      "the circuit breaker of policy gpu is open: 2 nodes admitted for eviction; it closes at 1970-01-01T00:01:01Z at the earliest",
      "the circuit breaker of policy gpu is closed again",
      "the circuit breaker of the cluster is open: 1 node admitted for eviction; it does not close by itself",
    ]);
    expect(log.lines[0]).toMatchObject({ level: "info", fields: { policy: "gpu" } });
  });

  test("for a drain, in direct mode", () => {
    const { receive, texts } = logged({ profile: { evictionMode: "direct" } });
    receive("judged.node", SILENT, null);
    receive("judged.node", { ...SILENT, eviction: "toBeEvicted" }, null);
    receive("judged.node", { ...SILENT, eviction: "evicted" }, null);
    expect(texts().slice(1)).toEqual(["node n-1 is drained: zone a admitted it for eviction"]);
  });
});

describe("evictions", () => {
  const evict = ({ receive }: Pick<ReturnType<typeof logged>, "receive">, name: string): void => {
    const pod = { ...WEB, name, uid: `uid-${name}` };
    const asked = receive("asked.eviction", askedEviction(pod), null);
    receive("done.write", donePod("asked.eviction", pod), asked);
    receive("done.write", donePod("asked.eviction", pod), asked);
  };

  test("of a node within a second are one line, and a pod counts once", () => {
    const world = logged();
    for (let pod = 1; pod <= 12; pod++) evict(world, `web-${pod}`);
    expect(world.texts()).toEqual([]);
    world.clock.advance(1000);
    expect(world.texts()).toEqual(["12 pods of node n-1 evicted: node.kubernetes.io/unreachable:NoExecute"]);
    expect(world.log.lines[0]?.fields).toMatchObject({ node: "n-1", count: 12 });
    expect(world.log.lines[0]?.fields.pods).toHaveLength(10);
    evict(world, "web-13");
    world.clock.advance(1000);
    expect(world.texts()[1]).toBe("pod default/web-13 of node n-1 evicted: node.kubernetes.io/unreachable:NoExecute");
  });

  test("are not lost when the ledger stops", () => {
    const world = logged();
    evict(world, "web-1");
    world.ledger.stop();
    expect(world.texts().length).toBe(1);
    world.clock.advance(2000);
    expect(world.texts().length).toBe(1);
  });
});

test("in shadow mode, countdowns and writes that were not sent are logged once each", () => {
  const { receive, texts } = logged({ isShadow: true });
  receive("judged.node", SILENT, null);
  const asked = receive("asked.taint", askedTaint("n-1"), null);
  const unsent = doneNode("asked.taint", "n-1", { outcome: "shadowed", change: "taints: +a:NoExecute" });
  receive("done.write", unsent, asked);
  receive("done.write", unsent, asked);
  expect(texts()).toEqual([
    "node n-1 judged unknown: silent for 50 s",
    "node n-1 would have been written: taints: +a:NoExecute",
  ]);
});

test.each([
  [true, 1],
  [false, 0],
])("only the owner of a shard logs (owner: %s)", (isOwner, lines) => {
  const owns = (_service: string, shard: number): boolean => isOwner === (shard === shardOf("n-1"));
  const { receive, texts } = logged({ fleet: { member: "m-0", owns, follow: () => () => {} } });
  receive("judged.node", SILENT, null);
  expect(texts().length).toBe(lines);
});

test("as text, an outage of a node can be read from start to end", () => {
  const lines: string[] = [];
  const log = createLog({ level: "info", format: "text", write: (line) => lines.push(line) - lines.length });
  const { clock, receive } = ledgerWorld({ activityLog: log });
  receive("observed.node", observedNode("n-1"), null);
  receive("judged.node", judgedNode("n-1"), null);
  receive("judged.node", SILENT, null);
  receive("done.write", doneNode("asked.taint", "n-1"), receive("asked.taint", askedTaint("n-1"), null));
  receive("done.write", donePod("asked.eviction", WEB), receive("asked.eviction", askedEviction(), null));
  clock.advance(2000);
  receive("judged.node", judgedNode("n-1"), null);
  expect(lines.map((line) => line.slice(13))).toEqual([
    "INFO  node n-1 judged unknown: silent for 50 s  zone=a\n",
    "INFO  node n-1 now carries node.kubernetes.io/unreachable:NoExecute: zone a admitted it for eviction\n",
    "INFO  pod default/web of node n-1 evicted: node.kubernetes.io/unreachable:NoExecute\n",
    "INFO  node n-1 judged ready: its kubelet reports Ready=True and renews its lease  zone=a\n",
  ]);
});
