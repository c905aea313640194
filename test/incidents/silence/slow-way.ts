/** Half of the kubelets reach the API server through something that hangs for seconds at a time. */
import { between, type Incident, type Step } from "../incident.ts";

const HANGS: readonly Step[] = [
  { after: between(2, 4), loadBalancer: "stalls" },
  { after: between(5, 7), loadBalancer: "heals" },
];

/** The incident. */
export const SLOW_WAY: Incident = {
  name: "slow-way",
  title: "Half of the fleet behind an API server that hangs for seconds",
  reports: ["kubernetes#52498", "kubernetes#121793"],
  seen: "One of several API servers was overloaded. Heartbeats through it came late and in bursts.",
  groups: {
    slow: { nodes: between(8, 10), pod: { toleratesLoss: 2 }, behindLoadBalancer: true },
    fast: { nodes: between(8, 10), pod: { toleratesLoss: 2 } },
  },
  timeline: [...HANGS, ...HANGS, ...HANGS, { after: 8, observe: "all" }],
  right: { slow: { pods: "stay", unknown: "never" }, fast: { pods: "stay", unknown: "never" } },
  because: "Every node is heard within its grace.",
};
