/** The API server is away for longer than the countdowns of pods run on. Some of their nodes come back meanwhile. */
import { between, type Incident } from "../incident.ts";

/** The incident. */
export const API_AWAY: Incident = {
  name: "api-away",
  title: "API server away for longer than countdowns run",
  reports: ["kubernetes#24200", "kubernetes#125824"],
  seen:
    "Nodes lost their network for a moment, then the API server was away. When it came back, all pods of nodes that " +
    "had long been well were deleted.",
  groups: {
    back: { nodes: between(2, 4), pod: { toleratesLoss: 25 } },
    dead: { nodes: between(1, 2), pod: { toleratesLoss: between(16, 28) } },
    well: { nodes: between(12, 18) },
  },
  timeline: [
    { after: between(0, 3), silence: ["back", "dead"] },
    { untilTainted: ["back", "dead"] },
    { after: between(0, 2), kill: ["API server"] },
    { after: between(30, 36), silence: ["well"] },
    { start: ["API server"], renew: ["back", "well"] },
    { after: between(6, 9), post: ["back", "well"] },
    { untilWell: ["back"] },
    { after: 1, untilDeleted: ["dead"] },
  ],
  right: {
    back: { pods: "stay", unknown: "once" },
    dead: { pods: "go", unknown: "once" },
    well: { unknown: "never" },
  },
  because: "While no node could be heard, silence proves nothing: countdowns pause, and leave a whole grace after it.",
};
