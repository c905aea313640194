/** One column of kubectl's tables, and what its cells have in common. */
import type { ApiObject, Json } from "../api-objects.ts";
import { ageOf } from "./age.ts";

/** One column; `-o wide` alone shows priority 1. */
export interface Column {
  readonly name: string;
  /** `string`, `integer`, `number`, `boolean` or `date`. */
  readonly type: string;
  readonly priority: number;
  readonly format?: string;
  readonly description?: string;
}

/** The columns of a kind and the cells of an object. */
export interface Columns {
  readonly columns: readonly Column[];
  cells(object: ApiObject, wallMs: number): Json[];
}

/** A column of `kubectl get`. */
export const column = (name: string): Column => ({ name, type: "string", priority: 0 });
/** A column that `-o wide` alone shows. */
export const wide = (name: string): Column => ({ name, type: "string", priority: 1 });
/** A column of numbers. */
export const count = (name: string): Column => ({ name, type: "integer", priority: 0 });

/** The text of an empty cell. */
export const NONE = "<none>";
/** The text of a cell whose value is unknown. */
export const UNKNOWN = "<unknown>";

/** The age of an object. */
export function age(object: ApiObject, wallMs: number): string {
  return ageOf(object.metadata.creationTimestamp, wallMs);
}
