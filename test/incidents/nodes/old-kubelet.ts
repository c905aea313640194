/** The lease of a dead node is kept alive by the kubelet of a machine that had its name before. */
import { between, type Incident } from "../incident.ts";

/** The incident. */
export const OLD_KUBELET: Incident = {
  name: "old-kubelet",
  title: "The kubelet of a deleted node keeps the lease of its successor alive",
  reports: ["kubernetes#116485", "kubernetes#37528"],
  seen: "A machine was replaced under its name. The old one still renewed the lease, so the new one's death went unseen.",
  groups: { replaced: { nodes: between(1, 2) }, well: { nodes: between(4, 6) } },
  timeline: [
    { after: between(0, 2), replaceMachines: ["replaced"] },
    { after: between(6, 9), silenceReplacements: ["replaced"] },
    { after: 26, observe: "all" },
  ],
  right: { replaced: { unknown: "once" }, well: { unknown: "never" } },
  because: "A lease whose owner is another Node, by uid, is no heartbeat of this one.",
  unsolved: "By upstream's rules any renewal counts. Vigil names the other owner in explain and in a metric.",
};
