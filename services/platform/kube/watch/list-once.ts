/** Lists a collection once, completely, for a question that arises now and then. */
import type { Clock, Wire } from "../../../../protocols/ports.ts";
import type { Shape } from "../protobuf/protobuf.ts";
import { LARGE_LIST_OPEN_MS, startListing } from "./listing.ts";

/** What to list; `shape` has the fields to decode where the server offers protobuf, null for JSON. */
export interface ListOnceOptions {
  readonly path: string;
  readonly shape: Shape | null;
  /** Only items with these labels; all if left out. */
  readonly labelSelector?: string;
  /** Whether the newest state is needed; otherwise the cache of the API server answers. */
  readonly isLive?: boolean;
}

/** Passes on each item as it arrives. Resolves with why the list is incomplete; with null when it is complete. */
export function listOnce(
  io: { readonly wire: Wire; readonly clock: Clock },
  { path, shape, labelSelector, isLive = false }: ListOnceOptions,
  item: (raw: unknown) => void,
): Promise<string | null> {
  const form = shape === null ? "json" : "protobuf";
  const selectors = labelSelector === undefined ? {} : { labelSelector };
  return new Promise((resolve) => {
    startListing(
      io,
      { path, selectors, form, shape, fromCache: !isLive, limit: null, openMs: LARGE_LIST_OPEN_MS },
      {
        item,
        closed: (end) => {
          if (end.kind === "listed") resolve(null);
          else resolve(end.kind === "refused" ? end.refusal.message : end.message);
        },
      },
    );
  });
}
