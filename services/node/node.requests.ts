/** Turns the wishes that are due into asks on the bus. */
import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import type { Io } from "../../protocols/ports.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { taintsSeenOn } from "../domain/taint-swap.ts";
import type { DesiredChanges } from "./desired-changes.policy.ts";
import type { RequestSchedule } from "./request-schedule.ts";

/** What an ask about a node is made from. */
export interface RequestContext {
  readonly io: Io;
  readonly node: ObservedNode;
  /** The newest version of the node that was told, with its state or with a heartbeat. */
  readonly resourceVersion: string;
  /** The last signs of life, which a verdict of silence rests on. */
  readonly basis: BodyOf<"asked.condition">["basis"];
  /** Whether a verdict that was asked for does not hold any more, and its writer does not know yet. */
  readonly isTakenBack: boolean;
  readonly schedule: RequestSchedule;
  readonly nowMs: number;
  readonly cause: string | null;
}

/**
 * Asks for every wish that is due and forgets the asks of wishes that are gone. Returns whether a verdict was among
 * them.
 */
export function sendRequests(context: RequestContext, changes: DesiredChanges): boolean {
  const isVerdict = sendConditions(context, changes);
  sendTaints(context, changes);
  sendLabels(context, changes);
  sendPods(context, changes);
  return isVerdict;
}

/**
 * Conditions are forced on whatever the node is by now, so the newest version is what they are bound to; a list of
 * taints belongs to the version it was seen in. An ask for none takes the place of the verdict that a writer may still
 * be trying to write.
 */
function sendConditions(context: RequestContext, { conditions }: DesiredChanges): boolean {
  const { io, node, resourceVersion, basis, isTakenBack, schedule, nowMs, cause } = context;
  const isAsked = conditions.length > 0 || isTakenBack;
  const endState = isAsked ? conditions.map(({ type }) => type).join(" ") : null;
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
