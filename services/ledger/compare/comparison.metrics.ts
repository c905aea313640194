/** The comparison with other controllers as metrics. A failure is counted when it is over. */
import type { ComparedStep } from "../../../protocols/ledger-reader.ts";
import type { Metrics } from "../../../protocols/ports.ts";
import type { Incident } from "./incident.ts";

/** Bounds in seconds: how much later the others did the same; negative where they were earlier. */
const LEAD_SECONDS = [-60, -10, -1, 0, 1, 5, 10, 30, 60, 300];

/** Returns a function that counts a failure that is over. */
export function comparisonMetrics(metrics: Metrics): (incident: Incident) => void {
  const steps = metrics.counter({
    name: "vigil_compared_steps_total",
    help: "Steps about failed nodes, by the side that took them. Only in shadow mode and beside upstream.",
    labels: ["step", "by"],
  });
  const lead = metrics.histogram({
    name: "vigil_compared_lead_seconds",
    help: "How much later the others took a step that Vigil took or would have taken; negative where they were earlier.",
    labels: ["step"],
    buckets: LEAD_SECONDS,
  });
  const count = (step: string, { vigil, others, leadMs }: ComparedStep): void => {
    const isPlanned = vigil?.isPlanned === true;
    if (leadMs !== null) lead.observe(leadMs / 1000, step);
    if (vigil !== null && others !== null) steps.add(1, step, "both");
    else if (vigil !== null && !isPlanned) steps.add(1, step, "vigil");
    else if (others !== null) steps.add(1, step, "others");
  };
  return (incident) => {
    const node = incident.report();
    if (node !== null) {
      count("unknown", node.unknown);
      count("noexecute", node.noExecute);
    }
    for (const { notReady, deleted } of incident.podReports()) {
      count("notready", notReady);
      count("deleted", deleted);
    }
  };
}
