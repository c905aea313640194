/** Publishes a request for each desired change that is due. */
import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import type { Io } from "../../protocols/ports.ts";
import { ratedPolicyOf } from "../domain/eviction-rates.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { taintsSeenOn } from "../domain/taint-swap.ts";
import type { DesiredChanges } from "./desired-changes.policy.ts";
import type { RequestSchedule } from "./request-schedule.ts";

/** What the requests about one node are made from. */
export interface RequestContext {
  readonly io: Io;
  readonly node: ObservedNode;
  /** The newest version of the node received, with its state or with a heartbeat. */
  readonly resourceVersion: string;
  /** The heartbeats that a verdict of silence rests on. */
  readonly basis: BodyOf<"asked.condition">["basis"];
  /** Whether a verdict that was requested no longer holds and its writer may still be trying. */
  readonly isTakenBack: boolean;
  readonly schedule: RequestSchedule;
  readonly nowMs: number;
  readonly cause: string | null;
}

/** Requests every change that is due and drops retries of the others. Returns whether it requested a verdict. */
export function sendRequests(context: RequestContext, changes: DesiredChanges): boolean {
  const { io, node: observed, schedule, nowMs, cause } = context;
  const { taints, unready, evictions } = changes;
  const { node, uid, resourceVersion } = observed;
  const isVerdict = sendConditions(context, changes);
  if (schedule.isDue("taint", endStateOf(taints), nowMs) && taints !== null) {
    const ready = readyConditionOf(observed)?.status ?? null;
    const basis = { node, uid, resourceVersion, ...taintsSeenOn(observed), ready };
    io.bus.publish("asked.taint", { ...basis, ...taints }, cause);
  }
  const records = recordsOf(changes);
  if (schedule.isDue("label", endStateOf(records), nowMs) && records !== null) {
    io.bus.publish("asked.label", { node, uid, resourceVersion, ...records }, cause);
  }
  for (const pod of schedule.podsDue("unready", unready, nowMs)) {
    const { namespace, name } = pod;
    const identity = { namespace, name, uid: pod.uid, resourceVersion: pod.resourceVersion, node };
    io.bus.publish("asked.unready", identity, cause);
  }
  const rated = evictions.length === 0 ? null : ratedPolicyOf(observed, io.policies.current());
  const ofPolicy = rated === null ? {} : { policy: rated.name };
  for (const { namespace, name, uid: podUid } of schedule.podsDue("eviction", evictions, nowMs)) {
    const eviction = { mode: "direct" as const, deadlineAt: io.clock.wallMs(), taint: null, ...ofPolicy };
    io.bus.publish("asked.eviction", { namespace, name, uid: podUid, node, ...eviction }, cause);
  }
  return isVerdict;
}

/**
 * Conditions carry the newest version, because they are forced whatever else changed on the node. Taints carry the
 * version they were observed in. A request without conditions replaces a verdict that a writer may still be trying.
 */
function sendConditions(context: RequestContext, { conditions }: DesiredChanges): boolean {
  const { io, resourceVersion, basis, isTakenBack, schedule, nowMs, cause } = context;
  const { node, uid } = context.node;
  const isDesired = conditions.length > 0 || isTakenBack;
  const endState = isDesired ? conditions.map(({ type }) => type).join(" ") : null;
  if (!schedule.isDue("condition", endState, nowMs)) return false;
  io.bus.publish("asked.condition", { node, uid, resourceVersion, basis, conditions: [...conditions] }, cause);
  return conditions.length > 0;
}

/** The labels and annotations to set; null when nothing is to be set. */
function recordsOf({
  labels,
  annotations,
}: DesiredChanges): Pick<BodyOf<"asked.label">, "labels" | "annotations"> | null {
  if (annotations === null) return labels === null ? null : { labels: { ...labels } };
  return { labels: { ...labels }, annotations: { ...annotations } };
}

function endStateOf(change: object | null): string | null {
  return change === null ? null : JSON.stringify(change);
}
