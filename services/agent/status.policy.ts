/** Computes a node's status and decides whether to post it. status.sync.ts talks to the API. */
import { isDeepStrictEqual } from "node:util";
import { Label } from "../../protocols/names.ts";
import type { Random } from "../../protocols/ports.ts";
import type { MachineStats } from "./machine-stats.ts";
import {
  type NodeCondition,
  type NodeObject,
  type NodeStatus,
  type ResourceList,
  withMetadata,
} from "./node-object.ts";
import { amountOf } from "./resource-quantity.ts";
import type { SetterInput } from "./setters/setter.ts";
import { type ComputedStatus, computeStatus } from "./setters.ts";

/** A node with its new status; `changed` means that it must be posted now. */
export interface UpdatedNode extends ComputedStatus {
  readonly changed: boolean;
}

/** Runs the setters and corrects the platform labels (R9.16, R9.17); `podCidrs` are the last posted ones (R9.15). */
export function updateNode(original: NodeObject, input: SetterInput, podCidrs: string): UpdatedNode {
  const cidrs = podCidrsOf(original);
  const cidrsChanged = cidrs !== "" && cidrs !== podCidrs;
  const labelled = withPlatformLabels(original, input.stats);
  const computed = computeStatus(labelled, input);
  const changed = cidrsChanged || labelled !== original || nodeStatusHasChanged(original.status, computed.node.status);
  return { ...computed, changed };
}

/** The pod address ranges of a node, joined. */
export function podCidrsOf(node: NodeObject): string {
  return (node.spec?.podCIDRs ?? []).join(",");
}

/** The node with its labels of operating system and architecture; the same object if they are correct. */
export function withPlatformLabels(node: NodeObject, stats: MachineStats): NodeObject {
  const wanted = { [Label.os]: stats.operatingSystem, [Label.arch]: stats.architecture };
  const isCorrect = Object.entries(wanted).every(([label, value]) => node.metadata.labels?.[label] === value);
  return isCorrect ? node : withMetadata(node, { labels: wanted });
}

/** Whether two statuses differ in more than heartbeat times, order of conditions and notation of quantities. */
export function nodeStatusHasChanged(before: NodeStatus | undefined, after: NodeStatus | undefined): boolean {
  if (before === undefined || after === undefined) return before !== after;
  const { conditions: conditionsBefore = [], ...restBefore } = before;
  const { conditions: conditionsAfter = [], ...restAfter } = after;
  return (
    !isDeepStrictEqual(timeless(conditionsBefore), timeless(conditionsAfter)) ||
    !isDeepStrictEqual(measured(restBefore), measured(restAfter))
  );
}

/** The status with quantities as numbers, because the API rewrites them: `1k` for `1000`. */
function measured({ capacity, allocatable, ...rest }: NodeStatus): unknown {
  return { ...rest, capacity: amountsOf(capacity), allocatable: amountsOf(allocatable) };
}

function amountsOf(resources: ResourceList = {}): unknown {
  return Object.fromEntries(
    Object.entries(resources).map(([resource, quantity]) => [resource, amountOf(quantity) ?? quantity]),
  );
}

function timeless(conditions: readonly NodeCondition[]): readonly NodeCondition[] {
  return conditions
    .map((condition) => ({ ...condition, lastHeartbeatTime: null }))
    .sort((left, right) => Number(left.type > right.type) - Number(left.type < right.type));
}

/** When a status was last posted, and by how much the next report is delayed. */
export interface LastReport {
  readonly atMs: number | null;
  readonly extraDelayMs: number;
}

/** Before the first post. */
export const NOTHING_REPORTED: LastReport = { atMs: null, extraDelayMs: 0 };

/** Whether a status must be posted now: it changed, or the report is due (R9.12). */
export function isReportDue(last: LastReport, changed: boolean, nowMs: number, reportMs: number): boolean {
  return changed || last.atMs === null || nowMs - last.atMs >= reportMs + last.extraDelayMs;
}

/**
 * The delay after a report: after a change or the first report up to half a period either way, to spread nodes (R9.12).
 */
export function extraDelayMs(last: LastReport, changed: boolean, reportMs: number, random: Random): number {
  return changed || last.atMs === null ? (random() - 0.5) * reportMs : 0;
}
