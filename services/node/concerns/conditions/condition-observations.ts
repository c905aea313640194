/**
 * Since when one process has seen each condition that a policy names with its status. A condition that changes while
 * the process watches counts from then. One that it finds at its start counts from the record on the node, if that
 * record can be about it. Stamps of the condition itself are compared with each other alone, because the program that
 * posts it has a clock of its own.
 */

import type { ConditionSighting, ConditionStatus, ObservedNode } from "../../../../protocols/objects.ts";
import { apiTime, epochMsOf } from "../../../domain/api-time.ts";
import type { Instant } from "../../../domain/instant.ts";

/** A condition as last observed. */
export interface ConditionObservation {
  /** Null when the node does not have the condition. */
  readonly status: ConditionStatus | null;
  readonly transitionAt: number | null;
  /** Since when it has had that status, on the monotonic clock. */
  readonly sinceMs: number;
  /** The same on the API's clock, as it was then. */
  readonly sinceAt: number;
}

/** Observations by type of condition. */
export type ConditionObservations = ReadonlyMap<string, ConditionObservation>;

/** The observations of a node that no policy watches. */
export const NO_OBSERVATIONS: ConditionObservations = new Map();

/** How far a record may lie from what this process knows, in milliseconds, and per millisecond between the two. */
const SLACK_MS = 1000;
const SLACK_SHARE = 0.001;

/**
 * The observations of these types after another state of the node. `isUnbroken`: every change of the node was received,
 * so a condition whose transition was stamped again has kept its status.
 */
export function withObservations(
  before: ConditionObservations,
  node: ObservedNode,
  types: readonly string[],
  at: Instant & { readonly isUnbroken: boolean },
): ConditionObservations {
  if (types.length === 0) return NO_OBSERVATIONS;
  return new Map(types.map((type) => [type, observationOf(before.get(type), node, type, at)]));
}

function observationOf(
  before: ConditionObservation | undefined,
  node: ObservedNode,
  type: string,
  at: Instant & { readonly isUnbroken: boolean },
): ConditionObservation {
  const { status = null, transitionAt = null } = node.conditions.find((condition) => condition.type === type) ?? {};
  const isSame = before?.status === status && (at.isUnbroken || before.transitionAt === transitionAt);
  if (isSame) return { ...before, status, transitionAt };
  const seen = { status, transitionAt, sinceMs: at.nowMs, sinceAt: Math.ceil(at.wallMs) };
  const foundAt = before === undefined ? foundSinceAt(node, type, seen) : null;
  return foundAt === null ? seen : { ...seen, sinceMs: at.nowMs - (at.wallMs - foundAt), sinceAt: foundAt };
}

/** Since when a condition that was there before this process counts, by its record; null if it has changed since. */
function foundSinceAt(
  { conditionSightings = [], createdAt }: ObservedNode,
  type: string,
  { status, transitionAt, sinceAt: nowAt }: ConditionObservation,
): number | null {
  const record = conditionSightings.find((each) => each.type === type);
  if (record?.status !== status || record.transitionAt !== secondOf(transitionAt)) return null;
  return record.since >= createdAt && record.since <= nowAt ? record.since : null;
}

/**
 * From when an observation counts, in epoch milliseconds. If the clock was corrected meanwhile, the corrected one
 * counts.
 */
export function sinceAt(observation: ConditionObservation, now: Instant): number {
  const correctedAt = now.wallMs - (now.nowMs - observation.sinceMs);
  if (Math.abs(correctedAt - observation.sinceAt) <= slackMs(observation, now)) return observation.sinceAt;
  return Math.ceil(correctedAt / SLACK_MS) * SLACK_MS;
}

function slackMs({ sinceMs }: ConditionObservation, { nowMs }: Instant): number {
  return SLACK_MS + (nowMs - sinceMs) * SLACK_SHARE;
}

/**
 * The record of an observation on its node; null if there is none, or if it contradicts what this process has seen. A
 * record contradicts it if it is about another status, begins earlier, or begins in the future. A later beginning
 * counts, because another process saw it. Example: this process has seen DiskPressure=True since 10:00:00. A record of
 * 10:00:03 counts from 10:00:03; a record of 09:58:00 does not count.
 */
export function recordOf(
  { conditionSightings = [] }: Pick<ObservedNode, "conditionSightings">,
  type: string,
  observation: ConditionObservation,
  now: Instant,
): ConditionSighting | null {
  const record = conditionSightings.find((each) => each.type === type);
  if (record === undefined || record.status !== observation.status) return null;
  const isPossible =
    record.since >= sinceAt(observation, now) - slackMs(observation, now) && record.since <= now.wallMs + SLACK_MS;
  return isPossible ? record : null;
}

/** The record that an observation needs: the one on the node, if that does not contradict it. */
export function wantedRecord(
  node: Pick<ObservedNode, "conditionSightings">,
  type: string,
  observation: ConditionObservation & { readonly status: ConditionStatus },
  now: Instant,
): ConditionSighting {
  const since = recordOf(node, type, observation, now)?.since ?? sinceAt(observation, now);
  return { type, status: observation.status, since, transitionAt: secondOf(observation.transitionAt) };
}

/** An instant as a record keeps it. */
function secondOf(at: number | null): number | null {
  return at === null ? null : epochMsOf(apiTime(at));
}
