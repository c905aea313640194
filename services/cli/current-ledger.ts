/** The ledger that runs now, for readers that outlive it: a failed ledger is started anew and forgets who listened. */

import type { Decision, LedgerReader } from "../../protocols/ledger-reader.ts";
import type { Stop } from "../../protocols/ports.ts";

/** A ledger's reader that stays the same while ledgers come and go. */
export class CurrentLedger implements LedgerReader {
  #reader: LedgerReader;
  #stopListening: Stop;
  readonly #listeners = new Set<(decision: Decision) => void>();

  constructor(reader: LedgerReader) {
    this.#reader = reader;
    this.#stopListening = this.#listen();
  }

  /** Goes on with another ledger. */
  replace(reader: LedgerReader): void {
    this.#stopListening();
    this.#reader = reader;
    this.#stopListening = this.#listen();
  }

  overview(): ReturnType<LedgerReader["overview"]> {
    return this.#reader.overview();
  }

  nodes(): ReturnType<LedgerReader["nodes"]> {
    return this.#reader.nodes();
  }

  pendingEvictions(limit: number): ReturnType<LedgerReader["pendingEvictions"]> {
    return this.#reader.pendingEvictions(limit);
  }

  decisions(limit: number): ReturnType<LedgerReader["decisions"]> {
    return this.#reader.decisions(limit);
  }

  explainNode(name: string): ReturnType<LedgerReader["explainNode"]> {
    return this.#reader.explainNode(name);
  }

  explainPod(...asked: Parameters<LedgerReader["explainPod"]>): void {
    this.#reader.explainPod(...asked);
  }

  onDecision(listener: (decision: Decision) => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #listen(): Stop {
    return this.#reader.onDecision((decision) => {
      for (const tell of this.#listeners) tell(decision);
    });
  }
}
