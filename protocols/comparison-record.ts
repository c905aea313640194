/**
 * What is stored of a comparison so that it outlives its process: one record for each failed node, one for each of its
 * pods that something happened to, and one for each time in which a ledger ran. Each fits into a message.
 */
import { z } from "zod";
import { instant, key, listOf, name, text } from "./bounds.ts";
import { token } from "./subjects.ts";

const instantSchema = z.object({
  at: instant,
  id: text,
  isPlanned: z.literal(true).optional(),
  isLatest: z.literal(true).optional(),
});
const stepSchema = z.object({
  vigil: instantSchema.nullable(),
  others: instantSchema.nullable(),
  /** Set when Vigil's write has reached the API. */
  isWritten: z.boolean().optional(),
});
/** A step of both sides. */
export type StepRecord = z.infer<typeof stepSchema>;

const nodeSchema = z.object({
  kind: z.literal("node"),
  node: name,
  uid: name,
  /** When the failure began, epoch milliseconds; together with the node it names the failure. */
  from: instant,
  to: instant.nullable(),
  refusal: text.nullable(),
  /** The renewal on which Vigil's verdict was based; null for unknown. */
  renewedAt: instant.nullable(),
  unknown: stepSchema,
  noExecute: stepSchema,
  otherTaints: listOf(text),
});
/** A failure of a node. */
export type NodeRecord = z.infer<typeof nodeSchema>;

const podSchema = z.object({
  kind: z.literal("pod"),
  node: name,
  from: instant,
  namespace: name,
  name,
  uid: name,
  wasReady: z.boolean(),
  wasRunning: z.boolean(),
  notReady: stepSchema,
  deleted: stepSchema,
});
/** A pod of a failed node. */
export type PodRecord = z.infer<typeof podSchema>;

const runSchema = z.object({ kind: z.literal("run"), member: key, from: instant, to: instant });
/** A time in which a ledger recorded. */
export type RunRecord = z.infer<typeof runSchema>;

const recordSchema = z.discriminatedUnion("kind", [nodeSchema, podSchema, runSchema]);
/** One stored part of a comparison. */
export type ComparisonRecord = z.infer<typeof recordSchema>;

/** The key of a record: a later one of the same key replaces it. */
export function recordKeyOf(record: ComparisonRecord): string {
  const owner = record.kind === "run" ? record.member : record.node;
  const parts = [record.kind, token(owner), String(Math.round(record.from))];
  return [...parts, ...(record.kind === "pod" ? [token(record.uid)] : [])].join(".");
}

/** Encodes a record. */
export function encodeRecord(record: ComparisonRecord): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(record));
}

/** Decodes and checks a stored record; null for anything else. */
export function decodeRecord(data: Uint8Array): ComparisonRecord | null {
  try {
    return recordSchema.safeParse(JSON.parse(new TextDecoder().decode(data))).data ?? null;
  } catch {
    return null;
  }
}
