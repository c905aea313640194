/** What the node service counts. */
import type { Metrics } from "../../protocols/ports.ts";

/** Upper bounds of the lateness histogram, in seconds. */
const LATENESS_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** The node service's metrics. */
export interface NodeCounters {
  /** A node was found silent, so much later than its silence was complete. */
  verdict(latenessMs: number): void;
  /** The writer's own reading refuted a verdict. */
  refuted(): void;
  /** Something harmful had to wait for sight. */
  heldBack(): void;
}

/** Declares the metrics. */
export function nodeCounters(metrics: Metrics): NodeCounters {
  const lateness = metrics.histogram({
    name: "vigil_verdict_lateness_seconds",
    help: "How much later than its grace a silent node was found.",
    buckets: LATENESS_BUCKETS,
  });
  const refuted = metrics.counter({
    name: "vigil_verdicts_refuted_total",
    help: "Verdicts of silence that a live read before the write refuted.",
  });
  const heldBack = metrics.counter({
    name: "vigil_reviews_held_back_total",
    help: "Reviews of a node whose harmful wishes waited because its shard could not be seen.",
  });
  return {
    verdict: (latenessMs) => lateness.observe(latenessMs / 1000),
    refuted: () => refuted.add(1),
    heldBack: () => heldBack.add(1),
  };
}
