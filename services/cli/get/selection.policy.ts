/** Which rows of an answer `vigil get` shows: those of some names, of a namespace, and with some labels. Pure. */
import { unknownNameText } from "../../domain/suggest.ts";
import { documentOrder } from "./document-paths.ts";
import type { Table } from "./get-tables.ts";
import type { WatchAnswer } from "./watch.policy.ts";

/** What is wanted of an answer. */
export interface Selection {
  /** Names as a user writes them; empty for all. */
  readonly names: readonly string[];
  /** Empty for every namespace. */
  readonly namespace: string;
  readonly limit: number;
  /** The path of the order; empty for that of the answer. */
  readonly sortBy: string;
}

/** What the rows are, for people. */
export interface Selected<R> {
  /** The plural noun for the rows. */
  readonly name: string;
  readonly table: Table<R>;
  /** What the absence of a wanted name means; that it was not found, without it. */
  readonly absent?: string;
  /** Set when the answer has only the rows of the wanted names. */
  readonly isByName?: true;
}

/** The wanted rows of an answer, and a line for each wanted name that no row has. */
export function selectedRows<R>(
  answer: WatchAnswer<R>,
  { names, namespace, limit, sortBy }: Selection,
  selected: Selected<R>,
  /** The names that -l selects; null for all. */
  labelled: ReadonlySet<string> | null,
): WatchAnswer<R> {
  const { table } = selected;
  const { document } = table;
  const wanted = answer.rows
    .filter((row) => namespace === "" || table.namespaceOf?.(row) === namespace)
    .filter((row) => labelled === null || labelled.has(table.nameOf(row)))
    .filter((row) => names.length === 0 || names.some((name) => isNamed(row, name, table)));
  const order = sortBy === "" ? null : documentOrder(sortBy);
  const sorted = order === null ? wanted : wanted.sort((left, right) => order(document(left), document(right)));
  const isComplete = answer.rows.length >= answer.total;
  const missing = names
    .filter((name) => isComplete && !wanted.some((row) => isNamed(row, name, table)))
    .map((name) => `${table.kind} ${name}: ${selected.absent ?? notFoundText(answer.rows, selected)}`);
  return { ...answer, rows: sorted.slice(0, limit), total: isComplete ? wanted.length : answer.total, missing };
}

function notFoundText<R>(rows: readonly R[], { name, table, isByName }: Selected<R>): string {
  return isByName ? `not found; vigil get ${name} lists all` : unknownNameText(name, rows.map(table.nameOf));
}

function isNamed<R>(row: R, name: string, { nameOf, isNamed: matches }: Table<R>): boolean {
  return nameOf(row) === name || matches?.(row, name) === true;
}
