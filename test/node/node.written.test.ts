/** What a node makes of the outcomes of writes: which of them are answers to what it asked for itself. */
import { expect, test } from "vitest";
import type { BodyOf } from "../../protocols/messages.ts";
import { nodeService } from "../../services/node/node.service.ts";
import { observerService } from "../../services/observer/observer.service.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { recordingLog } from "../support/recording-log.ts";
import { VirtualCluster } from "../support/virtual-cluster.ts";

const S = 1000;

/** A node short of memory whose taints nobody writes; a write for a taint ask of `asker` is denied after 1 s. */
function deniedFor(asker: string) {
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
  const [asked] = cluster.published("asked.taint").slice(-1);
  if (asked === undefined) throw new Error("no taint was asked for");
  const cause =
    asker === "node" ? asked.id : busOf(asker).publish("asked.taint", { ...asked.body, why: "granted" }, null);
  const { node, uid } = asked.body;
  const target = { ask: "asked.taint", kind: "Node", namespace: "", name: node, uid, node } as const;
  const outcome: Pick<BodyOf<"done.write">, "outcome" | "retrying"> = { outcome: "denied", retrying: false };
  const rest = { latencyMs: 1, change: "taints", detail: "403: no", resourceVersion: null };
  busOf("node-writer").publish("done.write", { ...target, ...outcome, ...rest }, cause);
  cluster.advance(70 * S);
  const asks = cluster.published("asked.taint").filter(({ source }) => source === "node@vigil");
  return asks.map(({ atMs }) => (atMs - asked.atMs) / S).filter((afterS) => afterS > 0);
}

test("a node whose own ask was denied repeats it after the longest pause", () => {
  expect(deniedFor("node").map(Math.round)).toEqual([61]);
});

test("a denied turn of its zone does not put off what the node asks for itself", () => {
  expect(deniedFor("zone").map(Math.round)).toEqual([2, 4, 8, 16, 32, 64]);
});
