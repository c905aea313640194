/** A webhook denies every deletion of a pod for a while. */
import { between, type Incident } from "../incident.ts";

/** The incident. */
export const DENIED_DELETION: Incident = {
  name: "denied-deletion",
  title: "A webhook denies deletions when countdowns end",
  reports: ["kubernetes#140639"],
  seen: "A webhook was down for a minute. The pods whose eviction it denied stayed on their tainted nodes for ever.",
  groups: {
    tainted: { nodes: between(2, 3), pod: { tolerates: { maintenance: between(16, 18) } } },
    well: { nodes: between(3, 5), pod: { toleratesLoss: 2 } },
  },
  timeline: [
    { after: between(0, 2), refuse: "deletions of pods", taint: { key: "maintenance", of: ["tainted"] } },
    { after: between(18, 21), allow: "deletions of pods" },
    { after: 14, observe: "all" },
  ],
  right: { tainted: { pods: "go", unknown: "never" }, well: { pods: "stay", unknown: "never" } },
  because: "What was denied is requested again until it is allowed.",
};
