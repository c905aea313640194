/**
 * Whether what Vigil has to remember beyond its processes can be written. Each writer of a memory reports the reply to
 * each of its writes here. A memory that cannot be written becomes one warning, the gauge `vigil_memory_unwritten`, and
 * a problem that a status can show, until it is written again.
 *
 *   memoryHealth.report("freezes", reply)             a memory that is one object
 *   memoryHealth.report("node-records", reply, node)  a memory with a part on each of many objects
 *
 * A denied write counts at once, because a person has to grant the right. Any other failure counts after 30 s without a
 * success: an API server that is away for ten seconds costs nothing.
 */
import type { Outcome } from "../../../protocols/done.ts";
import type { Io, WriteReply } from "../../../protocols/ports.ts";

/** Each memory: what it is, and what follows while it cannot be written. */
export const MEMORIES = {
  freezes: {
    title: "the memory of freezes",
    consequence: "after a restart of all processes every node counts as frozen until then, so countdowns start over",
  },
  outages: {
    title: "the memory of outages",
    consequence: "each countdown for silence counts again from the end of the outage",
  },
  limits: {
    title: "the memory of limits",
    consequence: "after a restart of all processes every circuit breaker opens",
  },
  "node-records": {
    title: "a record on a node",
    consequence: "after a restart its durations start over, and the time that maintenance has held evictions is lost",
  },
  remediations: {
    title: "the record that a remediation succeeded",
    consequence: "the node is not declared out of service",
  },
  lease: {
    title: "the Lease of limits and eviction rates",
    consequence: "no node and no pod of a policy that limits them is evicted while no process holds it",
  },
  history: {
    title: "the history of the ledger",
    consequence: "explanations go back only to the last start; decisions do not need it",
  },
} as const;

/** The name of a memory, as the gauge's label has it. */
export type MemoryName = keyof typeof MEMORIES;

/** What is known of a write: the outcome of a reply or of an attempt, and what the server said. */
interface MemoryReply {
  readonly outcome: WriteReply["outcome"] | Outcome;
  readonly detail?: string;
}

/** How long writes have to fail before a memory counts as unwritten, in milliseconds. */
const FAILING_MS = 30_000;
/** Objects with a part of one memory that are remembered: the first ones that failed are enough for an alert. */
const OBJECTS_MAX = 10_000;

/** A part of a memory whose last write failed. */
interface FailedPart {
  /** When the first of the failed writes was answered, on the monotonic clock. */
  readonly sinceMs: number;
  readonly detail: string;
  readonly isUnwritten: boolean;
}

/** What became of a part with one more reply; null for a part that is written, or that is not needed any more. */
function partAfter(before: FailedPart | null, { outcome, detail = "" }: MemoryReply, nowMs: number): FailedPart | null {
  if (outcome === "ok" || outcome === "shadowed" || outcome === "refused") return null;
  const sinceMs = before?.sinceMs ?? nowMs;
  const isUnwritten = before?.isUnwritten === true || outcome === "denied" || nowMs - sinceMs >= FAILING_MS;
  return { sinceMs, detail: detail === "" ? outcome : detail, isUnwritten };
}

/** The memories that one service of this process writes. */
export class MemoryHealth {
  readonly #io: Pick<Io, "clock" | "log">;
  readonly #gauge: ReturnType<Io["metrics"]["gauge"]>;
  readonly #failed = new Map<MemoryName, Map<string, FailedPart>>();

  constructor(io: Pick<Io, "clock" | "log" | "metrics">) {
    this.#io = io;
    this.#gauge = io.metrics.gauge({
      name: "vigil_memory_unwritten",
      help: "Objects on which a memory could not be written lately, by memory; 0 while it is written.",
      labels: ["memory"],
    });
  }

  /** Handles the reply to a write of a memory; `object` names the part of it, where each object has its own. */
  report(memory: MemoryName, reply: MemoryReply, object = ""): void {
    const parts = this.#failed.get(memory) ?? new Map<string, FailedPart>();
    this.#failed.set(memory, parts);
    const before = this.#unwritten(memory);
    const part = partAfter(parts.get(object) ?? null, reply, this.#io.clock.monotonicMs());
    if (part === null) parts.delete(object);
    else if (parts.has(object) || parts.size < OBJECTS_MAX) parts.set(object, part);
    this.#show(memory, before);
  }

  /** Forgets the parts on these objects, which are gone or another process writes them now. */
  forget(memory: MemoryName, isForgotten: (object: string) => boolean): void {
    const parts = this.#failed.get(memory);
    if (parts === undefined) return;
    for (const object of parts.keys()) if (isForgotten(object)) parts.delete(object);
    this.#gauge.set(this.#unwritten(memory), memory);
  }

  /** A sentence for each memory that cannot be written, with what the server says about it. */
  problems(): readonly string[] {
    return [...this.#failed.keys()].flatMap((memory) => {
      const detail = this.#problem(memory);
      const { title, consequence } = MEMORIES[memory];
      return detail === null ? [] : [`${title} cannot be written: ${detail}; ${consequence}`];
    });
  }

  /** Exports nothing from now on: another process writes these memories. */
  stop(): void {
    for (const memory of this.#failed.keys()) this.#gauge.remove(memory);
    this.#failed.clear();
  }

  #problem(memory: MemoryName): string | null {
    const parts = [...(this.#failed.get(memory)?.values() ?? [])];
    return parts.find(({ isUnwritten }) => isUnwritten)?.detail ?? null;
  }

  #unwritten(memory: MemoryName): number {
    let count = 0;
    for (const { isUnwritten } of this.#failed.get(memory)?.values() ?? []) count += isUnwritten ? 1 : 0;
    return count;
  }

  /** Exports how many parts are unwritten, and logs the first one and the end of the last. */
  #show(memory: MemoryName, before: number): void {
    const count = this.#unwritten(memory);
    this.#gauge.set(count, memory);
    const { title, consequence } = MEMORIES[memory];
    if (before === 0 && count > 0) {
      this.#io.log.warn(`${title} cannot be written: ${consequence}`, { memory, detail: this.#problem(memory) });
    } else if (before > 0 && count === 0) this.#io.log.info(`${title} is written again`, { memory });
  }
}
