/**
 * What other processes judge of the pods of a shard that this one owns. A process that was suspended, or missed pulses
 * of this member, acts as the owner until it notices. Its judgements are outdated, and would be the last that listeners
 * receive of these pods.
 *
 *   judged.pod of another member ──▶ kept, by pod ── once that member has had time to notice ──▶ corrected by the shard
 *
 * If the other one is the owner, this shard ends before that.
 */
import type { Message } from "../../protocols/messages.ts";
import type { Clock, Timer } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { otherOwnerEndsWithinMs } from "../platform/fleet/live-members.ts";
import { BoundedMap } from "../structures/bounded-map.ts";

/** Pods beyond this are forgotten, the one judged least recently first: an attacker may name any number of them. */
const PODS_MAX = 10_000;

/** What the judgements of other owners depend on. */
export interface OtherOwnerJudgementsOptions {
  readonly clock: Pick<Clock, "after">;
  readonly profile: Pick<Profile, "memberTimeoutMs" | "memberPulseMs">;
  /** Publishes what this shard judges of a pod, where the judgement of another owner differs from that. */
  readonly correct: (judgement: Message<"judged.pod">) => void;
}

/** The last judgement of each pod by another owner. */
export class OtherOwnerJudgements {
  readonly #options: OtherOwnerJudgementsOptions;
  readonly #heard = new BoundedMap<string, Message<"judged.pod">>(PODS_MAX);
  #timer: Timer | null = null;

  constructor(options: OtherOwnerJudgementsOptions) {
    this.#options = options;
  }

  /** Records a judgement of another member. */
  onJudgement(message: Message<"judged.pod">): void {
    const { clock, profile } = this.#options;
    this.#heard.set(message.body.uid, message);
    this.#timer ??= clock.after(otherOwnerEndsWithinMs(profile), () => this.#correct());
  }

  /** Forgets everything. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#heard.clear();
  }

  #correct(): void {
    this.#timer = null;
    const heard = [...this.#heard.values()];
    this.#heard.clear();
    for (const message of heard) this.#options.correct(message);
  }
}
