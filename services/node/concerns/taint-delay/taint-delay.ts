/** The concern of `healthyDelay` and `flapping`: the NoSchedule taint of a Ready node stays for a while. */
import { TaintEffect } from "../../../../protocols/names.ts";
import type { Clock } from "../../../../protocols/ports.ts";
import { READINESS_KEYS } from "../../taint.policy.ts";
import type { Concern, Finding, PolicyView } from "../concern.ts";
import {
  carriesDelayedTaint,
  type PublishedDelay,
  publishedDelay,
  type TaintDelay,
  taintDelayOf,
  transitionsChangeOf,
  unknownDelay,
} from "./taint-delay.policy.ts";
import { TransitionRecord } from "./transition-record.ts";

/** Keeps the transitions of one node, and its taint. */
export class TaintDelays implements Concern {
  readonly #clock: Clock;
  readonly #beganMs: number;
  #record: TransitionRecord | null = null;
  /** As published last. */
  #published: PublishedDelay | null = null;

  /** `beganMs` is when the service started, on the monotonic clock. */
  constructor(clock: Clock, beganMs: number) {
    this.#clock = clock;
    this.#beganMs = beganMs;
  }

  review(view: PolicyView): Finding {
    const { node, policy, at } = view;
    this.#record ??= new TransitionRecord(node, this.#clock);
    this.#record.record(node);
    const { transitionsAt } = this.#record;
    const delay = this.#delayOf(view, transitionsAt);
    this.#published = publishedDelay(this.#published, carriesDelayedTaint(node) ? delay : null, at);
    const annotations =
      policy === undefined ? null : transitionsChangeOf(node, policy?.flapping ?? null, transitionsAt, at.wallMs);
    return {
      ...(this.#published === null ? {} : { judged: { taintHold: this.#published } }),
      ...(delay === null ? {} : { taints: { keeps: isReadinessTaint }, nextMs: delay.untilMs }),
      ...(annotations === null ? {} : { annotations }),
    };
  }

  /** What delays the removal. While the policy is unknown, the last known one counts. */
  #delayOf({ node, policy, readySinceMs, at }: PolicyView, transitionsAt: readonly number[]): TaintDelay | null {
    if (policy === undefined) return unknownDelay(node, { beganMs: this.#beganMs, nowMs: at.nowMs });
    return policy === null ? null : taintDelayOf(node, policy, { sinceMs: readySinceMs, transitionsAt }, at);
  }
}

function isReadinessTaint({ key, effect }: { readonly key: string; readonly effect: string }): boolean {
  return effect === TaintEffect.noSchedule && READINESS_KEYS.includes(key);
}
