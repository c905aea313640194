/** The progress of hollow nodes as text. Pure. */
import type { HollowSummary } from "../../sandbox/hollow/hollow.service.ts";

const BAR_WIDTH = 30;

/** Whether all nodes are registered and all pods created. */
export function isComplete({ nodes, registered, pods, podsCreated }: HollowSummary): boolean {
  return registered >= nodes && podsCreated >= pods;
}

/** A bar and its counts, in one line. */
export function progressLine(summary: HollowSummary): string {
  const { nodes, registered, pods, podsCreated } = summary;
  const share = nodes + pods === 0 ? 1 : (registered + podsCreated) / (nodes + pods);
  const filled = Math.min(BAR_WIDTH, Math.floor(share * BAR_WIDTH));
  const bar = `${"#".repeat(filled)}${"-".repeat(BAR_WIDTH - filled)}`;
  const podText = pods > 0 ? `, ${podsCreated} of ${pods} pods` : "";
  return `[${bar}] ${registered} of ${nodes} nodes${podText}`;
}

/** The counts of hollow nodes, in one line. */
export function summaryLine({ nodes, registered, stopped, pods }: HollowSummary): string {
  return `${nodes} nodes, ${registered} registered, ${stopped} stopped, ${pods} pods`;
}
