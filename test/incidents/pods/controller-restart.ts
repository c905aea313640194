/** The controller restarts in the middle of a countdown. */
import { between, type Incident } from "../incident.ts";

/** The incident. */
export const CONTROLLER_RESTART: Incident = {
  name: "controller-restart",
  title: "Controller restarts in the middle of a countdown",
  reports: ["kubernetes#108268", "kubernetes#50067"],
  seen: "A node was off. The controller restarted, counted from the start again, and its pods moved minutes late.",
  groups: {
    dead: { nodes: between(2, 3), pod: { toleratesLoss: between(24, 28) } },
    well: { nodes: between(8, 12), pod: { toleratesLoss: 2 } },
  },
  timeline: [
    { after: between(0, 2), silence: ["dead"] },
    { untilTainted: ["dead"] },
    { after: between(16, 19), kill: ["controller"] },
    { after: between(1, 3), start: ["controller"] },
    { after: 24, observe: "all" },
  ],
  right: { dead: { pods: "go", unknown: "once" }, well: { pods: "stay", unknown: "never" } },
  because: "The taint says when the countdown began; a restart does not change that.",
};
