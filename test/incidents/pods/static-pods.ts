/** A static pod runs on a node that is tainted NoExecute, and does not tolerate that. */
import { between, type Incident } from "../incident.ts";

/** The incident. */
export const STATIC_PODS: Incident = {
  name: "static-pods",
  title: "Static pods on a node with a new NoExecute taint",
  reports: ["k0sproject/k0s#6955", "kubernetes#42733", "kubernetes#48213"],
  seen: "The mirror of a static pod was deleted and created again without end, and alerts fired.",
  groups: {
    tainted: { nodes: between(1, 2), pod: { isMirror: true } },
    well: { nodes: between(3, 5), pod: { toleratesLoss: 2 } },
  },
  timeline: [
    { after: between(0, 3), taint: { key: "dedicated", of: ["tainted"] } },
    { after: 20, observe: "all" },
  ],
  right: { tainted: { pods: "stay", unknown: "never" }, well: { pods: "stay", unknown: "never" } },
  because: "A static pod belongs to its kubelet: deleting its mirror evicts nothing.",
};
