/** Compares what Vigil does about failed nodes with what other controllers do, where these act beside it. */
import type { ComparedStep } from "../../../protocols/ledger-reader.ts";
import type { AnyMessage } from "../../../protocols/messages.ts";
import type { Metrics } from "../../../protocols/ports.ts";
import { shardOf } from "../../../protocols/subjects.ts";
import { timelineSentence } from "../explain/sentences.ts";
import type { LedgerSetup } from "../ledger.setup.ts";
import type { RecordSubscriber } from "../record/record-subscriber.ts";
import { Comparison, type ComparisonOptions } from "./comparison.ts";
import type { Incident } from "./incident.ts";

/** Bounds in seconds: how much later the others did the same; negative where they were earlier. */
const LEAD_SECONDS = [-60, -10, -1, 0, 1, 5, 10, 30, 60, 300];

/** The comparison, which follows every message. */
export class CompareSubscriber {
  readonly comparison: Comparison;
  readonly #comparesPods: boolean;

  constructor(setup: LedgerSetup, record: RecordSubscriber) {
    this.#comparesPods = setup.comparesPods;
    this.comparison = new Comparison(comparisonOptions(setup, record));
  }

  onMessage(message: AnyMessage): void {
    if (message.type === "observed.pods" && !this.#comparesPods) return;
    this.comparison.onMessage(message);
  }
}

/** The owner of a node stores and counts its failures; every ledger records them. */
function comparisonOptions(setup: LedgerSetup, record: RecordSubscriber): ComparisonOptions {
  const { startedAt, isShadow, comparesPods, store } = setup;
  const { fleet, metrics, profile } = setup.io;
  const isOurs = (node: string) => fleet.owns("ledger", shardOf(node));
  const count = incidentCounter(metrics);
  return {
    member: fleet.member,
    startedAt,
    comparesPods,
    isShadow,
    isBeside: profile.upstream === "beside" && !isShadow,
    nodeMonitorGraceMs: profile.nodeMonitorGraceMs,
    keep: (kept) => {
      if (kept.kind === "run" || isOurs(kept.node)) store?.keepCompared(kept);
    },
    podShown: ({ namespace, name }, step, { id, at }) => {
      const text = timelineSentence(step === "deleted" ? "podDeletedByAnother" : "podMarkedByAnother", {});
      record.addEntry({ id, at, type: "observed.pods", cause: null }, { kind: "Pod", namespace, name }, text);
    },
    isOver: (incident) => {
      if (comparesPods && isOurs(incident.node)) count(incident);
    },
  };
}

/** Returns a function that counts a failure that is over, as metrics. */
function incidentCounter(metrics: Metrics): (incident: Incident) => void {
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
