/** When the Ready condition of one node changed to or from True, as far as this process and its annotation know. */
import type { ObservedNode } from "../../../../protocols/objects.ts";
import type { Clock } from "../../../../protocols/ports.ts";
import {
  foundTransitions,
  observedTransitions,
  possibleAt,
  withRecorded,
  withTransitions,
} from "./taint-delay.policy.ts";

/** The transitions of one node. */
export class TransitionRecord {
  readonly #clock: Clock;
  #node: ObservedNode;
  #transitionsAt: readonly number[];

  constructor(node: ObservedNode, clock: Clock) {
    this.#clock = clock;
    this.#node = node;
    this.#transitionsAt = foundTransitions(node, clock.wallMs());
  }

  /** The transitions, in epoch milliseconds, in order. */
  get transitionsAt(): readonly number[] {
    return this.#transitionsAt;
  }

  /** Records an observed state of the node. */
  record(node: ObservedNode): void {
    if (node === this.#node) return;
    const wallMs = this.#clock.wallMs();
    const known = this.#transitionsAt;
    const seen = withTransitions(known, observedTransitions(this.#node, node, known, wallMs));
    const recorded = possibleAt(node.readyTransitionsAt ?? [], wallMs);
    this.#transitionsAt = withRecorded(seen, recorded, this.#node.readyTransitionsAt ?? []);
    this.#node = node;
  }
}
