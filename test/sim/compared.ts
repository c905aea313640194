/**
 * What comparisons report about the author of each step, checked against the audit of the simulated API. If a process
 * attributes a step to another client, that client wrote it; if it attributes the step to Vigil, Vigil wrote it. This
 * file shares no code with the services.
 */
import type { ComparedNode, ComparedStep, LedgerReader } from "../../protocols/ledger-reader.ts";
import { BrokenInvariant, type CheckedNode, conditionOf } from "./invariants.ts";

const STEPS = ["unknown", "noExecute"] as const;
type Step = (typeof STEPS)[number] | "deleted";

/** How often comparisons are read. */
const LOOKED_MS = 30_000;
/** The taints that both sides set. */
const OWN_TAINTS: readonly string[] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/** The parts of a run in which users compare. */
export interface ComparedRun {
  readonly nowMs: () => number;
  /** The processes that can explain now. */
  readonly explaining: () => readonly {
    readonly name: string;
    readonly ledger: Pick<LedgerReader, "compare"> | null;
  }[];
  /** Whether forged messages name an object, so a ledger may report anything about it. */
  readonly isForged: (name: string) => boolean;
  /** Whether the reply to a write of Vigil to an object was lost: its next change counts as Vigil's (decision 16). */
  readonly isReplyLost: (name: string) => boolean;
}

/** Records the author of each step of a failure, and reads comparisons. */
export class Compared {
  readonly #run: ComparedRun;
  /** The authors of each step of each node and pod. */
  readonly #authors = new Map<string, Set<"vigil" | "others">>();
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(run: ComparedRun) {
    this.#run = run;
  }

  /** Records a change of a node by a process of Vigil, or by another client with an empty name. */
  node(before: CheckedNode | null, after: CheckedNode, writer: string): void {
    for (const step of STEPS) {
      const had = before === null ? [] : shown(before, step);
      if (shown(after, step).every((each) => had.includes(each))) continue;
      this.#authorsOf(after.metadata.name, step).add(writer === "" ? "others" : "vigil");
    }
  }

  /** Records the deletion of a pod, or that it is terminating. */
  podDeleted(name: string, writer: string): void {
    this.#authorsOf(name, "deleted").add(writer === "" ? "others" : "vigil");
  }

  /** Reads the comparison of each process now and then. Throws for a step with a wrong author. */
  look(): void {
    const nowMs = this.#run.nowMs();
    if (nowMs - this.#lookedMs < LOOKED_MS) return;
    this.#lookedMs = nowMs;
    for (const { name, ledger } of this.#run.explaining()) {
      const { nodes, pods } = ledger?.compare(0) ?? { nodes: [], pods: [] };
      const known = nodes.filter(({ node }) => !this.#run.isForged(node));
      const named = pods.filter((pod) => !this.#run.isForged(pod.node) && !this.#run.isForged(pod.name));
      const problems = [
        ...known.flatMap((node) => this.#problemsOf(node)),
        ...named.flatMap((pod) => problemsWith(pod.name, this.#problemOf(pod.name, "deleted", pod.deleted))),
      ];
      if (problems.length > 0) throw new BrokenInvariant(`${name} compares ${problems[0]}`);
    }
  }

  #problemsOf(compared: ComparedNode): string[] {
    const { node } = compared;
    return STEPS.flatMap((step) => problemsWith(node, this.#problemOf(node, step, compared[step])));
  }

  #problemOf(node: string, step: Step, { vigil, others }: ComparedStep): string | null {
    const authors = this.#authorsOf(node, step);
    if (others !== null && !authors.has("others")) return `no other client wrote its step ${step}`;
    const mayBeVigils = authors.has("vigil") || (step === "deleted" && this.#run.isReplyLost(node));
    if (vigil !== null && vigil.isPlanned !== true && !mayBeVigils) return `Vigil never wrote its step ${step}`;
    return null;
  }

  #authorsOf(node: string, step: Step): Set<"vigil" | "others"> {
    const key = `${step}/${node}`;
    const known = this.#authors.get(key) ?? new Set();
    this.#authors.set(key, known);
    return known;
  }
}

function problemsWith(name: string, problem: string | null): string[] {
  return problem === null ? [] : [`${name}: ${problem}`];
}

/** The part of a step that a node shows. A taint that replaces the other one is a step too (seed 397808012). */
function shown(node: CheckedNode, step: (typeof STEPS)[number]): string[] {
  if (step === "unknown") return conditionOf(node, "Ready")?.status === "Unknown" ? ["Unknown"] : [];
  const taints = (node.spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
  return taints.map(({ key }) => key).filter((key) => OWN_TAINTS.includes(key));
}
