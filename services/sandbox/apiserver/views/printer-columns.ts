/** The columns that a definition names for `kubectl get`, and the cells of one object. */
import { parseJsonPath } from "../../../structures/json-path.ts";
import { type ApiObject, isObject, type Json } from "../api-objects.ts";
import type { PrinterColumn } from "../resources.ts";
import { ageOf } from "./age.ts";
import type { Columns } from "./column.ts";

/** The columns of a custom resource: the name, then those of its definition. */
export function printerColumns(columns: readonly PrinterColumn[]): Columns {
  return {
    columns: [{ name: "Name", type: "string", priority: 0 }, ...columns],
    cells: (object, wallMs) => [object.metadata.name, ...columns.map((column) => cellOf(object, column, wallMs))],
  };
}

/** The first value at a column's path, as its type is shown; null without one, or with one of another type. */
function cellOf(object: ApiObject, { type, jsonPath }: PrinterColumn, wallMs: number): Json {
  const [value] = (parseJsonPath(jsonPath)?.([object]) ?? []) as readonly Json[];
  if (value === undefined) return null;
  switch (type) {
    case "string":
      return textOfCell(value);
    case "date":
      return typeof value === "string" ? ageOf(value, wallMs) : null;
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    default:
      return typeof value === "boolean" ? value : null;
  }
}

function textOfCell(value: Json): string {
  return Array.isArray(value) || isObject(value) ? JSON.stringify(value) : String(value ?? "");
}
