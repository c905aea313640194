/** Objects as rows of a Table, the form that kubectl requests for printing. */

import type { ApiObject, Json, JsonObject } from "../api-objects.ts";
import { apiVersionOf, type Resource } from "../resources.ts";
import type { Stored } from "../store/stored.ts";
import type { Column } from "./column.ts";
import { columnsOf } from "./columns.ts";
import { listMeta, type Renderer } from "./render.ts";

/** How much of its object each row carries. */
export type RowObject = "None" | "Metadata" | "Object";

/** The requested form of a Table. */
export interface TableOptions {
  readonly apiVersion: "meta.k8s.io/v1" | "meta.k8s.io/v1beta1";
  readonly rowObject: RowObject;
  /** The current time, for ages. */
  readonly wallMs: () => number;
}

/** Rows joined into one piece of text. */
const ROWS_PER_PIECE = 256;

/** Renders objects as a Table. A watch names the columns once; a list and a single object always. */
export function tableRenderer(resource: Resource, options: TableOptions): Renderer {
  const kind = columnsOf(resource);
  const { apiVersion, rowObject, wallMs } = options;
  const definitions = kind.columns.map(definitionOf);
  // A custom resource may be read in another version than it is stored in.
  const shown = (object: ApiObject): ApiObject => ({ ...object, apiVersion: apiVersionOf(resource) });
  let named = false;
  const row = (stored: Stored): string => {
    const object = shown(stored.object());
    return JSON.stringify({ cells: kind.cells(object, wallMs()), object: carried(object, rowObject, apiVersion) });
  };
  const head = (metadata: JsonObject, shown: Json): string =>
    `${JSON.stringify({ kind: "Table", apiVersion, metadata, columnDefinitions: shown }).slice(0, -1)},"rows":[`;
  const version = (revision: number): JsonObject => ({ resourceVersion: String(revision) });
  const line = (type: string, revision: number, rows: string): Uint8Array => {
    const shown = named ? null : definitions;
    named = true;
    return Buffer.from(`{"type":"${type}","object":${head(version(revision), shown)}${rows}]}}\n`);
  };
  return {
    one: (stored) => `${head(version(stored.revision), definitions)}${row(stored)}]}\n`,
    *list(page) {
      yield head(listMeta(page), definitions);
      for (let from = 0; from < page.items.length; from += ROWS_PER_PIECE) {
        const rows = page.items.slice(from, from + ROWS_PER_PIECE).map(row);
        yield (from === 0 ? "" : ",") + rows.join(",");
      }
      yield "]}\n";
    },
    line: (type, change) => line(type, change.now.revision, row(change.now)),
    bookmark: (revision) => line("BOOKMARK", revision, ""),
  };
}

function definitionOf({ name, type, priority, format, description = "" }: Column): JsonObject {
  return { name, type, format: format ?? (name === "Name" ? "name" : ""), description, priority };
}

function carried(object: ApiObject, rowObject: RowObject, apiVersion: string): Json {
  if (rowObject === "Object") return object;
  if (rowObject === "None") return null;
  return { kind: "PartialObjectMetadata", apiVersion, metadata: object.metadata };
}
