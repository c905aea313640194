/** A machine dies, and nothing else happens: what all others are compared with. */
import { between, type Incident } from "../incident.ts";

/** The incident. */
export const MACHINE_DIES: Incident = {
  name: "machine-dies",
  title: "A machine dies",
  reports: ["kubernetes#55713"],
  seen: "A node lost power. Its pods were shown as running for minutes, and were not replaced.",
  groups: {
    dead: { nodes: between(1, 3), pod: { toleratesLoss: between(8, 15) } },
    well: { nodes: between(5, 8), pod: { toleratesLoss: 0 } },
  },
  timeline: [{ after: between(0, 3), silence: ["dead"] }, { untilDeleted: ["dead"] }, { after: 5, observe: "all" }],
  right: { dead: { pods: "go", unknown: "once" }, well: { pods: "stay", unknown: "never" } },
  because: "The machine was silent for the grace, and its pods tolerate that for so long and no longer.",
};
