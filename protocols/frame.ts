/** The frame around every message: its schema and its id. messages.ts defines the bodies. */
import { z } from "zod";
import { instant, word } from "./bounds.ts";

/** Wire version. Within it only optional fields are added. */
export const FRAME_VERSION = 1;

/** Largest message on the wire, in bytes; larger contents are split into batches or chunks. */
export const MESSAGE_BYTES_MAX = 64 * 1024;

/**
 * Schema of a frame whose body is not checked yet.
 * `id` is `source:epoch:type.shard:sequence`, `source` is `service@member`, `at` the sender's wall clock in epoch
 * milliseconds, `cause` the id of the message that led to this one.
 */
export const frameSchema = z.object({
  v: z.literal(FRAME_VERSION),
  type: word,
  id: z.string().max(512),
  source: z.string().max(256),
  at: instant,
  cause: z.string().max(512).nullable(),
  body: z.unknown(),
});

/** The position of a message in its stream: one publisher's messages of one type on one shard, numbered from 1. */
export interface StreamPosition {
  /** The stream: `source:type.shard`. */
  readonly stream: string;
  /** The publisher's wall clock at its start, in epoch milliseconds. */
  readonly epoch: number;
  readonly sequence: number;
}

/** The service of a source, `service@member`, or of the id of its message. */
export function serviceOf(source: string): string {
  const end = source.indexOf("@");
  return end < 0 ? source : source.slice(0, end);
}

/** The member of a source, `service@member`; the whole text when it names no service. */
export function memberOf(source: string): string {
  return source.slice(source.indexOf("@") + 1);
}

/** Builds a frame id. */
export function frameId(source: string, epoch: number, type: string, shard: number, sequence: number): string {
  return `${source}:${epoch}:${type}.${shard}:${sequence}`;
}

/** Parses a frame id; null when it does not have the form. */
export function positionOf(id: string): StreamPosition | null {
  const last = id.lastIndexOf(":");
  const middle = id.lastIndexOf(":", last - 1);
  const first = id.lastIndexOf(":", middle - 1);
  if (first < 1) return null;
  const sequence = Number(id.slice(last + 1));
  const epoch = Number(id.slice(first + 1, middle));
  if (!Number.isSafeInteger(sequence) || !Number.isSafeInteger(epoch)) return null;
  return { stream: `${id.slice(0, first)}:${id.slice(middle + 1, last)}`, epoch, sequence };
}
