/**
 * Whether this side of the bus holds the Lease without which no node is permitted, as the pod-writer that competes for
 * it publishes. It counts for a while after each message, so each owner of the limits waits for longer than that, from
 * when the Lease is held on its side, before its first permit. Pure state; instants are on the monotonic clock.
 */
import type { Message } from "../../../protocols/messages.ts";
import { LIMITS_LEASE } from "../../../protocols/names.ts";
import { LEASE_BLOCK, WHOLE_CLUSTER } from "../../domain/limited-policies.ts";
import type { LimitBlock } from "./limits.policy.ts";

const LEASE = `the Lease ${LIMITS_LEASE.namespace}/${LIMITS_LEASE.name}`;

/** What was received about the Lease. */
export class LimitsLease {
  readonly #validMs: number;
  /** The last message that reports it as held here: its publisher, and when it was received. */
  #held: { readonly source: string; readonly receivedMs: number } | null = null;
  #sinceMs = 0;
  #holder: string | null = null;

  /** A message counts for `validMs`. */
  constructor(validMs: number) {
    this.#validMs = validMs;
  }

  onLease({ source, body }: Pick<Message<"judged.lease">, "source" | "body">, nowMs: number): void {
    const isHeld = this.#isHeld(nowMs);
    if (body.isHeld) {
      if (!isHeld) this.#sinceMs = nowMs;
      this.#held = { source, receivedMs: nowMs };
    } else if (this.#held?.source === source) this.#held = null;
    if (body.isHeld || !this.#isHeld(nowMs)) this.#holder = body.holder;
  }

  /** Whether it has been held here for so long without a gap. */
  isHeldFor(ms: number, nowMs: number): boolean {
    return this.#isHeld(nowMs) && nowMs >= this.#sinceMs + ms;
  }

  /** Why no node is permitted yet. */
  block(nowMs: number): LimitBlock & { readonly policy: string } {
    const detail = this.#isHeld(nowMs)
      ? "permits of its last holder may still be used"
      : this.#holder === null
        ? `no process is known to hold ${LEASE}`
        : `${this.#holder} holds it, and its permits are not received here`;
    return { policy: WHOLE_CLUSTER, field: LEASE_BLOCK, untilAt: null, detail };
  }

  #isHeld(nowMs: number): boolean {
    return this.#held !== null && nowMs - this.#held.receivedMs < this.#validMs;
  }
}
