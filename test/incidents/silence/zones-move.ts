/** The zone labels of nodes change while some of them are silent. */
import { between, type Incident } from "../incident.ts";

/** The incident. */
export const ZONES_MOVE: Incident = {
  name: "zones-move",
  title: "Zone labels of nodes move while some wait",
  reports: [
    "kubernetes#141616",
    "sergelogvinov/proxmox-cloud-controller-manager#265",
    "hetznercloud/hcloud-cloud-controller-manager#1311",
  ],
  seen: "Virtual machines were migrated, and a cloud controller moved the zone labels of their nodes.",
  groups: {
    silent: { nodes: between(3, 4), zone: "a", pod: { toleratesLoss: between(8, 12) } },
    a: { nodes: between(8, 10), zone: "a", pod: { toleratesLoss: 2 } },
    b: { nodes: between(8, 10), zone: "b", pod: { toleratesLoss: 2 } },
  },
  timeline: [
    { after: between(0, 2), silence: ["silent"] },
    { after: between(9, 13), moveToZone: { zone: "b", of: ["silent"] } },
    { after: between(1, 3), moveToZone: { zone: "b", of: ["a"] } },
    { after: 1, moveToZone: { zone: "a", of: ["a"] } },
    { after: 1, untilDeleted: ["silent"] },
    { after: 3, observe: "all" },
  ],
  right: {
    silent: { pods: "go", unknown: "once" },
    a: { pods: "stay", unknown: "never" },
    b: { pods: "stay", unknown: "never" },
  },
  because: "A label says nothing about life: no dead node is forgotten, and no other is touched.",
};
