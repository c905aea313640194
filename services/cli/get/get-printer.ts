/** Prints the rows of `vigil get`: in columns, as documents, or as names. */
import { printable, printableJson } from "../../platform/process/printable.ts";
import { Columns } from "../output/text-table.ts";
import { yamlText } from "../output/yaml.ts";
import type { Host } from "../verb.ts";
import { customColumns } from "./document-paths.ts";
import type { Table } from "./get-tables.ts";
import { jsonPathTemplate } from "./jsonpath.ts";
import type { Change } from "./watch.policy.ts";

/** The output formats; text follows those that end with `=`. */
export const OUTPUTS = ["table", "wide", "name", "json", "yaml", "jsonpath=", "custom-columns="] as const;
/** An output format. */
export type Output = (typeof OUTPUTS)[number] | `${"jsonpath" | "custom-columns"}=${string}`;

const JSONPATH = "jsonpath=";
const CUSTOM_COLUMNS = "custom-columns=";

/** How rows are printed. */
export interface Form<R> {
  readonly table: Table<R>;
  readonly output: Output;
  /** Whether one object was requested by its name: it is printed without a list around it. */
  readonly single: boolean;
  /** Whether columns get no heading. */
  readonly noHeaders: boolean;
  /** Whether each row is printed with its event. */
  readonly events: boolean;
  /** The state that is printed for a deleted row. */
  readonly gone: string;
}

/** Prints in one format. */
export interface Printer<R> {
  /** Prints all rows, to be called once. */
  readonly all: (rows: readonly R[]) => void;
  /** Prints rows of a watch as they change. */
  readonly changes: (changes: readonly Change<R>[]) => void;
}

type Out = Pick<Host, "print" | "wallMs">;

/** The printer of a format. Throws a ConfigProblem for a template that is not understood. */
export function printerOf<R>(form: Form<R>, out: Out): Printer<R> {
  if (form.output === "name") return namePrinter(form, out);
  const textOf = documentText(form.output);
  return textOf === null ? columnPrinter(form, out) : documentPrinter(form, textOf, out);
}

/** The columns of a format: those of the table, with the further ones of `-o wide`, or the user's. */
function columnsOf<R>({ table, output }: Form<R>): Pick<Table<R>, "heading" | "cells"> {
  const { heading, cells, wide, document } = table;
  if (output.startsWith(CUSTOM_COLUMNS)) {
    const custom = customColumns(output.slice(CUSTOM_COLUMNS.length));
    return { heading: custom.heading, cells: (row) => custom.cells(document(row)) };
  }
  if (output !== "wide" || wide === undefined) return { heading, cells };
  return { heading: [...heading, ...wide.heading], cells: (row, nowMs) => [...cells(row, nowMs), ...wide.cells(row)] };
}

function columnPrinter<R>(form: Form<R>, { print, wallMs }: Out): Printer<R> {
  const { table, events, gone, noHeaders } = form;
  const { heading, cells } = columnsOf(form);
  const columns = new Columns();
  let before: readonly (readonly string[])[] = noHeaders ? [] : [events ? ["EVENT", ...heading] : heading];
  const printRows = (rows: readonly (readonly string[])[]): void => {
    print(columns.lines([...before, ...rows]));
    before = [];
  };
  return {
    all(rows) {
      const nowMs = wallMs();
      printRows(rows.map((row) => cells(row, nowMs)));
    },
    changes(changes) {
      // The heading is printed with the first rows, because they set its widths.
      if (changes.length === 0) return;
      const nowMs = wallMs();
      const rows = changes.map(({ event, row }) => {
        const isGone = (column: number) => event === "DELETED" && heading[column] === table.state;
        const shown = cells(row, nowMs).map((cell, column) => (isGone(column) ? gone : cell));
        return events ? [event, ...shown] : shown;
      });
      printRows(rows);
    },
  };
}

function documentPrinter<R>(
  { table, output, events, single }: Form<R>,
  textOf: (document: unknown) => string,
  { print }: Out,
): Printer<R> {
  const separator = output === "yaml" ? "---\n" : "";
  return {
    all(rows) {
      const items = rows.map(table.document);
      print(textOf(single && items.length === 1 ? items[0] : { kind: "List", items }));
    },
    changes(changes) {
      const documents = shownIn(changes, events).map(({ event, row }) => {
        const object = table.document(row);
        return `${separator}${textOf(events ? { type: event, object } : object)}`;
      });
      print(documents.join(""));
    },
  };
}

function namePrinter<R>({ table: { kind, nameOf }, events }: Form<R>, { print }: Out): Printer<R> {
  const all = (rows: readonly R[]): void => {
    print(rows.map((row) => `${printable(`${kind}/${nameOf(row)}`)}\n`).join(""));
  };
  return { all, changes: (changes) => all(shownIn(changes, events).map(({ row }) => row)) };
}

/** Without its event a deleted row would look like an existing one. */
function shownIn<R>(changes: readonly Change<R>[], events: boolean): readonly Change<R>[] {
  return changes.filter(({ event }) => events || event !== "DELETED");
}

/** How documents are printed; null for a format that prints none. */
function documentText(output: Output): ((document: unknown) => string) | null {
  if (output === "json") return jsonText;
  if (output === "yaml") return yamlText;
  if (!output.startsWith(JSONPATH)) return null;
  const template = jsonPathTemplate(output.slice(JSONPATH.length));
  return (document) => template(document).split("\n").map(printableLine).join("\n");
}

/** A tab is part of a template. */
function printableLine(line: string): string {
  return line.split("\t").map(printable).join("\t");
}

/** A document as indented JSON. */
export function jsonText(value: unknown): string {
  return `${printableJson(JSON.stringify(value, null, 2))}\n`;
}
