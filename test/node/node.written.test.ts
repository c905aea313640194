/** How a node actor takes the outcomes of writes: a denial delays no retry. */
import { expect, test } from "vitest";
import type { BodyOf } from "../../protocols/messages.ts";
import { nodeService } from "../../services/node/node.service.ts";
import { observerService } from "../../services/observer/observer.service.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { recordingLog } from "../support/recording-log.ts";
import { VirtualCluster } from "../support/virtual-cluster.ts";

const S = 1000;

/**
 * A node short of memory, without a node-writer. After 1 s a taint request of `requester` is denied. Returns when the
 * node requests the taint again, in seconds.
 */
function deniedFor(requester: string) {
  const cluster = new VirtualCluster();
  const kubelet = cluster.addNode({ name: "node-1" });
  cluster.start({ observer: observerService, node: nodeService }, { member: "vigil" });
  cluster.advance(10 * S);
  const { transport, clock } = cluster;
  const busOf = (service: string) => {
    const who = { service, member: "vigil", log: recordingLog(), metrics: createMetrics() };
    return typedBus({ transport, clock, cluster: "test", mailboxMessagesMax: 1_000, ...who });
  };
  kubelet.report("MemoryPressure", "True");
  cluster.advance(1 * S);
  const [request] = cluster.published("asked.taint").slice(-1);
  if (request === undefined) throw new Error("no taint was requested");
  const cause =
    requester === "node"
      ? request.id
      : busOf(requester).publish("asked.taint", { ...request.body, why: "granted" }, null);
  const { node, uid } = request.body;
  const target = { ask: "asked.taint", kind: "Node", namespace: "", name: node, uid, node } as const;
  const outcome: Pick<BodyOf<"done.write">, "outcome" | "retrying"> = { outcome: "denied", retrying: false };
  const rest = { latencyMs: 1, change: "taints", detail: "403: no", resourceVersion: null };
  busOf("node-writer").publish("done.write", { ...target, ...outcome, ...rest }, cause);
  cluster.advance(70 * S);
  const requests = cluster.published("asked.taint").filter(({ source }) => source === "node@vigil");
  return requests.map(({ atMs }) => (atMs - request.atMs) / S).filter((afterS) => afterS > 0);
}

test.each(["node", "zone"])("a denied request of the %s delays no retry", (requester) => {
  expect(deniedFor(requester).map(Math.round)).toEqual([2, 4, 8, 16, 32, 64]);
});
