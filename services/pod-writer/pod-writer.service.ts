/** The pod-writer: the only writer of Pod objects. pod-writer.policy.ts decides whether a request still applies. */
import type { Clock, Io, Service, Stop } from "../../protocols/ports.ts";
import { ratedPolicyOf } from "../domain/node-policy.ts";
import { followRequests } from "../platform/requests/request-shards.ts";
import { forbiddenRefusal, WriteJobs } from "../platform/requests/write-jobs.ts";
import { EvictionMarks } from "./eviction-marks.ts";
import { LeaseRenewals } from "./lease-renewals.ts";
import { ObservedOutages } from "./observed-outages.ts";
import { ObservedPods } from "./observed-pods.ts";
import { NODE_READ_KEPT_MS, nodeReads } from "./pod-reads.ts";
import { isRepeated, isRepeatedUnderRate, type PodRequest, type PodWriterContext } from "./pod-request.ts";
import { attemptPodWrite } from "./pod-write-attempt.ts";
import { forbiddenEviction } from "./pod-writer.policy.ts";
import { PermitGate } from "./rates/permit-gate.ts";
import { EvictionRatesActor } from "./rates/rates.actor.ts";

/** The shard of this service whose owner decides about the rates of evictions. */
const RATES_SHARD = 0;

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
  const { bus, clock, fleet, profile } = io;
  const latestMs = latestInstant(clock);
  const permits = new PermitGate(clock);
  const leases = new LeaseRenewals(io, NODE_READ_KEPT_MS);
  const pods = observedPods(io, permits, leases);
  const outages = new ObservedOutages(clock, profile);
  const nodes = nodeReads(io);
  const marks = new EvictionMarks(io);
  const context = { io, nodes, leases, pods, permits, outages, latestMs, marks, countUnmarked: unmarkedCounter(io) };
  const jobs = podWriteJobs(context);
  const onRequest = (shard: number, request: PodRequest): void => {
    latestMs();
    const { namespace, name, uid } = request.body;
    // A pod that is created again under its name is another one, and inherits no failures.
    jobs.onRequest(`${shard}/${request.type}/${namespace}/${name}/${uid}`, request);
  };
  const receipt = (at: number) => ({ receivedMs: clock.monotonicMs(), behindMs: at - clock.wallMs() });
  const subscribe = (shard: number): Stop[] => {
    latestMs();
    permits.gain(shard);
    return [
      ...pods.follow(bus, shard),
      outages.follow(bus, shard),
      bus.subscribe("asked.eviction", shard, ({ id, at, body }) =>
        onRequest(shard, { type: "asked.eviction", id, body, ...receipt(at) }),
      ),
      bus.subscribe("asked.unready", shard, ({ id, at, body }) =>
        onRequest(shard, { type: "asked.unready", id, body, ...receipt(at) }),
      ),
    ];
  };
  const drop = (shard: number): void => {
    jobs.drop((key) => key.startsWith(`${shard}/`));
    pods.drop(shard);
    leases.drop(shard);
    permits.drop(shard);
  };
  const stops = [
    followRates(io, permits),
    outages.followHeard(bus),
    followRequests(fleet, { service: "pod-writer", subscribe, drop }),
  ];
  return () => {
    for (const stop of stops) stop();
    marks.stop();
  };
};

/** The observed pods. Their changes are passed to the gate of permits and to the renewals of leases. */
function observedPods({ policies }: Pick<Io, "policies">, permits: PermitGate, leases: LeaseRenewals): ObservedPods {
  return new ObservedPods({
    podsChanged: (node) => permits.review(node),
    nodeGone: (node) => leases.forget(node),
    nodeObserved: (node) => {
      leases.onNode(node);
      permits.reviewPolicy(node.node, () => ratedPolicyOf(node, policies.current())?.name ?? null);
    },
  });
}

/** Counts evictions without their mark. */
function unmarkedCounter({ metrics }: Pick<Io, "metrics">): () => void {
  const unmarked = metrics.counter({
    name: "vigil_evictions_unmarked_total",
    help: "Pods deleted without the condition DisruptionTarget, because the API server denied it.",
  });
  return () => unmarked.add(1);
}

/** The requests that are carried out; the outcome of each attempt is published. */
function podWriteJobs(context: PodWriterContext): WriteJobs<PodRequest> {
  const { io } = context;
  const { bus, clock, random, profile } = io;
  const refuse = forbiddenRefusal(io);
  return new WriteJobs<PodRequest>({
    clock,
    random,
    retryMaxMs: profile.askRetryMaxMs,
    repeatedForMs: profile.askRetryMs,
    retriesDenied: true,
    isRepeated,
    isSame: isRepeated,
    isContinued: isRepeatedUnderRate,
    attempt: (request, history, report) => {
      const foreign = request.type === "asked.eviction" ? forbiddenEviction(request.body, profile) : null;
      if (foreign === null) attemptPodWrite(context, request, history, report);
      else refuse(request, foreign, report);
    },
    reportOutcome: ({ type, id, body: { namespace, name, uid, node } }, result, timing) => {
      const { outcome, change, detail, resourceVersion, permit, podShadow, leaseRenewedAt } = result;
      const optional = {
        ...(permit === undefined ? {} : { permit }),
        ...(podShadow === undefined ? {} : { podShadow }),
        ...(leaseRenewedAt === undefined ? {} : { leaseRenewedAt }),
      };
      const target = { ask: type, kind: "Pod" as const, namespace, name, uid, node };
      bus.publish("done.write", { ...target, outcome, ...timing, change, detail, resourceVersion, ...optional }, id);
    },
  });
}

/**
 * Follows the rates of evictions, and decides about them while this process owns their shard. Beside upstream there is
 * nothing to decide.
 */
function followRates(io: Io, permits: PermitGate): Stop {
  if (io.profile.upstream === "beside") return () => {};
  const rates = new EvictionRatesActor(io);
  const stops = [
    io.bus.subscribe("judged.evictions", RATES_SHARD, ({ body }) => permits.onPermits(body)),
    io.policies.follow(() => {
      rates.onPolicies();
      permits.reviewAll();
    }),
    io.fleet.follow("pod-writer", {
      gained: (shard) => {
        if (shard === RATES_SHARD) rates.own();
      },
      lost: (shard) => {
        if (shard === RATES_SHARD) rates.disown();
      },
    }),
  ];
  return () => {
    for (const stop of stops) stop();
    rates.disown();
  };
}
