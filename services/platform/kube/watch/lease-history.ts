/**
 * What the API server still knows of past renewals: a watch of the node leases that begins at an old resourceVersion
 * brings every change since. It ends once it has caught up with what the server had when it began.
 */
import { LEASE_NAMESPACE } from "../../../../protocols/names.ts";
import type { Io, LeaseRenewal, ObservedLease, WatchSink, Wire } from "../../../../protocols/ports.ts";
import { isOlderVersion } from "../../../structures/resource-version.ts";
import { collectionPath } from "../transport/paths.ts";
import { UNREPORTED } from "./projection.ts";
import { readStoreVersion } from "./store-state.ts";
import { LineSplitter, Stream, type StreamEnd } from "./stream.ts";
import { WatchStore } from "./watch-store.ts";
import { WATCHED } from "./watched.ts";

/** The most renewals of one history: five minutes of 600 nodes. */
export const LEASE_HISTORY_MAX = 20_000;
/** How long all of it may take, in milliseconds. */
const TIMEOUT_MS = 5_000;
/** A server sends at once what it has: after this long without an event, in milliseconds, nothing more comes. */
const QUIET_MS = 1_000;

const PATH = collectionPath("Lease", LEASE_NAMESPACE);

interface HistoryIo extends Pick<Io, "clock" | "log"> {
  readonly wire: Wire;
}

type Done = (renewals: readonly LeaseRenewal[] | null) => void;

/** Collects the renewals after a resourceVersion; see `Kube.leaseHistory`. */
export function readLeaseHistory(io: HistoryIo, fromVersion: string, done: Done): void {
  const history = new LeaseHistory(io, fromVersion, done);
  readStoreVersion(io, { path: PATH, selectors: {} }, (store) => {
    // A version of the future is from another store: this one went back in time, and its events happened after that.
    if (store.kind === "unknown" || isOlderVersion(store.version, fromVersion)) history.end("unknown");
    else if (store.version === fromVersion) history.end("caught up");
    else history.watch(store.version);
  });
}

/** One history while it is collected. */
class LeaseHistory {
  readonly #io: HistoryIo;
  readonly #fromVersion: string;
  readonly #renewals: LeaseRenewal[] = [];
  readonly #timer: { cancel(): void };
  #done: Done | null;
  #stream: Stream | null = null;
  #isOpen = false;

  constructor(io: HistoryIo, fromVersion: string, done: Done) {
    this.#io = io;
    this.#fromVersion = fromVersion;
    this.#done = done;
    this.#timer = io.clock.after(TIMEOUT_MS, () => this.end(this.#isOpen ? "caught up" : "unknown"));
  }

  /** Calls `done` once: with what was collected, or with null. */
  end(how: "caught up" | "unknown"): void {
    const done = this.#done;
    this.#done = null;
    this.#timer.cancel();
    this.#stream?.abort();
    done?.(how === "caught up" ? this.#renewals : null);
  }

  /** Reads the changes up to `toVersion`. */
  watch(toVersion: string): void {
    if (this.#done === null) return;
    const query = { watch: "true", allowWatchBookmarks: "true", resourceVersion: this.#fromVersion };
    const request = { path: `${PATH}?${new URLSearchParams(query).toString()}`, form: "json" } as const;
    const sink: WatchSink<ObservedLease> = {
      changed: ({ node, renewedAt }) => this.#renewals.push({ node, renewTime: renewedAt }),
      gone: () => {},
      state: () => {},
    };
    const store = new WatchStore(WATCHED.leases, sink, UNREPORTED, this.#io.log);
    const lines = new LineSplitter();
    this.#stream = new Stream(
      this.#io,
      request,
      { openMs: TIMEOUT_MS, silenceMs: QUIET_MS },
      {
        opened: () => {
          this.#isOpen = true;
        },
        data: (chunk) => lines.push(chunk, (line) => this.#line(line, store, toVersion)),
        closed: (end) => this.#closed(end),
      },
    );
  }

  #line(bytes: Uint8Array, store: WatchStore<ObservedLease>, toVersion: string): void {
    if (this.#done === null || bytes.length === 0) return;
    const meaning = store.line(bytes);
    if (meaning.kind === "error" || meaning.kind === "malformed") {
      this.end("unknown");
      return;
    }
    const { resourceVersion } = meaning;
    const hasCaughtUp = resourceVersion !== null && !isOlderVersion(resourceVersion, toVersion);
    if (hasCaughtUp || this.#renewals.length >= LEASE_HISTORY_MAX) this.end("caught up");
  }

  /** A silence ends a history that has begun; any other end may have cut it off. */
  #closed(end: StreamEnd): void {
    this.end(end.kind === "silent" && this.#isOpen ? "caught up" : "unknown");
  }
}
