/** Nothing passes between the controller and the API server, and no connection breaks, for longer than the grace. */
import { between, type Incident } from "../incident.ts";

/** The incident. */
export const STALLED_PATH: Incident = {
  name: "stalled-path",
  title: "Controller's connection hangs",
  reports: ["kubernetes#85221", "kubernetes#132831"],
  seen: "Half-open connections of a controller showed no change, and it judged nodes by leases of minutes ago.",
  groups: {
    dead: { nodes: between(1, 3), pod: { toleratesLoss: between(4, 8) } },
    well: { nodes: between(12, 18), pod: { toleratesLoss: 2 } },
  },
  timeline: [
    { after: between(1, 3), controllerPath: "stalls" },
    { after: between(18, 25), controllerPath: "heals", silence: ["dead"] },
    { after: 10, untilDeleted: ["dead"] },
    { after: 5, observe: "all" },
  ],
  right: { dead: { pods: "go", unknown: "once" }, well: { pods: "stay", unknown: "never" } },
  because: "What a stale view shows as old may be fresh.",
};
