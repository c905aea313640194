/** A controller starts where thousands of nodes are, while some of their machines are dead. */
import { between, type Incident } from "../incident.ts";

/** The incident. */
export const FLEET_START: Incident = {
  name: "fleet-start",
  title: "A controller starts among 5,000 nodes",
  reports: ["kubernetes#85221", "kubernetes#93593"],
  seen: "A controller of a large cluster started late, or lost its leases and found hundreds of nodes NotReady.",
  isLarge: true,
  groups: {
    dead: { nodes: between(2, 5), pod: { toleratesLoss: between(8, 15) } },
    well: { nodes: 5_000 },
  },
  timeline: [
    { after: between(1, 4), kill: ["controller"], silence: ["dead"] },
    { after: between(5, 15), start: ["controller"] },
    { untilDeleted: ["dead"] },
    { after: 10, observe: "all" },
  ],
  right: { dead: { pods: "go", unknown: "once" }, well: { unknown: "never" } },
  because: "However many nodes there are, each machine that died is found a grace after the start, and no other.",
};
