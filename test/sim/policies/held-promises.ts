/**
 * Whether explain is reliable: a limit does not block a node for longer than "until at the earliest", if nothing
 * happens meanwhile. Example of a failure: the answer is "until 12:00:40", no node fails and none is tainted, and at
 * 12:00:50 the answer is "until 12:01:00".
 */
import type { LedgerReader } from "../../../protocols/ledger-reader.ts";
import { BrokenInvariant } from "../invariants.ts";

/**
 * From the end of a limit, or an event that moves it, to the next announcement of limits and its arrival at the ledger.
 */
const KNOWN_WITHIN_MS = 6_000;

/** The parts of a run in which users read how long nodes are blocked. */
export interface PromisedRun {
  readonly nowMs: () => number;
  readonly nodes: () => readonly string[];
  /** The processes that can explain now. */
  readonly explaining: () => readonly {
    readonly name: string;
    readonly ledger: Pick<LedgerReader, "explainNode"> | null;
  }[];
}

/** Follows what was promised of each node. Instants are on the wall clock. */
export class HeldPromises {
  readonly #run: PromisedRun;
  /** The first answer since something happened, by process and node. */
  readonly #untilMs = new Map<string, number>();
  #changedMs = Number.NEGATIVE_INFINITY;

  constructor(run: PromisedRun) {
    this.#run = run;
  }

  /** Something happened that may change every answer: a node failed, recovered, or was tainted or drained. */
  changed(): void {
    this.#untilMs.clear();
    this.#changedMs = this.#run.nowMs();
  }

  /** Reads the explanation of each node. Throws if it is blocked after the time that was named. */
  look(): void {
    const nowMs = this.#run.nowMs();
    if (nowMs < this.#changedMs + KNOWN_WITHIN_MS) return;
    for (const { name, ledger } of this.#run.explaining()) {
      for (const node of this.#run.nodes()) {
        const held = ledger?.explainNode(node)?.facts.find((fact) => fact.name === "queueHeldUntil");
        const key = `${name} ${node}`;
        if (held === undefined) this.#untilMs.delete(key);
        else this.#check(key, Date.parse(held.values.at ?? ""), nowMs);
      }
    }
  }

  #check(key: string, untilMs: number, nowMs: number): void {
    const promisedMs = this.#untilMs.get(key) ?? untilMs;
    this.#untilMs.set(key, promisedMs);
    if (untilMs <= promisedMs || nowMs <= promisedMs + KNOWN_WITHIN_MS) return;
    const lateMs = nowMs - promisedMs;
    throw new BrokenInvariant(`${key} was held until an instant that is over for ${lateMs} ms, and is held still`);
  }
}
