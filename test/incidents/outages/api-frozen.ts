/** The API server hangs: its connections stay open, and nothing is answered. Then it goes on. */
import { between, type Incident } from "../incident.ts";

/** The incident. */
export const API_FROZEN: Incident = {
  name: "api-frozen",
  title: "API server hangs with open connections",
  reports: ["kubernetes#24200"],
  seen: "An overloaded API server answered no request for minutes, and no connection broke. Then it went on.",
  groups: { well: { nodes: between(12, 18), pod: { toleratesLoss: 15 } } },
  timeline: [
    { after: between(0, 3), freeze: ["API server"] },
    { after: between(22, 28), thaw: ["API server"] },
    { after: 25, observe: "all" },
  ],
  right: { well: { pods: "stay", unknown: "never" } },
  because: "Every node lives, and could not be heard.",
};
