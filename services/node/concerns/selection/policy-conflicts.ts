/** Logs which policies select the same nodes: once, until one of them is deleted or selects other nodes. */
import type { NodePolicy } from "../../../../protocols/policy-set.ts";
import type { Log } from "../../../../protocols/ports.ts";

/** How many combinations of policies are remembered; a forgotten one is logged again. */
const REPORTED_MAX = 200;

/** The conflicts that one process has found. */
export class PolicyConflicts {
  readonly #log: Log;
  /** The policies of each conflict, by their names as text. */
  readonly #reported = new Map<string, readonly string[]>();
  /** The selectors of the policies in force, as text. */
  #selectors: ReadonlyMap<string, string> = new Map();

  /** With the policies in force, if any are known. */
  constructor(log: Log, policies: Parameters<PolicyConflicts["keep"]>[0] = []) {
    this.#log = log;
    this.keep(policies);
  }

  /** Logs that several policies select a node. */
  report(policies: readonly string[], node: string): void {
    const text = policies.join(", ");
    if (this.#reported.has(text)) return;
    if (this.#reported.size >= REPORTED_MAX) this.#reported.clear();
    this.#reported.set(text, policies);
    this.#log.warn("several policies select the same nodes: none of them applies there", { policies: text, node });
  }

  /** Applies the policies in force, and forgets the conflicts of those that are gone or have other selectors. */
  keep(policies: readonly Pick<NodePolicy, "name" | "selector">[]): void {
    const selectors = new Map(policies.map(({ name, selector }) => [name, JSON.stringify(selector)]));
    for (const [text, names] of this.#reported) {
      if (names.some((name) => selectors.get(name) !== this.#selectors.get(name))) this.#reported.delete(text);
    }
    this.#selectors = selectors;
  }
}
