/** The controller's machine stands still for longer than the grace, and goes on with what it knew before. */
import { between, type Incident } from "../incident.ts";

/** The incident. */
export const FROZEN_CONTROLLER: Incident = {
  name: "frozen-controller",
  title: "Controller's machine suspended, then goes on",
  reports: ["kubernetes#138698"],
  seen: "A virtual machine of the control plane was migrated live. Its controller woke up and found every node silent.",
  groups: { well: { nodes: between(12, 18), pod: { toleratesLoss: 2 } } },
  timeline: [
    { after: between(1, 3), freeze: ["controller"] },
    { after: between(18, 25), thaw: ["controller"] },
    { after: 20, observe: "all" },
  ],
  right: { well: { pods: "stay", unknown: "never" } },
  because: "A process that stood still has heard nothing for as long, which is no silence of nodes.",
};
