/** The metrics of one member of a fleet. */
import type { Metrics } from "../../../protocols/ports.ts";

/** Declares the metrics of a fleet member. */
export function fleetMetrics(metrics: Metrics) {
  const gauge = (name: string, help: string, ...labels: string[]) => metrics.gauge({ name, help, labels });
  return {
    members: gauge("vigil_fleet_members", "Members whose pulses are received, this one included."),
    shards: gauge("vigil_fleet_shards", "Shards that this process owns.", "service"),
    assignments: metrics.counter({
      name: "vigil_fleet_assignments_total",
      help: "Times that this process worked out which member owns which shard.",
    }),
    lag: gauge("vigil_event_loop_lag_seconds", "How late the last pulse left."),
  };
}
