/** Says in the log which policies select the same nodes: once for these policies, until one of them goes. */
import type { Log } from "../../protocols/ports.ts";

/** Most combinations of policies that are remembered; one that is forgotten is said again. */
const REPORTED_MAX = 200;

/** The conflicts that one process has found. */
export class PolicyConflicts {
  readonly #log: Log;
  /** The policies of each conflict, by their names as text. */
  readonly #reported = new Map<string, readonly string[]>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Several policies select a node. */
  report(policies: readonly string[], node: string): void {
    const text = policies.join(", ");
    if (this.#reported.has(text)) return;
    if (this.#reported.size >= REPORTED_MAX) this.#reported.clear();
    this.#reported.set(text, policies);
    this.#log.warn("several policies select the same nodes: none of them applies there", { policies: text, node });
  }

  /** Forgets the conflicts of policies that are gone. */
  keep(policies: ReadonlySet<string>): void {
    for (const [text, names] of this.#reported) {
      if (!names.every((name) => policies.has(name))) this.#reported.delete(text);
    }
  }
}
