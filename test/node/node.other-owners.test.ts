/** Two node services that both take themselves for the owner of a shard, because one received no pulse of the other. */
import { expect, test } from "vitest";
import type { BodyOf } from "../../protocols/messages.ts";
import type { Bus } from "../../protocols/ports.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { nodeService } from "../../services/node/node.service.ts";
import { observerService } from "../../services/observer/observer.service.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { recordingLog } from "../support/recording-log.ts";
import { VirtualCluster } from "../support/virtual-cluster.ts";

const S = 1000;

interface Buses {
  readonly other: Bus;
  readonly writer: Bus;
}

/** Another owner acts, then judges a node silent. Returns the last judgement of the node, 5 s later. */
function judgedAfter(act: (buses: Buses, judged: BodyOf<"judged.node">) => void) {
  const cluster = new VirtualCluster();
  cluster.addNode({ name: "node-1" });
  cluster.start({ observer: observerService, node: nodeService }, { member: "vigil" });
  cluster.advance(10 * S);
  const { transport, clock } = cluster;
  const busOf = (service: string, member: string) => {
    const who = { service, member, log: recordingLog(), metrics: createMetrics() };
    return typedBus({ transport, clock, cluster: "test", mailboxMessagesMax: 1_000, ...who });
  };
  const other = busOf("node", "other");
  const [judged] = cluster.published("judged.node").slice(-1);
  if (judged === undefined) throw new Error("nothing was judged");
  act({ other, writer: busOf("node-writer", "vigil") }, judged.body);
  cluster.advance(100);
  other.publish("judged.node", { ...judged.body, readiness: "unknown", eviction: "toBeEvicted" }, null);
  cluster.advance(5 * S);
  return cluster.published("judged.node").at(-1);
}

/** A node-writer carries out what the other owner requested. */
function writeFor({ other, writer }: Buses, { node, uid, resourceVersion }: BodyOf<"judged.node">): void {
  const target = { node, uid };
  const change = { taints: [], add: [], remove: [], ready: "Unknown" as const, why: "conditions" as const };
  const cause = other.publish("asked.taint", { ...target, resourceVersion, ...change }, null);
  const outcome = { outcome: "ok" as const, retrying: false, latencyMs: 1, change: "taints", detail: "" };
  const written = { ask: "asked.taint" as const, kind: "Node" as const, namespace: "", name: node, ...target };
  writer.publish("done.write", { ...written, ...outcome, resourceVersion: "9" }, cause);
}

test.each([
  ["read a shard", ({ other }: Buses) => other.publish("asked.resync", { shard: shardOf("node-1"), reason: "" }, null)],
  ["had a node written", writeFor],
])("what another owner that %s judged is corrected once it has ended", (_what, act) => {
  const corrected = { source: "node@vigil", body: { readiness: "ready", eviction: "unmarked" } };
  expect(judgedAfter(act)).toMatchObject(corrected);
});
