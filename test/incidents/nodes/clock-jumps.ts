/** The clock of a node jumps, so that its heartbeats are dated in the past. */
import { between, type Incident } from "../incident.ts";

const GROUPS = {
  jumping: { nodes: between(1, 3), pod: { toleratesLoss: 4 } },
  well: { nodes: between(4, 6) },
} as const;
const RIGHT = { jumping: { pods: "stay", unknown: "never" }, well: { unknown: "never" } } as const;
const BECAUSE = "A lease that changes is a heartbeat, whatever time it names.";

/** It goes back for good, as after a wrong NTP server. */
export const CLOCK_BACK: Incident = {
  name: "clock-back",
  title: "A node's clock goes back an hour",
  reports: ["kubernetes#113081"],
  seen: "The clock of a node was set back. Its leases were older than the last one, and the node became NotReady.",
  groups: GROUPS,
  timeline: [
    { after: between(1, 4), moveClock: { of: ["jumping"], seconds: -3_600 } },
    { after: 30, observe: "all" },
  ],
  right: RIGHT,
  because: BECAUSE,
};

/** It was wrong by hours, and is put right in one step. */
export const CLOCK_STEP: Incident = {
  name: "clock-step",
  title: "NTP puts right a clock that was eight hours ahead",
  reports: ["kubernetes#45419", "kubernetes/node-problem-detector#26"],
  seen: "Nodes booted with a wrong clock. When NTP stepped it back, they were NotReady for as long as it had been wrong.",
  groups: GROUPS,
  timeline: [
    { after: between(1, 3), moveClock: { of: ["jumping"], seconds: 28_800 } },
    { after: between(7, 10), moveClock: { of: ["jumping"], seconds: -28_800 } },
    { after: 28, observe: "all" },
  ],
  right: RIGHT,
  because: BECAUSE,
};
