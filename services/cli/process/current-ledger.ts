/** The reader of a process's ledger: it stays the same when a failed ledger is restarted, and keeps its listeners. */
import type { Decision, LedgerReader } from "../../../protocols/ledger-reader.ts";
import type { Stop } from "../../../protocols/ports.ts";

/** A ledger's reader that forwards to the ledger that runs now. */
export class CurrentLedger implements LedgerReader {
  #reader: LedgerReader;
  #stopListening: Stop;
  readonly #listeners = new Set<(decision: Decision) => void>();

  constructor(reader: LedgerReader) {
    this.#reader = reader;
    this.#stopListening = this.#listen();
  }

  /** Forwards to a restarted ledger from now on. */
  replace(reader: LedgerReader): void {
    this.#stopListening();
    this.#reader = reader;
    this.#stopListening = this.#listen();
  }

  readonly overview: LedgerReader["overview"] = () => this.#reader.overview();
  readonly nodes: LedgerReader["nodes"] = () => this.#reader.nodes();
  readonly policies: LedgerReader["policies"] = () => this.#reader.policies();
  readonly pendingEvictions: LedgerReader["pendingEvictions"] = (limit) => this.#reader.pendingEvictions(limit);
  readonly decisions: LedgerReader["decisions"] = (limit) => this.#reader.decisions(limit);
  readonly timeline: LedgerReader["timeline"] = () => this.#reader.timeline();
  readonly compare: LedgerReader["compare"] = (sinceAt) => this.#reader.compare(sinceAt);
  readonly explainNode: LedgerReader["explainNode"] = (name) => this.#reader.explainNode(name);
  readonly explainZone: LedgerReader["explainZone"] = (name) => this.#reader.explainZone(name);
  readonly explainPolicy: LedgerReader["explainPolicy"] = (name) => this.#reader.explainPolicy(name);
  readonly explainPod: LedgerReader["explainPod"] = (...subject) => this.#reader.explainPod(...subject);

  onDecision(listener: (decision: Decision) => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #listen(): Stop {
    return this.#reader.onDecision((decision) => {
      for (const listener of this.#listeners) listener(decision);
    });
  }
}
