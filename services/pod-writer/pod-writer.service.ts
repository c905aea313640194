/** The pod-writer: the only writer of Pod objects. pod-writer.policy.ts decides whether a request still holds. */
import type { Clock, Service, Stop } from "../../protocols/ports.ts";
import { followRequests } from "../platform/requests/request-shards.ts";
import { SingleFlightReads } from "../platform/requests/single-flight-reads.ts";
import { WriteJobs } from "../platform/requests/write-jobs.ts";
import { forbiddenRefusal } from "../platform/requests/write-result.ts";
import { ObservedPods } from "./observed-pods.ts";
import { NODE_READ_KEPT_MS, nodeReader } from "./pod-reads.ts";
import { isRepeated, type PodRequest } from "./pod-request.ts";
import { attemptPodWrite } from "./pod-write-attempt.ts";
import { forbiddenEviction } from "./pod-writer.policy.ts";

/**
 * Returns the latest possible present instant, in epoch milliseconds: the wall clock without its steps back. A step
 * back does not undo the time that has passed, so a deadline before this instant may have come.
 */
export function latestInstant(clock: Pick<Clock, "wallMs" | "monotonicMs">): () => number {
  let aheadMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = clock.monotonicMs();
    aheadMs = Math.max(aheadMs, clock.wallMs() - nowMs);
    return nowMs + aheadMs;
  };
}

/** Carries out requests about pods on the nodes of this process's shards and publishes the outcome of each attempt. */
export const podWriterService: Service = (io) => {
  const { bus, clock, random, fleet, profile } = io;
  const reads = { project: nodeReader(io.policies), keptMs: NODE_READ_KEPT_MS, waitersMax: profile.writesInFlightMax };
  const latestMs = latestInstant(clock);
  const pods = new ObservedPods();
  const context = { io, nodes: new SingleFlightReads({ kube: io.kube, clock, ...reads }), pods, latestMs };
  const refuse = forbiddenRefusal(io);
  const jobs = new WriteJobs<PodRequest>({
    clock,
    random,
    retryMaxMs: profile.askRetryMaxMs,
    retriesDenied: true,
    isRepeated,
    isSame: isRepeated,
    attempt: (ask, history, report) => {
      const foreign = ask.type === "asked.eviction" ? forbiddenEviction(ask.body, profile) : null;
      if (foreign === null) attemptPodWrite(context, ask, history, report);
      else refuse(ask, foreign, report);
    },
    reportOutcome: ({ type, id, body: { namespace, name, uid, node } }, result, timing) => {
      const { outcome, change, detail, resourceVersion, podShadow } = result;
      const shadow = podShadow === undefined ? {} : { podShadow };
      const target = { ask: type, kind: "Pod" as const, namespace, name, uid, node };
      bus.publish("done.write", { ...target, outcome, ...timing, change, detail, resourceVersion, ...shadow }, id);
    },
  });
  const take = (shard: number, ask: PodRequest): void => {
    latestMs();
    jobs.take(`${shard}/${ask.type}/${ask.body.namespace}/${ask.body.name}`, ask);
  };
  const behind = (at: number) => ({ behindMs: at - clock.wallMs() });
  const subscribe = (shard: number): Stop[] => {
    latestMs();
    return [
      ...pods.follow(bus, shard),
      bus.subscribe("asked.eviction", shard, ({ id, at, body }) =>
        take(shard, { type: "asked.eviction", id, body, ...behind(at) }),
      ),
      bus.subscribe("asked.unready", shard, ({ id, at, body }) =>
        take(shard, { type: "asked.unready", id, body, ...behind(at) }),
      ),
    ];
  };
  const drop = (shard: number): void => {
    jobs.drop((key) => key.startsWith(`${shard}/`));
    pods.drop(shard);
  };
  return followRequests(fleet, { service: "pod-writer", subscribe, drop });
};
