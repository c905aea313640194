/** Prints the rows of `vigil get` as a table, JSON or YAML. */
import { printable, printableJson } from "../../platform/process/printable.ts";
import { Columns } from "../output/text-table.ts";
import { yamlText } from "../output/yaml.ts";
import type { Host } from "../verb.ts";
import type { Table } from "./get-tables.ts";
import { jsonPathTemplate } from "./jsonpath.ts";
import type { Change } from "./watch.policy.ts";

/** The output formats; the last takes a template. */
export const OUTPUTS = ["table", "wide", "name", "json", "yaml", "jsonpath="] as const;
/** An output format. */
export type Output = (typeof OUTPUTS)[number] | `jsonpath=${string}`;

const JSONPATH = "jsonpath=";

/** How rows are printed. */
export interface Form<R> {
  readonly table: Table<R>;
  readonly output: Output;
  /** Whether one object was asked for by its name: it is printed without a list around it. */
  readonly single: boolean;
  /** Whether each row is printed with its event. */
  readonly events: boolean;
  /** The state that is printed for a deleted row. */
  readonly gone: string;
}

type Out = Pick<Host, "print" | "wallMs">;

/** Prints all rows as one table or one document. */
export function printWhole<R>(rows: readonly R[], { table, output, single }: Form<R>, { print, wallMs }: Out): void {
  const nowMs = wallMs();
  const textOf = documentText(output);
  if (textOf !== null) {
    const documents = rows.map(table.document);
    print(textOf(single && documents.length === 1 ? documents[0] : documents));
  } else if (output === "name") print(rows.map((row) => nameLine(table, row)).join(""));
  else {
    const { heading, cells } = columnsOf(table, output);
    print(new Columns().lines([heading, ...rows.map((row) => cells(row, nowMs))]));
  }
}

/** The columns of a table, with the further ones of `-o wide`. */
function columnsOf<R>({ heading, cells, wide }: Table<R>, output: Output): Pick<Table<R>, "heading" | "cells"> {
  if (output !== "wide" || wide === undefined) return { heading, cells };
  return { heading: [...heading, ...wide.heading], cells: (row, nowMs) => [...cells(row, nowMs), ...wide.cells(row)] };
}

function nameLine<R>({ kind, nameOf }: Table<R>, row: R): string {
  return `${printable(`${kind}/${nameOf(row)}`)}\n`;
}

/** A function that prints changes: rows under one heading, or a document for each. */
export function changePrinter<R>(form: Form<R>, out: Out): (changes: readonly Change<R>[]) => void {
  return form.output === "table" || form.output === "wide" ? rowPrinter(form, out) : documentPrinter(form, out);
}

function rowPrinter<R>({ table, output, events, gone }: Form<R>, { print, wallMs }: Out) {
  const { heading, cells } = columnsOf(table, output);
  const { state } = table;
  const columns = new Columns();
  let before: readonly (readonly string[])[] = [events ? ["EVENT", ...heading] : heading];
  return (changes: readonly Change<R>[]): void => {
    // The heading is printed with the first rows, because they set its widths.
    if (changes.length === 0) return;
    const nowMs = wallMs();
    const rows = changes.map(({ event, row }) => {
      const shown = cells(row, nowMs).map((cell, at) => (event === "DELETED" && heading[at] === state ? gone : cell));
      return events ? [event, ...shown] : shown;
    });
    print(columns.lines([...before, ...rows]));
    before = [];
  };
}

function documentPrinter<R>({ table, output, events }: Form<R>, { print }: Out) {
  const separator = output === "yaml" ? "---\n" : "";
  const textOf = documentText(output);
  return (changes: readonly Change<R>[]): void => {
    // Without its event a deleted row looks like an existing one.
    const shown = changes.filter(({ event }) => events || event !== "DELETED");
    const lines = shown.map(({ event, row }) => {
      if (textOf === null) return nameLine(table, row);
      const document = table.document(row);
      return `${separator}${textOf(events ? { type: event, object: document } : document)}`;
    });
    print(lines.join(""));
  };
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

function jsonText(value: unknown): string {
  return `${printableJson(JSON.stringify(value, null, 2))}\n`;
}
