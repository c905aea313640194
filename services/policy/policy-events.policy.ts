/** Which Kubernetes Events follow from a change of the status of a NodePolicy object (docs/events.md). */
import { EventSource } from "../../protocols/names.ts";
import { NODE_POLICY_API } from "../../protocols/node-policy.ts";
import type { PolicyResource } from "../../protocols/ports.ts";
import type { InvolvedObject, Occurrence } from "../platform/kube/events/event-correlator.ts";
import { listOf, recordOf, textOf } from "../structures/json.ts";

/** What the status of an object says of everything that has Events. */
export interface PolicyState {
  readonly uid: string;
  /** Null where nothing is published about the limits. */
  readonly isOpen: boolean | null;
  readonly frozenBy: string | null;
  /** Which nodes another policy selects too; null for none. */
  readonly conflict: string | null;
}

/** What an object says now. What its status does not know of its breaker stays as it was before. */
export function policyState({ uid, spec, status }: PolicyResource, before: PolicyState | null): PolicyState {
  const { breaker, frozenBy, conditions } = recordOf(status);
  const hasBreaker = recordOf(spec).circuitBreaker !== undefined;
  const shown = breaker === "Open" ? true : breaker === "Closed" || !hasBreaker ? false : null;
  const known = before?.uid === uid ? before.isOpen : null;
  const conflict = listOf(conditions)
    .map(recordOf)
    .find(({ type, status: is }) => type === "SelectorConflict" && is === "True");
  return {
    uid,
    isOpen: shown ?? known,
    frozenBy: textOf(frozenBy),
    conflict: conflict === undefined ? null : (textOf(conflict.message) ?? ""),
  };
}

/** The Events that follow from two states of an object. Another object of that name has none yet. */
export function policyEvents(name: string, before: PolicyState, after: PolicyState): readonly Occurrence[] {
  if (before.uid !== after.uid) return [];
  const { frozenBy, conflict } = after;
  const changes: readonly (readonly [isSo: boolean, reason: string, type: Occurrence["type"], message: string])[] = [
    [
      before.isOpen !== true && after.isOpen === true,
      "CircuitBreakerOpened",
      "Warning",
      "The circuit breaker is open, and none of its nodes is evicted",
    ],
    [before.isOpen === true && after.isOpen === false, "CircuitBreakerReset", "Normal", "The circuit breaker is reset"],
    [
      before.frozenBy === null && frozenBy !== null,
      "FreezeBegan",
      "Normal",
      `Frozen by ${frozenBy}: no pod of its nodes is evicted`,
    ],
    [before.frozenBy !== null && frozenBy === null, "FreezeEnded", "Normal", "Its nodes are no longer frozen"],
    [before.conflict === null && conflict !== null, "SelectorConflict", "Warning", conflict ?? ""],
    [
      before.conflict !== null && conflict === null,
      "SelectorConflictEnded",
      "Normal",
      "No other policy selects its nodes",
    ],
  ];
  const { group, version } = NODE_POLICY_API;
  const involvedObject: InvolvedObject = {
    apiVersion: `${group}/${version}`,
    kind: "NodePolicy",
    namespace: "",
    name,
    uid: after.uid,
  };
  return changes
    .filter(([isSo]) => isSo)
    .map(([, reason, type, message]) => ({
      involvedObject,
      reason,
      type,
      message: message.slice(0, EVENT_MESSAGE_MAX),
      component: EventSource.policy,
    }));
}

/** Longest message of an Event that the API server accepts, in characters. Source: core validation of Events. */
const EVENT_MESSAGE_MAX = 1024;
