/** The text in which the memory of limits is stored: JSON, by policy, in the fields of `judged.limits`. */
import { CONDEMNATION_SPANS_MAX, limitMemorySchema } from "../../protocols/judged.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import { boundedSpans } from "../structures/counted-spans.ts";
import { parsed, recordOf } from "../structures/json.ts";

type LimitMemory = NonNullable<BodyOf<"judged.memory">["memory"]>;

/** What a ConfigMap remembers. */
export interface StoredMemories {
  readonly memories: ReadonlyMap<string, LimitMemory>;
  /** What could not be read; null for nothing. */
  readonly problem: string | null;
}

/**
 * The text for these memories. Where it would have more than `charactersMax`, admitted nodes are counted without their
 * names, and at last all of a policy in one span, so that a breaker counts no less after a restart.
 */
export function limitMemoryText(memories: ReadonlyMap<string, LimitMemory | null>, charactersMax: number): string {
  const entries = [...memories].flatMap(([policy, memory]) => (memory === null ? [] : [[policy, memory] as const]));
  entries.sort(([left], [right]) => (left < right ? -1 : 1));
  const text = JSON.stringify(Object.fromEntries(entries));
  if (text.length <= charactersMax) return text;
  const unnamed = (spansMax: number): string =>
    JSON.stringify(Object.fromEntries(entries.map(([policy, memory]) => [policy, withoutNames(memory, spansMax)])));
  const shorter = unnamed(CONDEMNATION_SPANS_MAX);
  return shorter.length <= charactersMax ? shorter : unnamed(1);
}

function withoutNames({ condemnations, earlier = [], ...memory }: LimitMemory, spansMax: number): LimitMemory {
  const named = condemnations.map(({ at }) => ({ fromAt: at, toAt: at, count: 1 }));
  const spans = boundedSpans([...earlier, ...named], spansMax);
  return { ...memory, condemnations: [], ...(spans.length === 0 ? {} : { earlier: [...spans] }) };
}

/** A memory that may lack a breaker that has tripped: as if it tripped at this instant, in epoch milliseconds. */
export function trippedMemory(memory: LimitMemory | null, at: number): LimitMemory {
  const known = memory ?? { trippedAt: null, resetAt: null, isStorm: false, stormEndedAt: null, condemnations: [] };
  return { ...known, trippedAt: Math.max(known.trippedAt ?? at, at), resetAt: null };
}

/** Reads the text, null for none. An entry that is invalid counts as none. */
export function readLimitMemories(text: string | null): StoredMemories {
  const memories = new Map<string, LimitMemory>();
  const invalid: string[] = [];
  for (const [policy, raw] of Object.entries(recordOf(text === null ? undefined : parsed(text)))) {
    const memory = limitMemorySchema.safeParse(raw);
    if (memory.success) memories.set(policy, memory.data);
    else invalid.push(policy);
  }
  const problem = invalid.length === 0 ? null : `the memory of ${invalid.join(", ")} is malformed and counts as none`;
  return { memories, problem };
}
