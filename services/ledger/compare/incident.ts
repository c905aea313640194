/** One failure of a node as both sides treated it. It holds instants and decides which side a step belongs to. */
import type { ComparedInstant, ComparedNode, ComparedPod, ComparedStep } from "../../../protocols/ledger-reader.ts";
import type { ObservedPod } from "../../../protocols/objects.ts";

/** A step of both sides, while it is recorded. */
export class Step {
  vigil: ComparedInstant = null;
  others: ComparedInstant = null;
  /** Whether Vigil's write reached the API, so that what the API shows from now on is Vigil's. */
  #isWritten = false;

  /** Records what Vigil wrote, or in shadow mode would have written. Only the first time counts. */
  byVigil(at: number, id: string, isWritten: boolean): void {
    if (this.vigil === null || this.vigil.isPlanned === true) this.vigil = { at, id };
    this.#isWritten ||= isWritten;
  }

  /** Records when Vigil was going to do it, because the others were earlier. */
  planned(at: number, id: string): void {
    if (this.vigil === null || this.vigil.isPlanned === true) this.vigil = { at, id, isPlanned: true };
  }

  /** Records what the API shows, unless Vigil wrote it. */
  shown(at: number, id: string): void {
    if (this.others === null && !this.#isWritten) this.others = { at, id };
  }

  /** The step for a report; `why` explains one side alone. */
  report(why: (missing: "vigil" | "others") => string): ComparedStep {
    const { vigil, others } = this;
    if (vigil !== null && others !== null) return { vigil, others, leadMs: others.at - vigil.at, why: null };
    if (vigil === null && others === null) return { vigil, others, leadMs: null, why: null };
    return { vigil, others, leadMs: null, why: why(vigil === null ? "vigil" : "others") };
  }
}

/** A pod of a failed node. */
export interface PodIncident {
  readonly pod: ObservedPod;
  readonly notReady: Step;
  readonly deleted: Step;
  /** Whether the API has shown it other than not ready, and not terminating. */
  wasReady: boolean;
  wasRunning: boolean;
}

/** A node from the first sign of its failure to its recovery. */
export class Incident {
  readonly node: string;
  readonly uid: string;
  readonly from: number;
  to: number | null = null;
  readonly unknown = new Step();
  readonly noExecute = new Step();
  readonly pods = new Map<string, PodIncident>();
  /** Why a live read ruled out Vigil's verdict last; null for never. */
  refusal: string | null = null;

  constructor(node: string, uid: string, from: number) {
    this.node = node;
    this.uid = uid;
    this.from = from;
  }

  /** The record of a pod, begun as the API shows it. */
  podOf(pod: ObservedPod): PodIncident {
    const known = this.pods.get(pod.uid);
    if (known !== undefined) return known;
    const begun = { pod, notReady: new Step(), deleted: new Step(), wasReady: false, wasRunning: false };
    this.pods.set(pod.uid, begun);
    return begun;
  }

  /** The node for a report; null when neither side did anything. */
  report(): ComparedNode | null {
    if ([this.unknown, this.noExecute].every(({ vigil, others }) => vigil === null && others === null)) return null;
    const { node, from, to } = this;
    return {
      node,
      from,
      to,
      unknown: this.unknown.report((missing) => this.#whyNot(missing, this.#whyNoVerdict())),
      noExecute: this.noExecute.report((missing) =>
        this.#whyNot(missing, "Vigil had not admitted the node for eviction before the others tainted it"),
      ),
    };
  }

  /** The pods about which either side did something. */
  *podReports(): Generator<ComparedPod> {
    for (const { pod, notReady, deleted } of this.pods.values()) {
      if ([notReady, deleted].every(({ vigil, others }) => vigil === null && others === null)) continue;
      const { namespace, name, uid } = pod;
      yield {
        namespace,
        name,
        uid,
        node: this.node,
        notReady: notReady.report((missing) => this.#whyNot(missing, "Vigil does not mark this pod")),
        deleted: deleted.report((missing) =>
          this.#whyNot(missing, "no NoExecute taint had a deadline for this pod in Vigil"),
        ),
      };
    }
  }

  #whyNoVerdict(): string {
    if (this.refusal !== null) return `a live read ruled it out: ${this.refusal}`;
    return "the API showed Unknown before Vigil's grace period was over";
  }

  #whyNot(missing: "vigil" | "others", noVigil: string): string {
    if (missing === "vigil") return noVigil;
    return this.to === null ? "the others have not done it yet" : "the node recovered before the others did it";
  }
}
