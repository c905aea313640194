/** Writes Events about the agent's own node. Losing one is no harm, so nothing is tried twice. */
import { EventSource } from "../../protocols/names.ts";
import { type Clock, type Kube, type Log, Urgency } from "../../protocols/ports.ts";
import { apiTime } from "../runtime/api-time.ts";
import type { NodeObject } from "./node-object.ts";
import type { NodeEvent } from "./setters/setter.ts";

/** Events of cluster-scoped objects are kept here. */
const NAMESPACE = "default";

/** Writes Events about a node, with the node's uid, so that they stand beside the controller's (better than D27). */
export function eventRecorder({
  clock,
  kube,
  log,
}: {
  readonly clock: Clock;
  readonly kube: Kube;
  readonly log: Log;
}): (node: NodeObject, events: readonly NodeEvent[]) => void {
  let count = 0;
  return (node, events) => {
    for (const event of events) {
      const name = `${node.metadata.name}.${(BigInt(Math.floor(clock.wallMs())) * 1_000_000n + BigInt(count++)).toString(16)}`;
      const body = eventBody(node, event, name, clock.wallMs());
      kube.write(
        { ref: { kind: "Event", namespace: NAMESPACE, name }, urgency: Urgency.event, verb: "create", body },
        (reply) => {
          if (reply.outcome !== "ok") log.debug("event not written", { reason: event.reason, detail: reply.detail });
        },
      );
    }
  };
}

function eventBody(node: NodeObject, event: NodeEvent, name: string, nowMs: number): unknown {
  const now = apiTime(nowMs);
  const source = { component: EventSource.kubelet, host: node.metadata.name };
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace: NAMESPACE },
    involvedObject: { apiVersion: "v1", kind: "Node", name: node.metadata.name, uid: node.metadata.uid },
    ...event,
    source,
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
    reportingComponent: source.component,
    reportingInstance: source.host,
  };
}
