/** The verb watch: turns the changes of a collection into the lines for one watcher. */
import type { Clock, Timer } from "../../../../protocols/ports.ts";
import { gone } from "../api-status.ts";
import type { StorageName } from "../resources.ts";
import { isOpen, isSelected, type Selection, selected } from "../store/selection.ts";
import type { Store } from "../store/store.ts";
import { Change, type ChangeType } from "../store/stored.ts";
import type { Renderer } from "../views/render.ts";

/** Receives a stream of bytes. */
export interface StreamSink {
  data(chunk: Uint8Array): void;
  end(): void;
  /** The connection breaks. */
  broken(): void;
}

/** The options of a watch. */
export interface WatchOptions {
  /** "" and "0" start with the present state; any other value starts after that revision. */
  readonly resourceVersion: string;
  readonly bookmarks: boolean;
  readonly timeoutMs: number;
  readonly bookmarkPeriodMs: number;
}

interface WatchParts {
  readonly selection: Selection;
  readonly options: WatchOptions;
  readonly renderer: Renderer;
  readonly store: Store;
  readonly clock: Clock;
  readonly sink: StreamSink;
  /** Called once when the stream ends, for any reason. */
  readonly closed: () => void;
}

/** The real server sends a last bookmark this long before a watch times out. */
const LAST_BOOKMARK_MS = 2_000;

/** Lines of the initial state per chunk: there may be a million. */
const LINES_PER_CHUNK = 1024;

/** One running watch. Lines are passed on at the end of the event loop's turn, several in one chunk. */
export class WatchStream {
  readonly #parts: WatchParts;
  readonly #plain: boolean;
  #pending: Uint8Array[] = [];
  #stopListening: () => void = () => undefined;
  /** The timers that are set; one name has one timer. */
  readonly #timers = new Map<"timeout" | "bookmark" | "last bookmark", Timer>();
  #state: "open" | "closed" = "open";
  #lagMs = 0;
  /** When the last line that is late leaves, on the monotonic clock: later ones do not overtake it. */
  #lateUntilMs = 0;
  #isDetached = false;

  constructor(parts: WatchParts) {
    this.#parts = parts;
    this.#plain = isOpen(parts.selection);
  }

  get storage(): StorageName {
    return this.#parts.selection.resource.storage;
  }

  /** Sends the state or the changes that the resourceVersion selects, then follows the changes. */
  start(): void {
    const collection = this.#parts.store.collection(this.#parts.selection.resource.storage);
    const from = this.#parts.options.resourceVersion;
    if (from === "" || from === "0") {
      for (const stored of selected(collection, this.#parts.selection)) {
        this.#see(new Change("ADDED", stored, null));
        if (this.#pending.length === LINES_PER_CHUNK) this.#flush();
      }
    } else {
      const missed = collection.history.after(Number(from));
      if (missed === null) {
        this.#expire(from);
        return;
      }
      for (const change of missed) this.#see(change);
    }
    // The client may have closed the watch while the initial state was sent.
    if (this.#state === "closed") return;
    this.#stopListening = collection.listen((change) => {
      if (change.now.revision > Number(from)) this.#see(change);
    });
    this.#timers.set(
      "timeout",
      this.#parts.clock.after(this.#parts.options.timeoutMs, () => this.cut("end")),
    );
    if (this.#parts.options.bookmarks) this.#startBookmarks();
  }

  /** Ends the stream from this side: in order, as at its timeout, or as a broken connection. */
  cut(how: "end" | "break"): void {
    if (this.#state === "closed") return;
    if (how === "end") this.#flush();
    this.abort();
    if (how === "end") this.#parts.sink.end();
    else this.#parts.sink.broken();
  }

  /** Stops without sending more: the client is gone. */
  abort(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#pending = [];
    this.#stopListening();
    for (const timer of this.#timers.values()) timer.cancel();
    this.#parts.closed();
  }

  /** Stays open until its timeout and sends nothing more: the server has lost its own watch of the store. */
  detach(): void {
    this.#isDetached = true;
  }

  /** Sends each line so much later from now on. What is infinitely late is lost, as in a watch of a stale cache. */
  lag(ms: number): void {
    this.#lagMs = ms;
  }

  #see(change: Change): void {
    const type = this.#typeFor(change);
    if (type === null) return;
    const { now, before } = change;
    const leaves = type === "DELETED" && change.type !== "DELETED" && before !== null;
    // An object that leaves the selection is shown as it last was in it.
    const shown = leaves ? new Change("DELETED", before.at(now.revision), null) : change;
    this.#send(this.#parts.renderer.line(type, shown));
  }

  /** The event for this watcher: a change that moves an object into or out of the selection adds or deletes it. */
  #typeFor(change: Change): ChangeType | null {
    const { type, now, before } = change;
    if (this.#plain) return this.#isInNamespace(change) ? type : null;
    const matched = before !== null && isSelected(this.#parts.selection, before);
    if (type === "DELETED") return matched || isSelected(this.#parts.selection, now) ? "DELETED" : null;
    const matches = isSelected(this.#parts.selection, now);
    if (matches) return matched ? "MODIFIED" : "ADDED";
    return matched ? "DELETED" : null;
  }

  #isInNamespace(change: Change): boolean {
    return this.#parts.selection.namespace === "" || this.#parts.selection.namespace === change.now.namespace;
  }

  #send(line: Uint8Array): void {
    if (this.#isDetached || this.#lagMs === Number.POSITIVE_INFINITY || this.#state === "closed") return;
    const { clock } = this.#parts;
    const nowMs = clock.monotonicMs();
    this.#lateUntilMs = Math.max(this.#lateUntilMs, nowMs + this.#lagMs);
    if (this.#lateUntilMs > nowMs) clock.after(this.#lateUntilMs - nowMs, () => this.#queue(line));
    else this.#queue(line);
  }

  #queue(line: Uint8Array): void {
    if (this.#state === "closed") return;
    this.#pending.push(line);
    if (this.#pending.length === 1) this.#parts.clock.soon(() => this.#flush());
  }

  #flush(): void {
    if (this.#pending.length === 0 || this.#state === "closed") return;
    const [first] = this.#pending;
    const chunk = this.#pending.length === 1 && first !== undefined ? first : Buffer.concat(this.#pending);
    this.#pending = [];
    this.#parts.sink.data(chunk);
  }

  #startBookmarks(): void {
    const { bookmarkPeriodMs, timeoutMs } = this.#parts.options;
    this.#bookmarkEvery(bookmarkPeriodMs);
    if (timeoutMs <= LAST_BOOKMARK_MS) return;
    this.#timers.set(
      "last bookmark",
      this.#parts.clock.after(timeoutMs - LAST_BOOKMARK_MS, () => this.#bookmark()),
    );
  }

  #bookmarkEvery(periodMs: number): void {
    const beat = (): void => {
      this.#bookmark();
      this.#bookmarkEvery(periodMs);
    };
    this.#timers.set("bookmark", this.#parts.clock.after(periodMs, beat));
  }

  /** A watch that was resumed at a version of the future gets no bookmark before then, as from kube-apiserver 1.20. */
  #bookmark(): void {
    if (this.#parts.store.revision < Number(this.#parts.options.resourceVersion)) return;
    this.#send(this.#parts.renderer.bookmark(this.#parts.store.revision));
  }

  #expire(from: string): void {
    const failure = gone(`too old resource version: ${from} (${this.#parts.store.revision})`);
    this.#send(Buffer.from(`${JSON.stringify({ type: "ERROR", object: failure.status() })}\n`));
    this.#parts.clock.soon(() => this.cut("end"));
  }
}
