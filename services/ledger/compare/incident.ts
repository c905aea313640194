/** One failure of a node as both sides treated it. It holds instants and decides which side a step belongs to. */
import type { ComparisonRecord, NodeRecord, PodRecord } from "../../../protocols/comparison-record.ts";
import type { ComparedNode, ComparedPod } from "../../../protocols/ledger-reader.ts";
import type { ObservedPod } from "../../../protocols/objects.ts";
import { Step } from "./step.ts";

/** A pod's names. */
export type PodName = Pick<ObservedPod, "namespace" | "name" | "uid">;

/** A pod of a failed node. */
export interface PodIncident {
  readonly pod: PodName;
  readonly notReady: Step;
  readonly deleted: Step;
  /** Whether the API has shown it other than not ready, and not terminating. */
  wasReady: boolean;
  wasRunning: boolean;
}

/** Why Vigil leaves a step to upstream beside it. */
const LEFT_TO_UPSTREAM = "beside upstream, Vigil leaves this to it";

/** A node from the first sign of its failure to its recovery. */
export class Incident {
  readonly node: string;
  readonly uid: string;
  /** When it began, epoch milliseconds. */
  readonly from: number;
  to: number | null;
  readonly unknown: Step;
  readonly noExecute: Step;
  readonly pods = new Map<string, PodIncident>();
  /** NoExecute taints of other keys, as `key:effect`. Both sides evict because of them, and neither adds them. */
  readonly otherTaints: Set<string>;
  /** Why a live read ruled out Vigil's verdict last; null for never. */
  refusal: string | null;
  /** The renewal on which Vigil's verdict was based, epoch milliseconds; null for unknown. */
  renewedAt: number | null;
  /** Whether an earlier ledger recorded it, and its node has not been seen failing since. */
  isResumed = false;
  /** Whether its pods have not been observed since an earlier ledger recorded them. */
  arePodsOld = false;
  /** Whether an earlier ledger began it. */
  readonly isRestored: boolean;
  #isStored: boolean;

  constructor(node: string, uid: string, from: number, stored?: NodeRecord) {
    this.node = node;
    this.uid = uid;
    this.from = from;
    this.unknown = new Step(stored?.unknown);
    this.noExecute = new Step(stored?.noExecute);
    this.otherTaints = new Set(stored?.otherTaints);
    this.refusal = stored?.refusal ?? null;
    this.renewedAt = stored?.renewedAt ?? null;
    this.to = stored?.to ?? null;
    this.isRestored = stored !== undefined;
    this.#isStored = this.isRestored;
  }

  /** Whether there is a record of it. */
  get isStored(): boolean {
    return this.#isStored;
  }

  /** The record of a pod, begun as the API shows it. */
  podOf({ namespace, name, uid }: PodName): PodIncident {
    const known = this.pods.get(uid);
    if (known !== undefined) return known;
    const pod = { namespace, name, uid };
    const begun = { pod, notReady: new Step(), deleted: new Step(), wasReady: false, wasRunning: false };
    this.pods.set(uid, begun);
    return begun;
  }

  /** Adds a pod as it was stored. */
  restorePod({ namespace, name, uid, wasReady, wasRunning, notReady, deleted }: PodRecord): void {
    const pod = { namespace, name, uid };
    this.#continuePod({ pod, wasReady, wasRunning, notReady: new Step(notReady), deleted: new Step(deleted) });
  }

  /** Adds what was recorded of the same failure later. */
  continueWith(later: Incident): void {
    this.unknown.continueWith(later.unknown);
    this.noExecute.continueWith(later.noExecute);
    this.refusal = later.refusal ?? this.refusal;
    this.renewedAt ??= later.renewedAt;
    for (const taint of later.otherTaints) this.otherTaints.add(taint);
    for (const pod of later.pods.values()) this.#continuePod(pod);
  }

  /** What has changed since the last call and has to be stored. */
  collectChanges(): readonly ComparisonRecord[] {
    const isNodeChanged = collectChanges([this.unknown, this.noExecute]);
    const pods = [...this.pods.values()].filter(({ notReady, deleted }) => collectChanges([notReady, deleted]));
    if (!isNodeChanged && (pods.length === 0 || this.#isStored)) return pods.map((pod) => this.#podRecord(pod));
    this.#isStored = true;
    return [this.record(), ...pods.map((pod) => this.#podRecord(pod))];
  }

  record(): NodeRecord {
    const { node, uid, from, to, refusal, renewedAt, otherTaints } = this;
    const steps = { unknown: this.unknown.record(), noExecute: this.noExecute.record() };
    return { kind: "node", node, uid, from, to, refusal, renewedAt, otherTaints: [...otherTaints], ...steps };
  }

  /** The node for a report; null when neither side did anything. `isBeside` when Vigil works beside upstream. */
  report(isBeside = false): ComparedNode | null {
    const hasPods = [...this.pods.values()].some((pod) => !isUntouched(pod));
    if (this.unknown.isEmpty && this.noExecute.isEmpty && !hasPods) return null;
    const { node, from, to, otherTaints } = this;
    const noTaint = isBeside ? LEFT_TO_UPSTREAM : notKnown("admission of the node for eviction");
    return {
      node,
      from,
      to,
      otherTaints: [...otherTaints],
      unknown: this.unknown.report((missing) => this.#whyNot(missing, this.unknown, this.#whyNoVerdict())),
      noExecute: this.noExecute.report((missing) => this.#whyNot(missing, this.noExecute, noTaint)),
    };
  }

  /** The pods about which either side did something. */
  *podReports(isBeside = false): Generator<ComparedPod> {
    const noDeletion = isBeside ? LEFT_TO_UPSTREAM : notKnown("deadline for the pod");
    for (const known of this.pods.values()) {
      if (isUntouched(known)) continue;
      const { pod, notReady, deleted } = known;
      yield {
        ...pod,
        node: this.node,
        notReady: notReady.report((missing) => this.#whyNot(missing, notReady, notKnown("request to mark the pod"))),
        deleted: deleted.report((missing) => this.#whyNot(missing, deleted, noDeletion)),
      };
    }
  }

  #continuePod({ pod, wasReady, wasRunning, notReady, deleted }: PodIncident): void {
    const known = this.podOf(pod);
    known.wasReady ||= wasReady;
    known.wasRunning ||= wasRunning;
    known.notReady.continueWith(notReady);
    known.deleted.continueWith(deleted);
  }

  #podRecord({ pod, wasReady, wasRunning, notReady, deleted }: PodIncident): PodRecord {
    const steps = { notReady: notReady.record(), deleted: deleted.record() };
    return { kind: "pod", node: this.node, from: this.from, ...pod, wasReady, wasRunning, ...steps };
  }

  #whyNoVerdict(): string {
    if (this.refusal !== null) return `a live read ruled it out: ${this.refusal}`;
    return notKnown("verdict about the node");
  }

  #whyNot(missing: "vigil" | "others", step: Step, noVigil: string): string {
    if (missing === "vigil") return noVigil;
    if (step.isWritten) return "Vigil has written it, so that nothing was left to do";
    return this.to === null ? "the others have not done it yet" : "the failure ended before the others did it";
  }
}

/** Why Vigil did not do what the others did, where nothing shows why. */
function notKnown(what: string): string {
  return `not known: this ledger has received no ${what}`;
}

/** Whether one of the steps has changed since the last call. */
function collectChanges(steps: readonly Step[]): boolean {
  return steps.map((step) => step.collectChange()).includes(true);
}

function isUntouched({ notReady, deleted }: PodIncident): boolean {
  return notReady.isEmpty && deleted.isEmpty;
}
