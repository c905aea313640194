/** Two node services that both take themselves for the owner of a shard, because one received no pulse of the other. */
import { expect, test } from "vitest";
import { shardOf } from "../../protocols/subjects.ts";
import { nodeService } from "../../services/node/node.service.ts";
import { observerService } from "../../services/observer/observer.service.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { recordingLog } from "../support/recording-log.ts";
import { VirtualCluster } from "../support/virtual-cluster.ts";

const S = 1000;

test("what a rival judged of a shard is corrected once it has ended", () => {
  const cluster = new VirtualCluster();
  cluster.addNode({ name: "node-1" });
  cluster.start({ observer: observerService, node: nodeService }, { member: "vigil" });
  cluster.advance(10 * S);
  const { transport, clock } = cluster;
  const who = { service: "node", member: "rival", log: recordingLog(), metrics: createMetrics() };
  const rival = typedBus({ transport, clock, cluster: "test", mailboxMessagesMax: 1_000, ...who });
  const [judged] = cluster.published("judged.node").slice(-1);
  if (judged === undefined) throw new Error("nothing was judged");
  rival.publish("asked.resync", { shard: shardOf("node-1"), reason: "the rival begins" }, null);
  cluster.advance(100);
  rival.publish("judged.node", { ...judged.body, readiness: "unknown", eviction: "toBeEvicted" }, null);
  cluster.advance(5 * S);
  const [last] = cluster.published("judged.node").slice(-1);
  expect(last).toMatchObject({ source: "node@vigil", body: { readiness: "ready", eviction: "unmarked" } });
});
