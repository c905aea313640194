/** Users give pods more time while their countdown runs. */
import { between, type Incident } from "../incident.ts";

/** The incident. */
export const LONGER_TOLERATION: Incident = {
  name: "longer-toleration",
  title: "tolerationSeconds lengthened while the countdown runs",
  reports: ["kubernetes#102993", "kubernetes#108982"],
  seen: "Pods that had been given more time were deleted at the old time.",
  groups: {
    longer: { nodes: between(2, 3), pod: { tolerates: { maintenance: between(10, 12) } } },
    others: { nodes: between(2, 3), pod: { tolerates: { maintenance: between(10, 12) } } },
  },
  timeline: [
    { after: between(0, 2), taint: { key: "maintenance", of: ["longer", "others"] } },
    { after: between(4, 6), tolerate: { key: "maintenance", seconds: 3_600, of: ["longer"] } },
    { after: 18, observe: "all" },
  ],
  right: { longer: { pods: "stay", unknown: "never" }, others: { pods: "go", unknown: "never" } },
  because: "What a pod tolerates is what it says now, counted from the taint.",
};
