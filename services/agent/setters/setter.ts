/** A setter: one pure step in computing a node's status. ../setters.ts has the steps in their order. */
import type { Occurrence } from "../../platform/kube/events/event-correlator.ts";
import type { AgentSettings } from "../agent.settings.ts";
import type { MachineStats } from "../machine-stats.ts";
import type { NodeObject } from "../node-object.ts";

/** An Event about the node itself, before it has a name and a time. */
export type NodeEvent = Pick<Occurrence, "type" | "reason" | "message">;

/** Why the node is not Ready; texts in kubelet's order. */
export interface Health {
  readonly runtime: readonly string[];
  readonly network: readonly string[];
  readonly shuttingDown: boolean;
}

/** Which resources are under pressure. */
export interface Pressures {
  readonly memory: boolean;
  readonly disk: boolean;
  readonly pid: boolean;
}

/** What earlier computations have reported in Events. */
export interface ReportedState {
  readonly unschedulable: boolean;
  readonly reboot: boolean;
}

/** The input of a setter besides the node. */
export interface SetterInput {
  readonly stats: MachineStats;
  readonly settings: AgentSettings;
  readonly nowMs: number;
  readonly pressures: Pressures;
  readonly health: Health;
  readonly reported: ReportedState;
}

/** The output of a setter. A problem is logged; what was set before stays (R9.18). */
export interface SetterOutput {
  readonly node: NodeObject;
  readonly events?: readonly NodeEvent[];
  readonly problem?: string;
}

/** One step: the node with its part of the status set. */
export type Setter = (node: NodeObject, input: SetterInput) => SetterOutput;

/** The Event of a changed node status. */
export function statusEvent(node: NodeObject, reason: string): NodeEvent {
  return { type: "Normal", reason, message: `Node ${node.metadata.name} status is now: ${reason}` };
}
