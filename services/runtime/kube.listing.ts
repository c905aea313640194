/**
 * One list, page by page: gives each item while the answer arrives and tells how it ended. Trying again is the reader's
 * work.
 */
import type { Clock, Wire } from "../../protocols/ports.ts";
import { parsed, recordOf, textOf } from "./kube.json.ts";
import { ListScanner } from "./kube.list-scan.ts";
import { Stream, type StreamEnd, type StreamPatience } from "./kube.stream.ts";

/** How a list ended. */
export type ListEnd =
  | { readonly kind: "listed"; readonly resourceVersion: string }
  | Exclude<StreamEnd, { readonly kind: "complete" }>;

/** What to list. */
export interface ListOptions {
  readonly path: string;
  readonly selectors: Readonly<Record<string, string>>;
  /** Whether any state that the server has in its cache will do; otherwise it is the newest. */
  readonly fromCache: boolean;
  /** Items per page; null for everything at once. */
  readonly limit: number | null;
}

/** Where a list tells what comes. */
export interface ListSink {
  item(raw: unknown): void;
  /** Called once, last. */
  closed(end: ListEnd): void;
}

/** A large first page may take the server half a minute to put together. */
const PATIENCE: StreamPatience = { openMs: 60_000, silenceMs: 30_000 };

/** Starts a list. */
export function startListing(
  io: { readonly wire: Wire; readonly clock: Clock },
  options: ListOptions,
  sink: ListSink,
): { abort(): void } {
  let stream: Stream;
  const page = (continueToken: string | null): void => {
    const scanner = new ListScanner((json) => sink.item(parsed(json)));
    stream = new Stream(io, pathOf(options, continueToken), PATIENCE, {
      opened: () => {},
      data: (chunk) => scanner.push(chunk),
      closed: (end) => {
        if (end.kind === "complete") pageEnded(scanner.rest());
        else sink.closed(end);
      },
    });
  };
  const pageEnded = (rest: string): void => {
    const metadata = recordOf(recordOf(parsed(rest)).metadata);
    const resourceVersion = textOf(metadata.resourceVersion);
    const continueToken = textOf(metadata.continue);
    if (continueToken !== null) page(continueToken);
    else if (resourceVersion !== null) sink.closed({ kind: "listed", resourceVersion });
    else sink.closed({ kind: "failed", message: "the list has no metadata.resourceVersion", timedOut: false });
  };
  page(null);
  return { abort: () => stream.abort() };
}

function pathOf({ path, selectors, limit, fromCache }: ListOptions, continueToken: string | null): string {
  const query = new URLSearchParams(selectors);
  if (limit !== null) query.set("limit", String(limit));
  if (continueToken !== null) query.set("continue", continueToken);
  else if (fromCache) query.set("resourceVersion", "0");
  return `${path}?${query.toString()}`;
}
