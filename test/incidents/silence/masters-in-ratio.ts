/** Most workers of a zone are silent; the masters beside them are not, and count. */
import { between, type Incident } from "../incident.ts";

/** The incident. */
export const MASTERS_IN_RATIO: Incident = {
  name: "masters-in-ratio",
  title: "Workers silent, masters of the same zone count as well",
  reports: ["kubernetes#128528"],
  seen: "All workers of a zone were down, three masters were not: 70 % silent is a partial disruption, at rate zero.",
  groups: {
    masters: { nodes: 3, zone: "a" },
    workers: { nodes: between(6, 9), zone: "a", pod: { toleratesLoss: 5 } },
    others: { nodes: between(4, 6), zone: "b", pod: { toleratesLoss: 2 } },
  },
  timeline: [
    { after: between(0, 2), silence: ["workers"] },
    { after: 34, observe: "all" },
  ],
  right: {
    masters: { unknown: "never" },
    workers: { pods: "stay", unknown: "once" },
    others: { pods: "stay", unknown: "never" },
  },
  because: "Kubernetes documents it: in a small zone with 55 % of its nodes silent nothing is evicted.",
};
