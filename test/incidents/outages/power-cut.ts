/** Everything is off for a night. The control plane boots first, and finds the taints of the evening before. */
import { between, type Incident } from "../incident.ts";

/** The incident. */
export const POWER_CUT: Incident = {
  name: "power-cut",
  title: "Everything off for a night, control plane boots first",
  reports: ["kubernetes#101674"],
  seen: "A data centre was switched off. When the control plane was on again, pods were deleted before workers booted.",
  groups: {
    first: { nodes: between(3, 6), pod: { toleratesLoss: 40 } },
    workers: { nodes: between(4, 6), pod: { toleratesLoss: 40 } },
    masters: { nodes: 3, zone: "b" },
  },
  timeline: [
    { after: between(0, 2), silence: ["first"] },
    { untilTainted: ["first"] },
    { after: between(0, 2), kill: ["controller"], silence: ["workers", "masters"], age: between(36_000, 50_000) },
    { kill: ["etcd"] },
    { start: ["controller", "API server"] },
    { after: between(3, 5), recover: ["masters"] },
    { after: between(11, 14), recover: ["first", "workers"] },
    { untilWell: ["first", "workers", "masters"] },
    { after: 6, observe: "all" },
  ],
  right: {
    first: { pods: "stay", unknown: "either" },
    workers: { pods: "stay", unknown: "either" },
    masters: { unknown: "either" },
  },
  because: "The machines boot within what pods tolerate, counted from when a node could be heard.",
};
