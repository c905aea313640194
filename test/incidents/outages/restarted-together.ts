/** The controller is killed together with the API server, and starts with it ten minutes later. */
import { between, type Incident } from "../incident.ts";

/** The incident. */
export const RESTARTED_TOGETHER: Incident = {
  name: "restarted-together",
  title: "Network partition ends with the control plane's own trouble",
  reports: ["kubernetes#32510", "kubernetes#105617", "k3s-io/k3s#4168"],
  seen: "A control plane was away for minutes and came back with its controller, which deleted the pods of nodes.",
  groups: {
    silent: { nodes: between(2, 5), pod: { toleratesLoss: 40 } },
    well: { nodes: between(12, 18) },
  },
  timeline: [
    { after: between(0, 2), silence: ["silent"] },
    { untilTainted: ["silent"] },
    { after: between(0, 2), kill: ["controller"], age: between(400, 900) },
    { start: ["controller", "API server"], renew: ["well"] },
    { after: between(6, 9), recover: ["silent"], post: ["well"] },
    { untilWell: ["silent"] },
    { after: 8, observe: "all" },
  ],
  right: { silent: { pods: "stay", unknown: "once" }, well: { unknown: "never" } },
  because: "The nodes are heard again within the grace after the return.",
};
