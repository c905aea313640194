/** Compares what Vigil does about failed nodes with what other controllers do, where others act beside it. */
import type { AnyMessage } from "../../../protocols/messages.ts";
import type { Io } from "../../../protocols/ports.ts";
import { shardOf } from "../../../protocols/subjects.ts";
import { timelineSentence } from "../explain/sentences.ts";
import type { LedgerStore } from "../record/ledger.store.ts";
import type { RecordSubscriber } from "../record/record-subscriber.ts";
import type { ClusterState } from "../state/cluster-state.ts";
import { comparisonMetrics } from "./comparison.metrics.ts";
import { Comparison, type ComparisonOptions } from "./comparison.ts";

/** What a comparison is made with. */
export interface CompareOptions {
  /** When the ledger started, epoch milliseconds. */
  readonly startedAt: number;
  readonly isShadow: boolean;
  readonly state: ClusterState;
  /** Where the steps of others about pods are recorded. */
  readonly record: RecordSubscriber;
  /** Where the comparison outlives the process; null for nowhere. */
  readonly store: LedgerStore | null;
}

/** Whether other controllers act beside Vigil, so that their treatment of pods is compared too. */
export function comparesPods({ profile }: Pick<Io, "profile">, isShadow: boolean): boolean {
  return isShadow || profile.upstream === "beside";
}

/** The comparison, which follows every message. */
export class CompareSubscriber {
  readonly comparison: Comparison;
  readonly #state: ClusterState;
  readonly #comparesPods: boolean;

  constructor(io: Io, options: CompareOptions) {
    this.#state = options.state;
    this.#comparesPods = comparesPods(io, options.isShadow);
    this.comparison = new Comparison(comparisonOptions(io, options));
  }

  /** Compares a message, given the state before it. */
  onMessage(message: AnyMessage): void {
    if (message.type === "observed.pods" && !this.#comparesPods) return;
    this.comparison.take(message, this.#state.request(message.cause)?.message);
  }
}

/** The owner of a node stores and counts its failures; every ledger records them. */
function comparisonOptions(io: Io, { startedAt, isShadow, record, store }: CompareOptions): ComparisonOptions {
  const { fleet, metrics, profile } = io;
  const isOurs = (node: string) => fleet.owns("ledger", shardOf(node));
  const count = comparisonMetrics(metrics);
  return {
    member: fleet.member,
    startedAt,
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
      if (comparesPods(io, isShadow) && isOurs(incident.node)) count(incident);
    },
  };
}
