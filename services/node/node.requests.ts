/** Publishes a request for each desired change that is due. */
import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import type { Io } from "../../protocols/ports.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { taintsSeenOn } from "../domain/taint-swap.ts";
import { evictionTermsOf } from "./concerns/eviction-terms.ts";
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
  /** Whether a verdict that was requested is no longer valid and its writer may still be trying. */
  readonly isWithdrawn: boolean;
  /** The pods that have to go, also while none may be requested because the view is not synced. */
  readonly toEvict: DesiredChanges["evictions"];
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
  sendEvictions(context, evictions);
  return isVerdict;
}

function sendEvictions(
  { io, node: observed, toEvict, schedule, nowMs, cause }: RequestContext,
  evictions: DesiredChanges["evictions"],
): void {
  schedule.keepFirstEvictions(toEvict);
  const due = schedule.podsDue("eviction", evictions, nowMs);
  if (due.length === 0) return;
  const termsOf = evictionTermsOf(io, observed);
  for (const { namespace, name, uid } of due) {
    const { request, againAfterMs } = termsOf(nowMs - schedule.firstEvictionMs(uid, nowMs));
    if (againAfterMs !== null) schedule.bringForward("eviction", nowMs + againAfterMs);
    const pod = { namespace, name, uid, node: observed.node };
    io.bus.publish("asked.eviction", { ...pod, mode: "direct", taint: null, ...request }, cause);
  }
}

/**
 * Conditions carry the newest version, because they are forced whatever else changed on the node. Taints carry the
 * version they were observed in. A request without conditions replaces a verdict that a writer may still be trying.
 */
function sendConditions(context: RequestContext, { conditions }: DesiredChanges): boolean {
  const { io, resourceVersion, basis, isWithdrawn, schedule, nowMs, cause } = context;
  const { node, uid } = context.node;
  const isDesired = conditions.length > 0 || isWithdrawn;
  if (!schedule.isDue("condition", endStateOf(isDesired ? conditions : null), nowMs)) return false;
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
