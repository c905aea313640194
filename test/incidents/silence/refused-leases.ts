/** A webhook refuses every lease. Kubelets still post their status, at their own period. */
import { between, type Incident } from "../incident.ts";

/** The incident. */
export const REFUSED_LEASES: Incident = {
  name: "refused-leases",
  title: "A webhook refuses every lease",
  reports: ["kubernetes#90217", "gardener/gardener#7625", "awslabs/cedar-access-control-for-k8s#20"],
  seen: "A webhook for all objects was down. No lease was renewed, every node became NotReady, and pods were evicted.",
  groups: {
    a: { nodes: between(6, 10), zone: "a", pod: { toleratesLoss: 8 } },
    b: { nodes: between(6, 10), zone: "b", pod: { toleratesLoss: 8 } },
  },
  timeline: [
    { after: between(0, 3), refuse: "leases" },
    { after: between(4, 7), post: ["a"] },
    { after: between(2, 4), post: ["b"] },
    { after: between(26, 34), allow: "leases" },
    { after: 1, recover: ["a", "b"] },
    { untilWell: ["a", "b"] },
    { after: 5, observe: "all" },
  ],
  right: { a: { pods: "stay", unknown: "never" }, b: { pods: "stay", unknown: "never" } },
  because: "No lease of any node but statuses of all: the path of leases is broken, not the machines.",
  unsolved: "By upstream's rules a status of that age is silence. Vigil reports the broken path.",
  says: "no lease of any of",
};
