/**
 * Limits of every field of a message. A sender can put anything into a message, so a reader accepts only what the API
 * server could hold or a service could have computed: instants that have a date, bounded counts, names no longer than
 * the API allows. A message beyond a limit is malformed.
 */
import { z } from "zod";
import { SHARD_COUNT } from "./subjects.ts";

/** The first instant of RFC 3339, in epoch milliseconds; the API cannot represent an earlier one. */
export const INSTANT_MIN: number = -62_167_219_200_000;
/** The last instant of RFC 3339, in epoch milliseconds; the API cannot represent a later one. */
export const INSTANT_MAX: number = 253_402_300_799_999;

/** Longest name, uid or version of an object, in characters: a name is a DNS subdomain. */
export const NAME_CHARACTERS_MAX = 253;
/** Longest key of a taint or label, in characters: a DNS subdomain, a slash and a name of 63. */
const KEY_CHARACTERS_MAX = 317;
/** Longest value of a taint, toleration or label, in characters. */
const VALUE_CHARACTERS_MAX = 63;
/** Longest word of an open vocabulary, such as an effect, a phase, a service or a time as text, in characters. */
export const WORD_CHARACTERS_MAX = 64;
/** Longest text for people, in characters; the sender truncates longer ones. */
export const TEXT_CHARACTERS_MAX = 4096;
/** Longest value of one of Vigil's annotations, in characters. */
const ANNOTATION_CHARACTERS_MAX = 32 * 1024;
/** Most rows of one answer of the console. */
export const LIMIT_MAX = 10_000;
/** Highest count and highest rate: far above any cluster, and low enough that sums are exact. */
const COUNT_MAX = 1_000_000_000;
/** `tolerationSeconds` is an int64; a double keeps the nearest value. */
export const INT64_MAX: number = 2 ** 63;
/** Most entries of a list or a map. */
const ENTRIES_MAX = 1024;

/** An instant in epoch milliseconds; the microseconds of a lease are its fraction. */
export const instant = z.number().min(INSTANT_MIN).max(INSTANT_MAX);
/** A duration in milliseconds. */
export const durationMs = z.number().min(0).max(INSTANT_MAX);
/** A shard. */
export const shard = z
  .int()
  .min(0)
  .max(SHARD_COUNT - 1);
/** A count. */
export const count = z.int().min(0).max(COUNT_MAX);
/** A 32-bit checksum. */
export const checksum = z
  .int()
  .min(0)
  .max(2 ** 32 - 1);
/** A rate per second. */
export const rate = z.number().min(0).max(COUNT_MAX);
/** Tokens in a bucket; negative after tokens were spent in advance. */
export const tokens = z.number().min(-COUNT_MAX).max(COUNT_MAX);
/** Seconds as the API holds them. */
export const int64Seconds = z.number().min(-INT64_MAX).max(INT64_MAX);
/** A name, uid or version of an object, or a zone key; well-formed UTF-16, because it becomes part of a URL. */
export const name = z
  .string()
  .max(NAME_CHARACTERS_MAX)
  .refine((characters) => characters.isWellFormed(), "half of a surrogate pair");
/** A key of a taint or label, or the type of a condition. */
export const key = z.string().max(KEY_CHARACTERS_MAX);
/** A value of a taint, toleration or label. */
export const value = z.string().max(VALUE_CHARACTERS_MAX);
/** A word of an open vocabulary. */
export const word = z.string().max(WORD_CHARACTERS_MAX);
/** A text for people. */
export const text = z.string().max(TEXT_CHARACTERS_MAX);
/** A value of one of Vigil's annotations. */
export const annotation = z.string().max(ANNOTATION_CHARACTERS_MAX);
/** A taint's `key:effect`. */
const taintNameText = z.string().max(KEY_CHARACTERS_MAX + 1 + WORD_CHARACTERS_MAX);

/** A list with a bounded number of entries. */
export function listOf<S extends z.ZodType>(entry: S, entriesMax = ENTRIES_MAX): z.ZodArray<S> {
  return z.array(entry).max(entriesMax);
}

/** A map from keys with a bounded number of entries; `__proto__` is left out. */
export function mapOf<S extends z.ZodType>(entry: S): z.ZodRecord<z.ZodString, S> {
  return z.record(key, entry).refine(isSmall, `more than ${ENTRIES_MAX} entries`);
}

/** Instants by the `key:effect` of taints. */
export const instantsByTaint = z.record(taintNameText, instant).refine(isSmall, `more than ${ENTRIES_MAX} entries`);

/** Keys, such as types of conditions, by the `key:effect` of taints. */
export const keysByTaint = z.record(taintNameText, key).refine(isSmall, `more than ${ENTRIES_MAX} entries`);

function isSmall(entries: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(entries).length <= ENTRIES_MAX;
}
