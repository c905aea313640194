/** The node-writer: the only writer of Node objects. node-writer.policy.ts decides whether a request still applies. */
import { serviceOf } from "../../protocols/frame.ts";
import type { Service, Stop } from "../../protocols/ports.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { MemoryHealth } from "../platform/process/memory-health.ts";
import { followRequests } from "../platform/requests/request-shards.ts";
import { forbiddenRefusal, WriteJobs } from "../platform/requests/write-jobs.ts";
import { forbiddenChange } from "./allowed-changes.policy.ts";
import { attemptNodeWrite, isRepeated, isSameChange, type NodeRequest } from "./node-write-attempt.ts";

/** Carries out requests about the nodes of this process's shards and publishes the outcome of each attempt. */
export const nodeWriterService: Service = (io) => {
  const { bus, clock, random, fleet, profile } = io;
  const refuse = forbiddenRefusal(io);
  const health = new MemoryHealth(io);
  const jobs = new WriteJobs<NodeRequest>({
    clock,
    random,
    retryMaxMs: profile.askRetryMaxMs,
    isRepeated,
    isSame: isSameChange,
    attempt: (request, { failures }, report, newest) => {
      const foreign = forbiddenChange(request, profile);
      if (foreign === null) attemptNodeWrite(io, { request, hasFailed: failures > 0, newest }, report);
      else refuse(request, foreign, report);
    },
    reportOutcome: (request, result, timing) => {
      const { type, id } = request;
      const { node, uid } = request.body;
      const { outcome, change, detail, resourceVersion, nodeShadow } = result;
      if (isRecord(request)) health.report("node-records", result, node);
      const shadow = nodeShadow === undefined ? {} : { nodeShadow };
      const target = { ask: type, kind: "Node" as const, namespace: "", name: node, uid, node };
      bus.publish("done.write", { ...target, outcome, ...timing, change, detail, resourceVersion, ...shadow }, id);
    },
  });
  const onRequest = (shard: number, source: string, request: NodeRequest): void => {
    // Node and zone may request different taints of one node at once, so the source is part of the key.
    jobs.onRequest(`${shard}/${request.type}/${serviceOf(source)}/${request.body.node}`, request);
  };
  const subscribe = (shard: number): Stop[] => [
    bus.subscribe("asked.condition", shard, ({ source, id, at, body }) =>
      onRequest(shard, source, { type: "asked.condition", id, body, ageMs: clock.wallMs() - at }),
    ),
    bus.subscribe("asked.taint", shard, ({ source, id, at, body }) =>
      onRequest(shard, source, { type: "asked.taint", id, body, ageMs: clock.wallMs() - at }),
    ),
    bus.subscribe("asked.label", shard, ({ source, id, at, body }) =>
      onRequest(shard, source, { type: "asked.label", id, body, ageMs: clock.wallMs() - at }),
    ),
  ];
  const drop = (shard: number): void => {
    jobs.drop((key) => key.startsWith(`${shard}/`));
    health.forget("node-records", (node) => shardOf(node) === shard);
  };
  const stop = followRequests(fleet, { service: "node-writer", subscribe, drop });
  return () => {
    stop();
    health.stop();
  };
};

/** Whether a request writes a record on a node that Vigil has to find there again, such as when a taint appeared. */
function isRecord({ type, body }: NodeRequest): boolean {
  return type === "asked.label" && Object.values(body.annotations ?? {}).some((text) => text !== null);
}
