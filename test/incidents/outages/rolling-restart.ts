/** The API server restarts again and again within a minute, as in an upgrade of a control plane. */
import { between, type Incident, type Step } from "../incident.ts";

const RESTART: readonly Step[] = [
  { after: between(3, 6), kill: ["API server"] },
  { after: between(1, 4), start: ["API server"] },
];

/** The incident. */
export const ROLLING_RESTART: Incident = {
  name: "rolling-restart",
  title: "API servers restart one after the other",
  reports: ["siderolabs/talos#14152", "kubernetes/kops#4946"],
  seen: "During an upgrade of the control plane nodes flapped, and some lost their pods.",
  groups: {
    dead: { nodes: between(1, 3), pod: { toleratesLoss: between(12, 18) } },
    well: { nodes: between(12, 18), pod: { toleratesLoss: 5 } },
  },
  timeline: [
    { after: between(0, 2), silence: ["dead"] },
    ...RESTART,
    ...RESTART,
    ...RESTART,
    { after: 1, untilDeleted: ["dead"] },
    { after: 3, observe: "all" },
  ],
  right: { dead: { pods: "go", unknown: "once" }, well: { pods: "stay", unknown: "never" } },
  because: "Restarts of seconds hide no machine that died, and kill none.",
};
