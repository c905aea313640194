/** A kubelet restarts and reports that its node is not ready for two seconds. */
import { between, type Incident } from "../incident.ts";

/** The incident. */
export const KUBELET_RESTART: Incident = {
  name: "kubelet-restart",
  title: "Kubelets restart and are NotReady for two seconds",
  reports: ["kubernetes#96945", "kubernetes-sigs/kueue#13042"],
  seen: "Each upgrade of kubelets made nodes NotReady for a moment, and jobs with short tolerations were evicted.",
  groups: { restarting: { nodes: between(4, 6), pod: { toleratesLoss: between(6, 8) } }, well: { nodes: 3 } },
  timeline: [
    { after: between(0, 3), report: { ready: "False", of: ["restarting"] } },
    { after: 2, report: { ready: "True", of: ["restarting"] } },
    { after: between(3, 5), report: { ready: "False", of: ["restarting"] } },
    { after: 2, report: { ready: "True", of: ["restarting"] } },
    { untilWell: ["restarting"] },
    { after: 10, observe: "all" },
  ],
  right: { restarting: { pods: "stay", unknown: "never" }, well: { unknown: "never" } },
  because: "They were not ready for less than the pods tolerate.",
};
