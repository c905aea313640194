/** What has changed between two answers of `vigil get --watch`. Pure: it neither asks nor prints. */
import type { WatchHealthReport } from "../../protocols/ledger-reader.ts";
import { listText } from "../domain/format.ts";
import type { Table } from "./get-tables.ts";

/** What a topic holds at one moment. */
export interface WatchAnswer<R> {
  readonly rows: readonly R[];
  /** How many there are, also of those that were left out. */
  readonly total: number;
  /** Why not all of the cluster can be seen; null when it is. */
  readonly blind: string | null;
}

/** A row that came, changed or went; one that went is as it was last. */
export interface Change<R> {
  readonly event: "ADDED" | "MODIFIED" | "DELETED";
  readonly row: R;
}

/** Rows by their keys. */
export type Rows<R> = ReadonlyMap<string, R>;

/** How an answer differs from what was known, and what is known with it. */
export function compared<R>(
  known: Rows<R>,
  { rows, total, blind }: WatchAnswer<R>,
  { key, ignoredChanges }: Table<R>,
): { readonly changes: readonly Change<R>[]; readonly known: Rows<R> } {
  const fixed = (row: R) =>
    JSON.stringify(row, (name, value) => (ignoredChanges.includes(name as never) ? null : value));
  const changes: Change<R>[] = [];
  for (const row of rows) {
    const before = known.get(key(row));
    if (before === undefined) changes.push({ event: "ADDED", row });
    else if (fixed(before) !== fixed(row)) changes.push({ event: "MODIFIED", row });
  }
  const answered = new Map(rows.map((row) => [key(row), row]));
  const missing = [...known].filter(([name]) => !answered.has(name));
  // Who has just started and does not see yet knows of nothing: that is no news of anything being gone.
  if (blind !== null) return { changes, known: new Map([...missing, ...answered]) };
  // Of an answer that leaves some out nobody knows which are gone and which were left out.
  const gone = rows.length < total ? [] : missing.map(([, row]): Change<R> => ({ event: "DELETED", row }));
  return { changes: [...changes, ...gone], known: answered };
}

/** Why a ledger does not see all of the cluster; null when it does. */
export function blindnessOf({ blindShards, shards, oldestPulseMs, watches }: WatchHealthReport): string | null {
  if (blindShards === 0) return null;
  const broken = Object.entries(watches).flatMap(([watch, sinceMs]) => (sinceMs === null ? [watch] : []));
  const where = `blind in ${blindShards} of ${shards} shards`;
  if (oldestPulseMs === null) return `${where}: no pulse from the observer yet`;
  if (broken.length === 0) return `${where}: the observer is not heard`;
  return `${where}: the watch of ${listText(broken)} is not synced`;
}
