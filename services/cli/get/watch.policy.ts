/** What has changed between two answers of `vigil get --watch`. Pure. */
import type { WatchHealthReport } from "../../../protocols/ledger-reader.ts";
import { listText } from "../../domain/format.ts";
import type { Table } from "./get-tables.ts";

/** The rows of a topic at one moment. */
export interface WatchAnswer<R> {
  readonly rows: readonly R[];
  /** Number of rows, including those beyond the limit. */
  readonly total: number;
  /** Why some shards are not synced; null when all are. */
  readonly blind: string | null;
  /** A line for each wanted name that no row has. */
  readonly missing?: readonly string[];
  /** Why there are none, appended to that note; absent where it has no further reason. */
  readonly why?: string;
}

/** A row that was added, changed or deleted; a deleted row has its last content. */
export interface Change<R> {
  readonly event: "ADDED" | "MODIFIED" | "DELETED";
  readonly row: R;
}

/** Rows by their keys. */
export type Rows<R> = ReadonlyMap<string, R>;

/** The changes from the known rows to an answer, and the rows known after it. */
export function compared<R>(
  known: Rows<R>,
  { rows, total, blind }: WatchAnswer<R>,
  { key, ignoredChanges }: Table<R>,
): { readonly changes: readonly Change<R>[]; readonly known: Rows<R> } {
  const fixed = (row: R) => JSON.stringify(row, (name, value) => (ignoredChanges.includes(name) ? null : value));
  const changes: Change<R>[] = [];
  for (const row of rows) {
    const before = known.get(key(row));
    if (before === undefined) changes.push({ event: "ADDED", row });
    else if (fixed(before) !== fixed(row)) changes.push({ event: "MODIFIED", row });
  }
  const answered = new Map(rows.map((row) => [key(row), row]));
  const missing = [...known].filter(([name]) => !answered.has(name));
  // A process that is not synced lacks rows that still exist, so a missing row is not a deleted one.
  if (blind !== null) return { changes, known: new Map([...missing, ...answered]) };
  // The same applies to an answer that the limit cuts short.
  const gone = rows.length < total ? [] : missing.map(([, row]): Change<R> => ({ event: "DELETED", row }));
  return { changes: [...changes, ...gone], known: answered };
}

/** Why some shards of a ledger are not synced; null when all are. */
export function blindnessOf({ blindShards, shards, oldestPulseMs, watches }: WatchHealthReport): string | null {
  if (blindShards === 0) return null;
  const broken = Object.entries(watches).flatMap(([watch, sinceMs]) => (sinceMs === null ? [watch] : []));
  const where = `blind in ${blindShards} of ${shards} shards`;
  if (oldestPulseMs === null) return `${where}: no pulse from the observer yet`;
  if (broken.length === 0) return `${where}: no recent pulse from the observer`;
  return `${where}: the watch of ${listText(broken)} is not synced`;
}
