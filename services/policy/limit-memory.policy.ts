/** The text in which the memory of limits is stored: JSON, by policy, in the fields of `judged.limits`. */
import { limitMemorySchema } from "../../protocols/judged.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import type { KubeObject } from "../../protocols/ports.ts";
import { parsed, recordOf, textOf } from "../platform/structures/json.ts";

type LimitMemory = NonNullable<BodyOf<"judged.memory">["memory"]>;

/** Longest text that is stored, in characters: half of what a ConfigMap holds. */
const TEXT_CHARACTERS_MAX = 512 * 1024;

/** The text for no memories. */
export const NO_MEMORIES = "{}";

/** What a ConfigMap remembers. */
export interface StoredMemories {
  readonly memories: ReadonlyMap<string, LimitMemory>;
  readonly text: string | null;
  /** What could not be read; null for nothing. */
  readonly problem: string | null;
}

/** The text for these memories. Where it would be too long, condemned nodes that have healed are left out. */
export function limitMemoryText(memories: ReadonlyMap<string, LimitMemory | null>): string {
  const entries = [...memories].flatMap(([policy, memory]) => (memory === null ? [] : [[policy, memory] as const]));
  entries.sort(([left], [right]) => (left < right ? -1 : 1));
  const text = JSON.stringify(Object.fromEntries(entries));
  if (text.length <= TEXT_CHARACTERS_MAX) return text;
  const shorter = entries.map(([policy, memory]) => [policy, { ...memory, condemnations: [] }]);
  return JSON.stringify(Object.fromEntries(shorter));
}

/** Reads a ConfigMap. An entry that is wrong counts as none. */
export function readLimitMemories(object: KubeObject): StoredMemories {
  const text = textOf(recordOf(object.data).limits);
  const memories = new Map<string, LimitMemory>();
  const wrong: string[] = [];
  for (const [policy, raw] of Object.entries(recordOf(text === null ? undefined : parsed(text)))) {
    const memory = limitMemorySchema.safeParse(raw);
    if (memory.success) memories.set(policy, memory.data);
    else wrong.push(policy);
  }
  const problem = wrong.length === 0 ? null : `the memory of ${wrong.join(", ")} is malformed and counts as none`;
  return { memories, text, problem };
}
