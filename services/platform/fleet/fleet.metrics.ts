/** The metrics of a member of a fleet. It knows no fleet. */
import type { Metrics } from "../../../protocols/ports.ts";

/** What a member of a fleet tells of itself. */
export function fleetMetrics(metrics: Metrics) {
  const gauge = (name: string, help: string, ...labels: string[]) => metrics.gauge({ name, help, labels });
  return {
    members: gauge("vigil_fleet_members", "Processes heard, this one included."),
    shards: gauge("vigil_fleet_shards", "Shards that this process minds.", "service"),
    assignments: metrics.counter({
      name: "vigil_fleet_assignments_total",
      help: "Times that this process worked out which member owns which shard.",
    }),
    lag: gauge("vigil_event_loop_lag_seconds", "How late the last pulse left."),
  };
}
