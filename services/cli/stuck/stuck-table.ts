/** The table of `vigil get stuck`. Pure. */
import { apiTime } from "../../domain/api-time.ts";
import { spanText } from "../../domain/format.ts";
import { POD_NAMES, type Table } from "../get/get-tables.ts";
import type { StuckPod } from "./stuck-pods.policy.ts";

const timeText = (at: number | null): string => (at === null ? "" : apiTime(at));

/** The pods that stay on their nodes. */
export const STUCK: Table<StuckPod> = {
  kind: "pod",
  ...POD_NAMES,
  document: ({ namespace, name, uid, node, nodeState, nodeSince, stuckSince, graceEndedAt, holds }) => ({
    namespace,
    name,
    uid,
    node,
    nodeState,
    nodeSince: nodeSince === null ? null : apiTime(nodeSince),
    stuckSince: apiTime(stuckSince),
    graceEndedAt: graceEndedAt === null ? null : apiTime(graceEndedAt),
    heldBy: holds,
  }),
  wide: {
    heading: ["GRACE ENDED AT", "NODE SINCE", "RELEASED BY"],
    cells: ({ graceEndedAt, nodeSince, holds }) => [
      timeText(graceEndedAt),
      timeText(nodeSince),
      [...new Set(holds.map(({ releasedBy }) => releasedBy))].join("; "),
    ],
  },
  heading: ["NAMESPACE", "POD", "NODE", "NODE STATE", "STUCK FOR", "HELD BY"],
  cells: ({ namespace, name, node, nodeState, stuckSince, holds }, nowMs) => [
    namespace,
    name,
    node,
    nodeState,
    spanText(nowMs - stuckSince),
    holds.map(({ why }) => why).join("; "),
  ],
  state: "NODE STATE",
  key: ({ uid }) => uid,
  ignoredChanges: [],
};
