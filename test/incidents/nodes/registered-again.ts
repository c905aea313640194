/** A cloud controller deletes the Nodes of machines that run; their kubelets register them again. */
import { between, type Incident, type Step } from "../incident.ts";

const AGAIN: Step = { after: between(4, 8), registerAgain: ["deleted"] };

/** The incident. */
export const REGISTERED_AGAIN: Incident = {
  name: "registered-again",
  title: "Nodes deleted by a cloud controller, registered again",
  reports: ["kubernetes#120617", "kubernetes#139301", "kubernetes/cloud-provider#57"],
  seen: "A cloud's API reported instances as gone for a moment. Their Nodes were deleted and came back, three times.",
  groups: { deleted: { nodes: between(2, 4), pod: { toleratesLoss: 4 } }, well: { nodes: between(4, 6) } },
  timeline: [AGAIN, AGAIN, AGAIN, { after: 1, untilWell: ["deleted"] }, { after: 15, observe: "all" }],
  right: { deleted: { pods: "stay", unknown: "never" }, well: { unknown: "never" } },
  because: "Each is a new Node with a whole grace, and its machine is heard at once.",
};
