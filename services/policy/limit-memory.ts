/**
 * Remembers what the limits of policies need over a restart of everything, and the API server does not show: open
 * breakers, storms, and admitted nodes that have healed or left. It follows `judged.limits`, keeps the last memory of
 * each policy in the ConfigMap kube-system/vigil-freeze under `limits`, and publishes it as `judged.memory` for the next owner.
 * A memory that could not be written may lack a breaker that tripped, so it is published as one that trips now.
 */

import type { BodyOf } from "../../protocols/messages.ts";
import { FREEZE_CONFIG_MAP } from "../../protocols/names.ts";
import { type Io, type ReadReply, type Stop, type Timer, Urgency, type WriteReply } from "../../protocols/ports.ts";
import { LIMITS_REPEAT_MS, POLICY_CEILING } from "../domain/limited-policies.ts";
import type { ConfigMapBody, ConfigMapPatch } from "../platform/kube/write/sent-bodies.ts";
import type { MemoryHealth } from "../platform/process/memory-health.ts";
import { limitMemoryText, NO_MEMORIES, readLimitMemories, trippedMemory } from "./limit-memory.policy.ts";

/** How long changes are collected before they are written, and a failed request waits for the next, in milliseconds. */
const WRITE_MS = 1000;
/** How long a denied write waits for the next, in milliseconds: somebody has to grant the right first. */
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
  /** Whether the ConfigMap exists; null while it has not been read. */
  #exists: boolean | null = null;
  #timer: Timer | null = null;
  #isRead = false;
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
        if (permits.length > 0 && this.#stored === null) this.#recordUse();
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

  /** Takes that the ConfigMap could not be written before now, so that it may lack a breaker that has tripped. */
  distrust(): void {
    this.#holeAt ??= this.#io.clock.wallMs();
  }

  /** Takes what the watch shows of the ConfigMap. One that somebody has deleted is written again. */
  shown(text: string | null): void {
    const isLost = text === null && this.#shown !== null;
    this.#shown = text;
    if (!isLost) return;
    this.#stored = null;
    if (this.#memories.size > 0) this.#writeSoon();
  }

  /**
   * Publishes the memory of each policy with limits, null for one without; unless `isForAll`, only of those that no owner
   * of the limits is known to have. First the ConfigMap is read, without limits too if it remembers any: they are over.
   */
  publish(policies: readonly string[], isForAll: boolean): void {
    for (const policy of this.#memories.keys()) {
      if (!policies.includes(policy) && !this.#isCounted(policy)) this.#forget(policy);
    }
    const isNeeded = policies.length > 0 || (this.#shown !== null && this.#shown !== NO_MEMORIES);
    if (isNeeded && !this.#isRead) this.#read();
    if (this.#exists === null) return;
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

  #recordUse(): void {
    if (!this.#isRead) this.#read();
    this.#isUsed = true;
    this.#writeSoon();
  }

  #writeSoon(): void {
    if (this.#exists !== null) this.#later(() => this.#write());
  }

  #read(): void {
    this.#isRead = true;
    this.#io.kube.read(FREEZE_CONFIG_MAP, (reply) => {
      if (!this.#isStopped) this.#take(reply);
    });
  }

  #take(reply: ReadReply): void {
    if (reply.outcome === "failed" || reply.outcome === "throttled") {
      this.#later(() => this.#read());
      return;
    }
    if (reply.outcome === "denied") {
      this.#io.log.warn("the memory of limits cannot be read: a restart closes open breakers", {
        detail: reply.detail,
      });
    }
    this.#exists = reply.outcome === "ok";
    if (this.#memories.size > 0 || this.#isUsed) this.#writeSoon();
    if (reply.outcome !== "ok") return;
    const { memories, text, problem } = readLimitMemories(reply.object);
    if (problem !== null) this.#io.log.warn(`ConfigMap ${FREEZE_CONFIG_MAP.name}: ${problem}`);
    this.#stored = text;
    // What the owner has published meanwhile is newer.
    for (const [policy, memory] of memories) if (!this.#memories.has(policy)) this.#memories.set(policy, memory);
  }

  #later(run: () => void, delayMs = WRITE_MS): void {
    this.#timer ??= this.#io.clock.after(delayMs, () => {
      this.#timer = null;
      run();
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
    else this.#later(() => this.#write(), outcome === "denied" ? DENIED_MS : WRITE_MS);
  }
}
