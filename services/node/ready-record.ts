/**
 * What one node's actor remembers of the Ready condition, twice: as it was shown, and as the API had it. The two differ
 * in shadow mode, where a verdict that was not sent is shown. When shadow mode of a node ends, nothing that never
 * happened to it may keep its taint on.
 */
import type { ObservedNode } from "../../protocols/objects.ts";
import type { Clock } from "../../protocols/ports.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { ReadyTransition } from "./heartbeats.ts";
import {
  foundTransitions,
  isTransition,
  possibleAt,
  type ReadyHistory,
  withRecorded,
  withTransitions,
} from "./taint-hold.policy.ts";

/** The Ready condition of one node over time. */
export class ReadyRecord {
  readonly #clock: Clock;
  readonly #shown: ReadyTrack;
  /** As the API had it; null while all that was shown rests on a verdict that was not sent. */
  #sent: ReadyTrack | null;

  constructor(node: ObservedNode, clock: Clock) {
    this.#clock = clock;
    this.#shown = new ReadyTrack(node, clock);
    this.#sent = isUnsent(node) ? null : new ReadyTrack(node, clock);
  }

  /** When the condition that is shown last changed, on the monotonic clock. */
  get shownMs(): number {
    return this.#shown.transition.ms;
  }

  /** When the API showed the node to become ready or not ready, in epoch milliseconds. */
  get sentTransitionsAt(): readonly number[] {
    return (this.#sent ?? this.#shown).transitionsAt;
  }

  /** Takes an observed state of the node. While an unsent verdict is shown, the API's condition has not changed. */
  take(node: ObservedNode): void {
    this.#shown.take(node, this.#clock);
    if (isUnsent(node)) return;
    if (this.#sent === null) this.#sent = new ReadyTrack(node, this.#clock);
    else this.#sent.take(node, this.#clock);
  }

  /** Takes a status heartbeat, which may date a transition that was found. Returns whether the shown one moved. */
  backdate(heartbeatAt: number | null, seenMs: number): boolean {
    this.#sent?.transition.backdate(heartbeatAt, seenMs);
    return this.#shown.transition.backdate(heartbeatAt, seenMs);
  }

  /** Every node's timeout has restarted at an instant. What the API shows has not changed by that. */
  restart(atMs: number): void {
    this.#shown.transition.restart(atMs);
  }

  /** What counts for a taint: in shadow mode what is shown; else what the API shows, and the rest is dropped. */
  history(isShadowed: boolean): ReadyHistory {
    if (isShadowed || this.#sent === null) return this.#shown.history();
    this.#shown.transitionsAt = this.#sent.transitionsAt;
    return this.#sent.history();
  }
}

/** The changes of the condition in some of the states of a node. */
class ReadyTrack {
  readonly transition: ReadyTransition;
  transitionsAt: readonly number[];
  #node: Pick<ObservedNode, "conditions" | "readyTransitionsAt">;

  constructor(node: ObservedNode, clock: Clock) {
    this.#node = node;
    this.transition = new ReadyTransition(node, clock);
    this.transitionsAt = foundTransitions(node, clock.wallMs());
  }

  take(node: ObservedNode, clock: Clock): void {
    const [before, ready] = [readyConditionOf(this.#node), readyConditionOf(node)];
    const seen = withTransitions(this.transitionsAt, isTransition(this.#node, node) ? [clock.wallMs()] : []);
    const recorded = possibleAt(node.readyTransitionsAt ?? [], clock.wallMs());
    this.transitionsAt = withRecorded(seen, recorded, this.#node.readyTransitionsAt ?? []);
    const hasChanged = before?.transitionAt !== ready?.transitionAt || before?.status !== ready?.status;
    if (hasChanged) this.transition.restart(clock.monotonicMs());
    this.#node = node;
  }

  history(): ReadyHistory {
    return { sinceMs: this.transition.ms, transitionsAt: this.transitionsAt };
  }
}

function isUnsent({ shadow }: Pick<ObservedNode, "shadow">): boolean {
  return shadow?.verdict !== undefined;
}
