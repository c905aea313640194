/** Two machines have one name, and one of them is not ready. */
import { between, type Incident } from "../incident.ts";

/** The incident. */
export const TWO_KUBELETS: Incident = {
  name: "two-kubelets",
  title: "Two kubelets under one name, one not ready",
  reports: ["kubernetes#37528"],
  seen: "Two machines with one name posted in turn, and the node flapped between Ready and NotReady.",
  groups: { doubled: { nodes: between(1, 2), pod: { toleratesLoss: 12 } }, well: { nodes: between(4, 6) } },
  timeline: [
    { after: between(0, 2), twoMachinesPost: { of: ["doubled"], times: between(4, 6), everySeconds: 3 } },
    { untilWell: ["doubled"] },
    { after: 5, observe: "all" },
  ],
  right: { doubled: { pods: "stay", unknown: "never" }, well: { unknown: "never" } },
  because: "No taint stays for as long as the pods tolerate, and one of the machines is always heard.",
};
