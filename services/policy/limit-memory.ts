/**
 * Remembers what the limits of policies need over a restart of all processes and the API server does not show: open
 * breakers, storms, and admitted nodes that have healed or left. It follows `judged.limits`, keeps the last memory of
 * each policy in the ConfigMap kube-system/vigil-freeze under `limits`, and publishes it as `judged.memory` for the
 * next owner. A memory that could not be written may lack a breaker that tripped, so it is published as one that trips
 * now.
 */

import type { BodyOf } from "../../protocols/messages.ts";
import { FREEZE_CONFIG_MAP } from "../../protocols/names.ts";
import {
  type FreezeResource,
  type Io,
  type Stop,
  type Timer,
  Urgency,
  type WriteReply,
} from "../../protocols/ports.ts";
import { LIMITS_REPEAT_MS, POLICY_CEILING } from "../domain/limited-policies.ts";
import type { ConfigMapBody, ConfigMapPatch } from "../platform/kube/write/sent-bodies.ts";
import type { MemoryHealth } from "../platform/process/memory-health.ts";
import { limitMemoryText, readLimitMemories, trippedMemory } from "./limit-memory.policy.ts";

/** How long changes are collected before they are written, and the pause after a failed write, in milliseconds. */
const WRITE_MS = 1000;
/** The pause after a denied write, in milliseconds: a user has to grant the right first. */
const DENIED_MS = 60_000;
/** How long after a `judged.limits` the owner of the limits is taken to have that memory, in milliseconds. */
const KNOWN_MS = LIMITS_REPEAT_MS + 5_000;

/** The memory of the limits while this process is the active one of the policy service. */
export class LimitMemoryStore {
  readonly #io: Pick<Io, "bus" | "kube" | "clock" | "log" | "profile">;
  readonly #health: MemoryHealth;
  readonly #memories = new Map<string, BodyOf<"judged.memory">["memory"]>();
  /** When the owner of the limits last published a policy, on the monotonic clock. */
  readonly #knownMs = new Map<string, number>();
  readonly #stop: Stop;
  #stored: string | null = null;
  /** What the watch showed last of the ConfigMap. */
  #shown: string | null = null;
  /** Whether the ConfigMap exists; null before the watch has shown it. */
  #exists: boolean | null = null;
  #timer: Timer | null = null;
  #isStopped = false;
  /** Whether pods were permitted under rates, which leaves a memory of its own. */
  #isUsed = false;
  /** When the memory was found to have a hole, in epoch milliseconds; null where it has none. */
  #holeAt: number | null = null;

