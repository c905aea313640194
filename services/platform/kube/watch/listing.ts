/**
 * One list request, page by page: passes on each item as it arrives, and reports how the list ended. The watch reader
 * retries.
 */
import type { Clock, Wire } from "../../../../protocols/ports.ts";
import { type JsonRecord, parsed, recordOf, textOf } from "../../../structures/json.ts";
import { MalformedProtobuf, type Shape } from "../protobuf/protobuf.ts";
import { ProtobufList } from "../protobuf/protobuf-list.ts";
import { ListScanner } from "./list-scan.ts";
import { Stream, type StreamEnd, type StreamForm, type StreamPatience } from "./stream.ts";

/** How a list ended. */
export type ListEnd =
  | { readonly kind: "listed"; readonly resourceVersion: string }
  /** The protobuf could not be decoded. */
  | { readonly kind: "malformed"; readonly message: string }
  /** The receiver did not accept its version. */
  | { readonly kind: "outdated"; readonly message: string }
  | Exclude<StreamEnd, { readonly kind: "complete" }>;

/** What to list. */
export interface ListOptions {
  readonly path: string;
  readonly selectors: Readonly<Record<string, string>>;
  /** The requested encoding, and the fields to decode from a protobuf item. */
  readonly form: StreamForm;
  readonly shape: Shape | null;
  /** Whether any state of the server's cache is fresh enough; otherwise the newest is requested. */
  readonly fromCache: boolean;
  /** Items per page; null for one page. */
  readonly limit: number | null;
  /** How long a page may be without an answer, in milliseconds. */
  readonly openMs: number;
}

/** Receives what a list brings. */
export interface ListSink {
  /** Whether to accept a list of this version; called before its first item. All are accepted if left out. */
  accepts?(resourceVersion: string): boolean;
  item(raw: unknown): void;
  /** Called once, last. */
  closed(end: ListEnd): void;
}

/** How long a page may be without an answer where objects are many: a server may take half a minute for the first. */
export const LARGE_LIST_OPEN_MS = 60_000;
/** How long an answer may bring nothing more. */
const SILENCE_MS = 30_000;

/** Starts a list. */
export function startListing(
  io: { readonly wire: Wire; readonly clock: Clock },
  options: ListOptions,
  sink: ListSink,
): { abort(): void } {
  const patience: StreamPatience = { openMs: options.openMs, silenceMs: SILENCE_MS };
  let stream: Stream;
  const version = new ListVersion(sink);
  const page = (continueToken: string | null): void => {
    let body: ListBody = listBody("json", options.shape, version);
    const request = { path: pathOf(options, continueToken), form: options.form };
    stream = new Stream(io, request, patience, {
      opened: (form) => {
        body = listBody(form, options.shape, version);
      },
      data: (chunk) => reading(() => body.push(chunk)),
      closed: (end) => {
        if (end.kind === "complete") reading(() => pageEnded(body.metadata()));
        else sink.closed(end);
      },
    });
  };
  const pageEnded = (metadata: JsonRecord): void => {
    const resourceVersion = textOf(metadata.resourceVersion);
    const continueToken = textOf(metadata.continue);
    if (resourceVersion !== null) version.check(resourceVersion);
    if (continueToken !== null) page(continueToken);
    else if (resourceVersion !== null) sink.closed({ kind: "listed", resourceVersion });
    else sink.closed({ kind: "failed", message: "the list has no metadata.resourceVersion", timedOut: false });
  };
  const reading = (read: () => void): void => {
    try {
      read();
    } catch (error) {
      const end = endOf(error);
      if (end === null) throw error;
      stream.abort();
      sink.closed(end);
    }
  };
  page(null);
  return { abort: () => stream.abort() };
}

/** A list of a version that its receiver does not accept. */
class OutdatedList extends Error {}

/** Checks the version of a list once, before its first item: servers send it in front. */
class ListVersion {
  readonly #sink: ListSink;
  #isChecked = false;

  constructor(sink: ListSink) {
    this.#sink = sink;
  }

  /** Passes on an item, whose list's metadata has arrived as far as `metadata` says. */
  item(raw: unknown, metadata: () => JsonRecord): void {
    if (!this.#isChecked) this.check(textOf(metadata().resourceVersion) ?? "");
    this.#sink.item(raw);
  }

  /** Throws OutdatedList for a version that is not accepted. */
  check(version: string): void {
    if (version === "" || this.#isChecked) return;
    this.#isChecked = true;
    if (this.#sink.accepts?.(version) !== false) return;
    throw new OutdatedList(`a list at version ${version} is older than what was shown before`);
  }
}

function endOf(error: unknown): ListEnd | null {
  if (error instanceof OutdatedList) return { kind: "outdated", message: error.message };
  if (!(error instanceof MalformedProtobuf)) return null;
  return { kind: "malformed", message: `a list in protobuf cannot be read: ${error.message}` };
}

/** One page while it arrives; `metadata` is called once, at its end. */
interface ListBody {
  push(chunk: Uint8Array): void;
  metadata(): JsonRecord;
}

function listBody(form: StreamForm, shape: Shape | null, version: ListVersion): ListBody {
  if (form === "protobuf" && shape !== null) {
    const list: ProtobufList = new ProtobufList(shape, (raw) => version.item(raw, () => list.received));
    return list;
  }
  const received = (): JsonRecord => recordOf(recordOf(parsed(`${scanner.rest()}]}`)).metadata);
  const scanner = new ListScanner((json) => version.item(parsed(json), received));
  return {
    push: (chunk) => scanner.push(chunk),
    metadata: () => recordOf(recordOf(parsed(scanner.rest())).metadata),
  };
}

function pathOf({ path, selectors, limit, fromCache }: ListOptions, continueToken: string | null): string {
  const query = new URLSearchParams(selectors);
  if (limit !== null) query.set("limit", String(limit));
  if (continueToken !== null) query.set("continue", continueToken);
  else if (fromCache) query.set("resourceVersion", "0");
  return `${path}?${query.toString()}`;
}
