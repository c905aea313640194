/** Nearly all nodes of a cluster lose their way to the API server in one instant. */
import { between, type Incident } from "../incident.ts";

/** The incident. */
export const LOAD_BALANCER: Incident = {
  name: "load-balancer",
  title: "Load balancer drops the connections of nearly all nodes at once",
  reports: ["kubernetes#45126", "openshift/openshift-ansible#11194", "kubernetes#77864"],
  seen: "A load balancer scaled itself. All nodes but a few became NotReady, and every Service lost its endpoints.",
  groups: {
    a: { nodes: between(8, 12), zone: "a", pod: { toleratesLoss: 40 }, behindLoadBalancer: true },
    b: { nodes: between(8, 12), zone: "b", pod: { toleratesLoss: 40 }, behindLoadBalancer: true },
    c: { nodes: between(6, 8), zone: "c", pod: { toleratesLoss: 40 }, behindLoadBalancer: true },
    near: { nodes: between(2, 3), zone: "c" },
  },
  timeline: [
    { after: between(0, 3), loadBalancer: "breaks" },
    { after: between(24, 30), loadBalancer: "heals" },
    { after: between(1, 4), recover: ["a", "b", "c"] },
    { untilWell: ["a", "b", "c"] },
    { after: 8, observe: "all" },
  ],
  right: {
    a: { pods: "stay", unknown: "never" },
    b: { pods: "stay", unknown: "never" },
    c: { pods: "stay", unknown: "never" },
    near: { unknown: "never" },
  },
  because: "Silence of nearly all in one instant is a fault of the way, not of the machines.",
  unsolved: "A node that cannot be heard is found unknown by upstream's rules; its pods are marked unready.",
};
