/** Publishes a request for each desired change that is due. */
import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import type { Io } from "../../protocols/ports.ts";
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
  const isVerdict = sendConditions(context, changes);
  sendTaints(context, changes);
  sendLabels(context, changes);
  sendPods(context, changes);
  return isVerdict;
}

/**
 * Conditions carry the newest version, because they are forced whatever else changed on the node. Taints carry the
 * version they were observed in. A request without conditions replaces a verdict that a writer may still be trying.
 */
function sendConditions(context: RequestContext, { conditions }: DesiredChanges): boolean {
  const { io, node, resourceVersion, basis, isTakenBack, schedule, nowMs, cause } = context;
  const isDesired = conditions.length > 0 || isTakenBack;
  const endState = isDesired ? conditions.map(({ type }) => type).join(" ") : null;
  if (!schedule.isDue("condition", endState, nowMs)) return false;
  const identity = { ...identityOf(node), resourceVersion };
  io.bus.publish("asked.condition", { ...identity, basis, conditions: [...conditions] }, cause);
  return conditions.length > 0;
}

function sendTaints({ io, node, schedule, nowMs, cause }: RequestContext, { taints }: DesiredChanges): void {
  if (!schedule.isDue("taint", taints === null ? null : JSON.stringify(taints), nowMs) || taints === null) return;
  const ready = readyConditionOf(node)?.status ?? null;
  io.bus.publish("asked.taint", { ...identityOf(node), ...taintsSeenOn(node), ready, ...taints }, cause);
}

function sendLabels({ io, node, schedule, nowMs, cause }: RequestContext, { labels }: DesiredChanges): void {
  if (!schedule.isDue("label", labels === null ? null : JSON.stringify(labels), nowMs) || labels === null) return;
  io.bus.publish("asked.label", { ...identityOf(node), labels: { ...labels } }, cause);
}

function sendPods({ io, node, schedule, nowMs, cause }: RequestContext, { unready, evictions }: DesiredChanges): void {
  for (const { namespace, name, uid, resourceVersion } of schedule.podsDue("unready", unready, nowMs)) {
    io.bus.publish("asked.unready", { namespace, name, uid, resourceVersion, node: node.node }, cause);
  }
  const eviction = { mode: "direct" as const, deadlineAt: io.clock.wallMs(), taint: null };
  for (const { namespace, name, uid } of schedule.podsDue("eviction", evictions, nowMs)) {
    io.bus.publish("asked.eviction", { namespace, name, uid, node: node.node, ...eviction }, cause);
  }
}

function identityOf({ node, uid, resourceVersion }: ObservedNode) {
  return { node, uid, resourceVersion };
}
