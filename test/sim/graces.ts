/**
 * How long a node may be silent: what the policies of that node say, or have said so lately that some process may not
 * know better yet. It judges nothing.
 */
import type { Profile } from "../../protocols/profile.ts";

/** The graces of one node at one time, in milliseconds: of one that has posted a status, and of one that has not. */
export interface Grace {
  readonly monitorMs: number;
  readonly startupMs: number;
}

/** The graces that a node may have had since an instant of the wall clock, as any process may have known them then. */
export type GracesOf = (node: string, sinceMs?: number) => readonly Grace[];

/** The grace of every node without a policy. */
export function profileGrace({ nodeMonitorGraceMs, nodeStartupGraceMs }: Profile): Grace {
  return { monitorMs: nodeMonitorGraceMs, startupMs: nodeStartupGraceMs };
}

/** The shortest of these graces. */
export function leastMs(graces: readonly Grace[], which: keyof Grace): number {
  return Math.min(...graces.map((grace) => grace[which]));
}

/** The longest of these graces. */
export function mostMs(graces: readonly Grace[], which: keyof Grace): number {
  return Math.max(...graces.map((grace) => grace[which]));
}
