/** What one node's actor remembers of the Ready condition: since when it is as it is, and when it changed before. */
import type { ObservedNode } from "../../../../protocols/objects.ts";
import type { Clock } from "../../../../protocols/ports.ts";
import { readyConditionOf } from "../../../domain/node-conditions.ts";
import { ReadyTransition } from "../../heartbeats.ts";
import {
  foundTransitions,
  isTransition,
  possibleAt,
  type ReadyHistory,
  withRecorded,
  withTransitions,
} from "./taint-delay.policy.ts";

/** The Ready condition of one node over time. */
export class ReadyRecord {
  readonly #clock: Clock;
  readonly #transition: ReadyTransition;
  #transitionsAt: readonly number[];
  #node: Pick<ObservedNode, "conditions" | "readyTransitionsAt">;

  constructor(node: ObservedNode, clock: Clock) {
    this.#clock = clock;
    this.#node = node;
    this.#transition = new ReadyTransition(node, clock);
    this.#transitionsAt = foundTransitions(node, clock.wallMs());
  }

  /** Takes an observed state of the node. */
  take(node: ObservedNode): void {
    const wallMs = this.#clock.wallMs();
    const [before, ready] = [readyConditionOf(this.#node), readyConditionOf(node)];
    const seen = withTransitions(this.#transitionsAt, isTransition(this.#node, node) ? [wallMs] : []);
    const recorded = possibleAt(node.readyTransitionsAt ?? [], wallMs);
    this.#transitionsAt = withRecorded(seen, recorded, this.#node.readyTransitionsAt ?? []);
    const hasChanged = before?.transitionAt !== ready?.transitionAt || before?.status !== ready?.status;
    if (hasChanged) this.#transition.change(this.#clock.monotonicMs());
    this.#node = node;
  }

  /** Takes a status heartbeat, which may date a transition that was found. Returns whether it moved. */
  backdate(heartbeatAt: number | null, seenMs: number): boolean {
    return this.#transition.backdate(heartbeatAt, seenMs);
  }

  /** Every node's timeout has restarted at an instant. What the API shows has not changed by that. */
  restart(atMs: number): void {
    this.#transition.restartTimeout(atMs);
  }

  /** Where a timeout of the condition begins, on the monotonic clock. */
  get timeoutFromMs(): number {
    return this.#transition.timeoutFromMs;
  }

  history(): ReadyHistory {
    return { sinceMs: this.#transition.ms, transitionsAt: this.#transitionsAt };
  }
}
