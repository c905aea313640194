/** Orders to running hollow nodes, as lines of JSON, and their answers. */
import { type ConditionStatus, conditionStatus } from "../../../protocols/objects.ts";
import type { HollowNodes, HollowSummary } from "./hollow.service.ts";
import type { HollowSelector } from "./node-selection.ts";

/** The orders. */
export const HOLLOW_ORDERS = ["stop", "resume", "set", "lag", "flap", "remove", "status"] as const;

/** One order: its verb, its nodes and its parameters. */
export interface HollowOrder {
  readonly order: (typeof HOLLOW_ORDERS)[number];
  readonly selector: HollowSelector;
  /** `set`: the condition's type and status. */
  readonly condition?: { readonly type: string; readonly status: ConditionStatus };
  /**
   * In milliseconds; 0 ends it. `lag`: the delay of each heartbeat; `flap`: how long the nodes are stopped, and then
   * run.
   */
  readonly durationMs?: number;
}

/** The answer: how many nodes an order reached and the state of all, or why nothing was done. */
export type HollowAnswer = { readonly reached: number; readonly summary: HollowSummary } | { readonly problem: string };

/** Executes the order on a line and returns the line to answer; a malformed order changes nothing. */
export function obey(hollow: HollowNodes, line: string): string {
  return JSON.stringify(answerTo(hollow, line));
}

function answerTo(hollow: HollowNodes, line: string): HollowAnswer {
  try {
    const reached = carryOut(hollow, readOrder(line));
    return { reached, summary: hollow.summary() };
  } catch (problem) {
    return { problem: problem instanceof Error ? problem.message : String(problem) };
  }
}

/** Parses an order. Throws a SyntaxError or a RangeError that names the field and the fault. */
function readOrder(line: string): HollowOrder {
  const read = JSON.parse(line) as Partial<HollowOrder> | null;
  const order = HOLLOW_ORDERS.find((known) => known === read?.order);
  if (order === undefined) throw new RangeError(`order: must be one of ${HOLLOW_ORDERS.join(", ")}`);
  const { selector = {}, condition, durationMs } = read ?? {};
  return {
    order,
    selector,
    ...(condition !== undefined && { condition: { type: condition.type, status: statusOf(condition.status) } }),
    ...(durationMs !== undefined && { durationMs: durationOf(durationMs) }),
  };
}

function statusOf(status: unknown): ConditionStatus {
  const known = conditionStatus.safeParse(status);
  if (!known.success) throw new RangeError(`condition: status must be one of ${conditionStatus.options.join(", ")}`);
  return known.data;
}

function durationOf(durationMs: unknown): number {
  if (typeof durationMs !== "number" || !(durationMs >= 0)) throw new RangeError("durationMs: must be 0 or more");
  return durationMs;
}

function carryOut(hollow: HollowNodes, { order, selector, condition, durationMs }: HollowOrder): number {
  switch (order) {
    case "status":
      return 0;
    case "stop":
      return hollow.stop(selector);
    case "resume":
      return hollow.resume(selector);
    case "remove":
      return hollow.remove(selector);
    case "set":
      if (condition === undefined) throw new RangeError("condition: missing");
      return hollow.set(selector, condition.type, condition.status);
    case "lag":
    case "flap":
      if (durationMs === undefined) throw new RangeError("durationMs: missing");
      return hollow[order](selector, durationMs);
  }
}
