/** Of two NoExecute taints the one that pods do not tolerate for ever is removed; the other stays. */
import { between, type Incident } from "../incident.ts";

/** The incident. */
export const ONE_OF_TWO_TAINTS: Incident = {
  name: "one-of-two-taints",
  title: "One of two NoExecute taints removed before the countdown ends",
  reports: ["kubernetes#90794"],
  seen: "Nodes of a pool carried a taint of their own. After a short NotReady their pods were deleted all the same.",
  groups: {
    pool: { nodes: between(2, 3), pod: { toleratesLoss: between(10, 12), tolerates: { pool: 86_400 } } },
    well: { nodes: between(3, 5) },
  },
  timeline: [
    { taint: { key: "pool", of: ["pool"] } },
    { after: between(1, 3), report: { ready: "False", of: ["pool"] } },
    { after: between(4, 6), report: { ready: "True", of: ["pool"] } },
    { after: 20, observe: "all" },
  ],
  right: { pool: { pods: "stay", unknown: "never" }, well: { unknown: "never" } },
  because: "The taint that the countdown was about is gone.",
};
