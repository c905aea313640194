/** How objects are written to clients: as stored, or as rows of a table. */

import type { JsonObject } from "../api-objects.ts";
import { apiVersionOf, type Resource, storedApiVersionOf } from "../resources.ts";
import type { Page } from "../store/list-pages.ts";
import type { Change, ChangeType, Stored } from "../store/stored.ts";

/** Items of a list joined into one piece of text. */
const ITEMS_PER_PIECE = 256;

/** One way to render the objects of a resource. */
export interface Renderer {
  one(stored: Stored): string;
  /** The pieces of a list's body, made on demand: a list may be larger than any string. */
  list(page: Page): Iterable<string>;
  line(type: ChangeType, change: Change): Uint8Array;
  bookmark(revision: number): Uint8Array;
}

/** Metadata of a page of a list. */
export function listMeta(page: Page): JsonObject {
  const meta: JsonObject = { resourceVersion: String(page.revision) };
  if (page.next === "") return meta;
  return { ...meta, continue: page.next, remainingItemCount: page.remaining };
}

/** Renders objects as they are. List items come without kind and apiVersion, as from the real server. */
export function objectRenderer(resource: Resource): Renderer {
  const { kind } = resource;
  const apiVersion = apiVersionOf(resource);
  const storedApiVersion = storedApiVersionOf(resource);
  const isAsStored = apiVersion === storedApiVersion;
  const headLength = `{"kind":"${kind}","apiVersion":"${storedApiVersion}",`.length;
  const head = `{"kind":"${kind}","apiVersion":"${apiVersion}",`;
  const one = ({ json }: Stored): string => (isAsStored ? json : head + json.slice(headLength));
  return {
    one,
    *list(page) {
      yield `{"kind":"${kind}List","apiVersion":"${apiVersion}","metadata":${JSON.stringify(listMeta(page))},"items":[`;
      for (let from = 0; from < page.items.length; from += ITEMS_PER_PIECE) {
        const items = page.items.slice(from, from + ITEMS_PER_PIECE).map(({ json }) => `{${json.slice(headLength)}`);
        yield (from === 0 ? "" : ",") + items.join(",");
      }
      yield "]}\n";
    },
    line: (type, change) =>
      isAsStored ? change.line(type) : Buffer.from(`{"type":"${type}","object":${one(change.now)}}\n`),
    bookmark(revision) {
      const object = { kind, apiVersion, metadata: { resourceVersion: String(revision), creationTimestamp: null } };
      return Buffer.from(`${JSON.stringify({ type: "BOOKMARK", object })}\n`);
    },
  };
}
