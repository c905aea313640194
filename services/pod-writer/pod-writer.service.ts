/** The pod-writer: the only writer of Pod objects. Whether an ask still holds is decided in pod-writer.policy.ts. */
import type { Service, Stop } from "../../protocols/ports.ts";
import { followRequests } from "../platform/requests/request-shards.ts";
import { Rehearsals } from "../platform/requests/shadowed-writes.ts";
import { SharedReads } from "../platform/requests/single-flight-reads.ts";
import { WriteJobs } from "../platform/requests/write-jobs.ts";
import { foreignRefusal } from "../platform/requests/write-result.ts";
import { latestInstant } from "./latest-instant.ts";
import { isRepeated, NODE_READ_KEPT_MS, type PodAsk, tryPodAsk } from "./pod-asks.ts";
import { foreignEviction } from "./pod-writer.policy.ts";

/** Carries out asks about the pods on the nodes of this process's shards and tells what came of each try. */
export const podWriterService: Service = (io) => {
  const { bus, clock, random, fleet, profile } = io;
  const reads = { keptMs: NODE_READ_KEPT_MS, viewersMax: profile.writesInFlightMax };
  const latestMs = latestInstant(clock);
  const around = { io, nodes: new SharedReads({ kube: io.kube, clock, ...reads }), latestMs };
  const refuse = foreignRefusal(io);
  const rehearsals = new Rehearsals(profile);
  const jobs = new WriteJobs<PodAsk>({
    clock,
    random,
    retryMaxMs: profile.askRetryMaxMs,
    retriesDenied: true,
    isRepeated,
    isSame: isRepeated,
    attempt: (ask, history, report) => {
      const foreign = ask.type === "asked.eviction" ? foreignEviction(ask.body, profile) : null;
      if (foreign === null) tryPodAsk(around, ask, history, report);
      else refuse(ask, foreign, report);
    },
    told: ({ type, id, body: { namespace, name, uid, node } }, result, timing) => {
      const { outcome, change, detail, resourceVersion } = result;
      const isRehearsed = outcome === "shadowed";
      if (isRehearsed && !rehearsals.isNews(`${type}/${uid}`, change, clock.monotonicMs())) return;
      const target = { ask: type, kind: "Pod" as const, namespace, name, uid, node };
      bus.publish("done.write", { ...target, outcome, ...timing, change, detail, resourceVersion }, id);
    },
  });
  const take = (shard: number, ask: PodAsk): void => {
    latestMs();
    jobs.ask(`${shard}/${ask.type}/${ask.body.namespace}/${ask.body.name}`, ask);
  };
  const behind = (at: number) => ({ behindMs: at - clock.wallMs() });
  const subscribe = (shard: number): Stop[] => {
    latestMs();
    return [
      bus.subscribe("asked.eviction", shard, ({ id, at, body }) =>
        take(shard, { type: "asked.eviction", id, body, ...behind(at) }),
      ),
      bus.subscribe("asked.unready", shard, ({ id, at, body }) =>
        take(shard, { type: "asked.unready", id, body, ...behind(at) }),
      ),
    ];
  };
  const drop = (shard: number): void => jobs.drop((key) => key.startsWith(`${shard}/`));
  return followRequests(fleet, { service: "pod-writer", subscribe, drop });
};