  constructor(io: Pick<Io, "bus" | "kube" | "clock" | "log" | "profile">, health: MemoryHealth) {
    this.#io = io;
    this.#health = health;
    const stops = [
      io.bus.subscribe("judged.limits", 0, ({ body: { policy, memory } }) => {
        this.#knownMs.set(policy, io.clock.monotonicMs());
        if (JSON.stringify(this.#memories.get(policy)) === JSON.stringify(memory)) return;
        this.#memories.set(policy, memory);
        this.#writeSoon();
      }),
      // A text without memories shows the next owner of the rates that it is not the first one.
      io.bus.subscribe("judged.evictions", 0, ({ body: { permits } }) => {
        if (permits.length === 0 || this.#isUsed) return;
        this.#isUsed = true;
        this.#writeSoon();
      }),
    ];
    this.#stop = () => {
      for (const stop of stops) stop();
    };
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#stop();
  }

  /** Records that the ConfigMap could not be written before now, so it may lack a breaker that has tripped. */
  distrust(): void {
    this.#holeAt ??= this.#io.clock.wallMs();
  }

  /**
   * Applies the ConfigMap as the watch shows it, null for none: at first its memories, unless the owner of the limits
   * has published something newer. A ConfigMap that a user has deleted is written again.
   */
  shown(resource: FreezeResource | null): void {
    const text = resource?.limits ?? null;
    const isLost = text === null && this.#shown !== null;
    const isFirst = this.#exists === null;
    this.#exists = resource !== null || this.#exists === true;
    this.#shown = text;
    if (isFirst) this.#remember(text);
    if (isLost) this.#stored = null;
    if (isFirst || isLost) this.#writeSoon();
  }

  #remember(text: string | null): void {
    const { memories, problem } = readLimitMemories(text);
    if (problem !== null) this.#io.log.warn(`ConfigMap ${FREEZE_CONFIG_MAP.name}: ${problem}`);
    this.#stored = text;
    for (const [policy, memory] of memories) if (!this.#memories.has(policy)) this.#memories.set(policy, memory);
  }

  /**
   * Publishes the memory of each policy with limits, null for one without; unless `isForAll`, only of those that no
   * owner of the limits is known to have. Policies without limits are forgotten.
   */
  publish(policies: readonly string[], isForAll: boolean): void {
    for (const policy of this.#memories.keys()) {
      if (!policies.includes(policy) && !this.#isCounted(policy)) this.#forget(policy);
    }
    const nowMs = this.#io.clock.monotonicMs();
    for (const policy of policies) {
      const knownMs = this.#knownMs.get(policy) ?? Number.NEGATIVE_INFINITY;
      if (!isForAll && nowMs - knownMs < KNOWN_MS) continue;
      this.#io.bus.publish("judged.memory", { policy, memory: this.#memoryOf(policy) }, null);
    }
  }

  /** What the next owner has to know of a policy: what its owner has published to this process is complete. */
  #memoryOf(policy: string): BodyOf<"judged.memory">["memory"] {
    const memory = this.#memories.get(policy) ?? null;
    return this.#holeAt === null || this.#knownMs.has(policy) ? memory : trippedMemory(memory, this.#holeAt);
  }

  /**
   * Whether a memory counts although no policy needs it now: the operator's ceiling on all policies together does not
   * begin again where the last of them is deleted and another one is created within the ceiling's window.
   */
  #isCounted(policy: string): boolean {
    if (policy !== POLICY_CEILING) return false;
    const { condemnations = [], earlier = [] } = this.#memories.get(policy) ?? {};
    const newestAt = Math.max(...condemnations.map(({ at }) => at), ...earlier.map(({ toAt }) => toAt));
    return this.#io.clock.wallMs() < newestAt + this.#io.profile.policyTaintedDurationMs;
  }

  #forget(policy: string): void {
    this.#memories.delete(policy);
    this.#knownMs.delete(policy);
    this.#writeSoon();
  }

  #writeSoon(): void {
    if (this.#exists === null || (this.#memories.size === 0 && !this.#isUsed && this.#stored === null)) return;
    this.#writeLater(WRITE_MS);
  }

  #writeLater(delayMs: number): void {
    this.#timer ??= this.#io.clock.after(delayMs, () => {
      this.#timer = null;
      this.#write();
    });
  }

  #write(): void {
    const text = limitMemoryText(this.#memories, this.#io.profile.bounds.limitMemoryCharactersMax);
    if (text === this.#stored) return;
    const { namespace, name } = FREEZE_CONFIG_MAP;
    const data = { limits: text };
    const body: ConfigMapBody = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name }, data };
    const done = (reply: WriteReply): void => {
      if (!this.#isStopped) this.#settle(reply, text);
    };
    const target = { ref: FREEZE_CONFIG_MAP, urgency: Urgency.status } as const;
    if (this.#exists === true)
      this.#io.kube.write({ ...target, verb: "patch", patch: "merge", body: { data } satisfies ConfigMapPatch }, done);
    else this.#io.kube.write({ ...target, verb: "create", body }, done);
  }

  #settle(reply: WriteReply, text: string): void {
    const { outcome } = reply;
    this.#health.report("limits", reply);
    if (outcome === "exists") this.#exists = true;
    if (outcome === "gone") this.#exists = false;
    if (outcome === "ok") this.#exists = true;
    if (outcome === "ok" || outcome === "shadowed") this.#stored = text;
    else this.#writeLater(outcome === "denied" ? DENIED_MS : WRITE_MS);
  }
}
