/**
 * The reflector: lists a resource, watches it, and retries for ever, as callbacks on a clock and a wire. What the
 * objects mean is decided elsewhere. A watch is judged by what it shows, not by being open: a server whose etcd was
 * restored from a backup accepts a watch at a version of the future, and never sends anything (kube-apiserver 1.20.2).
 */
import type { WatchState } from "../../../../protocols/objects.ts";
import type { Io, Stop, Watch, WatchSink, Wire } from "../../../../protocols/ports.ts";
import { isOlderVersion } from "../../../structures/resource-version.ts";
import { isExpired, type Refusal } from "../transport/outcome.policy.ts";
import type { ApiReachability } from "../transport/reachability.ts";
import { type ListEnd, startListing } from "./listing.ts";
import type { ProjectionIo } from "./projection.ts";
import type { ProvableWatch, ProvenWatch } from "./proven-watch.ts";
import type { ShownVersions } from "./shown-versions.ts";
import { isServed, StoreCheck } from "./store-state.ts";
import { LineSplitter, Stream, type StreamEnd, type StreamForm, type StreamPatience } from "./stream.ts";
import {
  NEVER_SYNCED,
  type ReaderEnd,
  readerPauseMs,
  type SyncState,
  syncLost,
  syncRegained,
  troubleOf,
} from "./watch-reader.policy.ts";
import { WatchStore } from "./watch-store.ts";
import type { WatchedResource } from "./watched.ts";

/**
 * Why a list began: the first one, a retry, an expired resourceVersion, a caller that suspects a gap in the watch, one
 * that needs other fields of the objects, a server whose store went back, or a watch that stays open and silent.
 */
export type ListReason = "start" | "retry" | "expired" | "suspect" | "refresh" | "restored" | "silent";

/** The ports and settings of a reader. */
export interface ReaderIo<T> extends Pick<Io, "clock" | "random" | "log"> {
  readonly wire: Wire;
  readonly projection: ProjectionIo;
  /** A watch that is not synced for longer than this starts its synced time again. */
  readonly watchBlindMs: number;
  readonly shown: ShownVersions;
  /** What proves this watch; null where nothing reads its objects live. */
  readonly proven: Pick<ProvenWatch<T>, "enter" | "leave" | "showed"> | null;
  /** Whether this process reaches the API server; null when it is not measured. */
  readonly reachability: Pick<ApiReachability, "isCutOff" | "answeredMs" | "follow"> | null;
  readonly count: { list(reason: ListReason): void; line(): void };
}

/** Items per page of a list, as in client-go's pager. */
const PAGE_ITEMS = 500;
/**
 * A server accepts a watch at once and sends a bookmark about every minute. Half a minute after a missing one the watch
 * is suspect.
 */
const WATCH_PATIENCE: StreamPatience = { openMs: 15_000, silenceMs: 90_000 };
/**
 * A watch that is not answered within this time counts as lost since the one before, or its list, ended: meanwhile
 * anything may have happened. A server under load answers within it; a slower one makes the reader blind for as long.
 */
const UNANSWERED_MS = 2_000;
/**
 * A watch asks the server to end it after 5 to 10 minutes, so that watches spread over the servers (client-go's
 * reflector).
 */
const WATCH_SECONDS_MIN = 300;
/** A watch that ends sooner counts as a failure. Otherwise a server that ends each at once would cause a busy loop. */
const STEADY_MS = 5_000;
/**
 * Missed events arrive right behind the response. A reopened watch that has shown something newer within this time is
 * synced; of any other the server's version is read first.
 */
const SETTLE_MS = 500;
/** How often discovery of a resource that the API server does not serve is retried, in milliseconds. */
const ABSENT_RECHECK_MS = 30_000;
/**
 * A watch that has shown nothing newer for this long, while the server has something newer, is verified by a list. A
 * bookmark that names the same version again shows nothing. The objects may just not have changed: then they are few,
 * and the list shows nothing new.
 */
const SHOWN_NOTHING_MS = 2 * WATCH_PATIENCE.silenceMs;
/** Refusals after which the same watch can be resumed. After any other, what was missed must be listed. */
const RESUMABLE: ReadonlySet<number> = new Set([401, 403, 429, 500, 502, 503]);

/** Keeps one resource synced. */
export class Reader<T> implements Watch<T>, ProvableWatch<T> {
  readonly #name: string;
  readonly #resource: WatchedResource<T>;
  readonly #io: ReaderIo<T>;
  readonly #store: WatchStore<T>;
  #sync: SyncState = NEVER_SYNCED;
  /** Whether the present loss was detected some time after it began. */
  #wasLostLate = false;
  #resourceVersion: string | null = null;
  #confirmedAtMs: number | null = null;
  #openedAtMs: number | null = null;
  /** When something newer was last shown, by a list or a watch. */
  #newerAtMs = Number.NEGATIVE_INFINITY;
  /** Finds out whether the server is at least as new as what was shown; null once that is known. */
  #check: StoreCheck | null = null;
  #failures = 0;
  #pageItems: number | null = PAGE_ITEMS;
  /** JSON for good where the server offers nothing else, or once a protobuf list could not be decoded. */
  #listForm: StreamForm;
  /** Whether a list is in flight or follows the present pause. A relist request then has nothing to do. */
  #listing = false;
  /** Whether the list in flight only verifies a watch that still counts as synced. */
  #isVerifying = false;
  #trouble = "";
  /** Ends the list, watch or pause that is in progress. */
  #cease: () => void = () => {};
  #settling: () => void = () => {};
  #readAtOnce: (forMs: number) => void = () => {};
  readonly #stops: readonly Stop[];
  /** A listener may stop it in the middle of anything that publishes: nothing is requested after that. */
  #isStopped = false;

  constructor(name: string, resource: WatchedResource<T>, sink: WatchSink<T>, io: ReaderIo<T>) {
    this.#name = name;
    this.#resource = resource;
    this.#io = io;
    this.#store = new WatchStore(resource, sink, io.projection, io.log);
    this.#listForm = resource.shape === null ? "json" : "protobuf";
    this.#stops = [
      io.reachability?.follow(() => this.#distrustIfCutOff()) ?? (() => {}),
      io.shown.follow(() => this.#suspectOpenWatch()),
    ];
    io.proven?.enter(this);
    this.#list("start");
  }

  state(): WatchState {
    const { synced, sinceMs, lostAtMs } = this.#sync;
    const lost = this.#wasLostLate && lostAtMs !== null ? { lostAt: this.#wallMsOf(lostAtMs) } : {};
    return { synced, since: synced && sinceMs !== null ? this.#wallMsOf(sinceMs) : null, ...lost };
  }

  held(namespace: string, name: string): T | null {
    return this.#store.held(namespace, name);
  }

  confirmedAt(): number | null {
    return this.#confirmedAtMs === null ? null : this.#wallMsOf(this.#confirmedAtMs);
  }

  version(): string | null {
    return this.#resourceVersion;
  }

  isTrusted(): boolean {
    return this.#openedAtMs !== null && this.#sync.synced && this.#check === null && this.#store.isRead;
  }

  readAtOnce(forMs: number): void {
    this.#readAtOnce(forMs);
  }

  suspect(): void {
    this.#suspectOpenWatch();
  }

  relist(reason: string): void {
    if (this.#listing && !this.#isVerifying) return;
    this.#lost(this.#confirmedAtMs ?? this.#nowMs(), `relist requested: ${reason}`);
    this.#list("suspect");
  }

  refresh(reason: string): void {
    this.#io.log.info(`the ${this.#name} are listed again: ${reason}`);
    const wasSynced = this.#sync.synced;
    this.#sync = syncLost(this.#sync, this.#nowMs());
    if (wasSynced) this.#store.publishState(this.state());
    this.#list("refresh");
  }

  stop(): void {
    this.#isStopped = true;
    for (const stop of this.#stops) stop();
    this.#io.proven?.leave(this);
    this.#recordShown();
    this.#store.close();
    this.#end();
  }

  #end(): void {
    this.#cease();
    this.#settling();
    this.#check?.stop();
    this.#check = null;
    this.#openedAtMs = null;
  }

  #list(reason: ListReason): void {
    if (this.#isStopped) return;
    this.#end();
    this.#listing = true;
    this.#isVerifying = reason === "silent" && this.#sync.synced;
    const { discovery } = this.#resource;
    if (discovery === null) this.#startList(reason);
    else this.#discover(discovery, reason);
  }

  /**
   * Lists a resource only if the API server serves it. A list alone cannot tell: without the right to list it, a
   * resource that does not exist is forbidden like any other.
   */
  #discover(discovery: NonNullable<WatchedResource<T>["discovery"]>, reason: ListReason): void {
    let isOpen = true;
    this.#cease = () => {
      isOpen = false;
    };
    isServed(this.#io, discovery, (answer) => {
      if (!isOpen) return;
      if (answer.kind === "served") this.#startList(reason);
      else if (answer.kind === "absent") this.#absent();
      else this.#pause(answer.end, () => this.#list("retry"));
    });
  }

  #absent(): void {
    this.#resourceVersion = null;
    this.#failures = 0;
    this.#sync = syncLost(this.#sync, this.#nowMs());
    this.#store.publishAbsent();
    const timer = this.#io.clock.after(ABSENT_RECHECK_MS, () => this.#list("retry"));
    this.#cease = () => timer.cancel();
  }

  #startList(reason: ListReason): void {
    this.#io.count.list(reason);
    this.#store.listBegins();
    const { path, shape, listSelectors: selectors, listOpenMs: openMs } = this.#resource;
    // The first list of the process may come from a cache. A later one must not be older than what was already
    // published, so it requests the newest.
    this.#recordShown();
    const fromCache = this.#io.shown.of(path) === null;
    const options = { path, selectors, form: this.#listForm, shape, fromCache, limit: this.#pageItems, openMs };
    const listing = startListing(this.#io, options, {
      accepts: (version) => this.#acceptsList(version),
      item: (raw) => this.#store.listItem(raw),
      closed: (end) => this.#listClosed(end),
    });
    this.#cease = () => listing.abort();
  }

  /** A list may not be older than what was shown, unless the store is known to have gone back. */
  #acceptsList(version: string): boolean {
    const { path } = this.#resource;
    const shown = this.#io.shown.of(path);
    if (shown !== null && isOlderVersion(version, shown)) return false;
    this.#io.shown.record(path, version);
    return true;
  }

  #recordShown(): void {
    if (this.#resourceVersion !== null) this.#io.shown.record(this.#resource.path, this.#resourceVersion);
  }

  #listClosed(end: ListEnd): void {
    if (end.kind !== "listed") {
      // The server compacted its history between pages: the next list is one page.
      if (end.kind === "refused" && isExpired(end.refusal)) this.#pageItems = null;
      if (end.kind === "malformed") {
        this.#io.projection.problem("list");
        this.#listForm = "json";
      }
      this.#pause(end, () => (end.kind === "outdated" ? this.#checkOutdated() : this.#list("retry")));
      return;
    }
    this.#listing = false;
    this.#pageItems = PAGE_ITEMS;
    this.#resourceVersion = end.resourceVersion;
    this.#newerAtMs = this.#nowMs();
    const missed = this.#store.listEnds();
    if (this.#isVerifying && missed > 0) {
      const trouble = `it stayed open and showed nothing, while ${missed} objects changed`;
      this.#lost(this.#confirmedAtMs ?? this.#nowMs(), trouble);
    }
    this.#isVerifying = false;
    this.#confirmed();
    this.#regained();
    this.#watch(false);
  }

  /** After a list that is older than what was shown: either it came from a stale server, or the store went back. */
  #checkOutdated(): void {
    this.#startCheck((version) => {
      const shown = this.#io.shown.of(this.#resource.path) ?? "";
      if (isOlderVersion(version, shown)) this.#restored(shown, version);
      else this.#list("retry");
    });
  }

  /**
   * Opens the watch; a reopened one may meet another server, or the same server with a restored store. The shown state
   * was complete at `completeMs`.
   */
  #watch(isReopened: boolean, completeMs = this.#nowMs()): void {
    if (this.#isStopped) return;
    this.#end();
    if (this.#sync.synced) this.#expectAnswer(completeMs);
    const lines = new LineSplitter();
    const request = { path: this.#watchPath(), form: "json", gatherMs: this.#resource.gatherMs } as const;
    const stream = new Stream(this.#io, request, WATCH_PATIENCE, {
      opened: () => this.#opened(isReopened),
      data: (chunk, waitedMs) => lines.push(chunk, (line) => this.#line(line, waitedMs)),
      closed: (end) => this.#watchClosed(end),
    });
    this.#cease = () => stream.abort();
    this.#readAtOnce = (forMs) => stream.readAtOnce(forMs);
  }

  #expectAnswer(completeMs: number): void {
    const trouble = "the API server has not answered yet";
    const timer = this.#io.clock.after(UNANSWERED_MS, () => this.#lost(completeMs, trouble));
    this.#settling = () => timer.cancel();
  }

  #watchPath(): string {
    const query = new URLSearchParams(this.#resource.selectors);
    query.set("watch", "true");
    query.set("allowWatchBookmarks", "true");
    query.set("resourceVersion", this.#resourceVersion ?? "");
    query.set("timeoutSeconds", String(Math.floor(WATCH_SECONDS_MIN * (1 + this.#io.random()))));
    return `${this.#resource.path}?${query.toString()}`;
  }

  #opened(isReopened: boolean): void {
    const openedAtMs = this.#nowMs();
    this.#openedAtMs = openedAtMs;
    this.#settling();
    if (!isReopened && this.#sync.synced) return;
    const timer = this.#io.clock.after(SETTLE_MS, () => {
      if (this.#newerAtMs >= openedAtMs) this.#regained();
      else this.#checkOpenWatch();
    });
    this.#settling = () => timer.cancel();
  }

  /** Finds out whether the server of the open watch is as new as what was shown. */
  #checkOpenWatch(): void {
    this.#startCheck((version) => {
      const shown = this.#resourceVersion ?? "";
      if (isOlderVersion(version, shown)) this.#restored(shown, version);
      else if (!isOlderVersion(shown, version)) this.#upToDate();
      else if (this.#isQuiet()) this.#list("silent");
      else this.#regained();
    });
  }

  #upToDate(): void {
    this.#newerAtMs = this.#nowMs();
    this.#regained();
  }

  #isQuiet(): boolean {
    return this.#nowMs() - this.#newerAtMs >= SHOWN_NOTHING_MS;
  }

  /** Checks a watch that is open as if nothing had happened. */
  #suspectOpenWatch(): void {
    const isSettled = this.#openedAtMs !== null && this.#sync.synced;
    if (isSettled && this.#check === null) this.#checkOpenWatch();
  }

  #startCheck(known: (version: string) => void): void {
    const { path, listSelectors: selectors } = this.#resource;
    const { wire, clock, random } = this.#io;
    const failed = (end: ReaderEnd): void => {
      const trouble = `how new the API server is, is not known: ${troubleOf(end)}`;
      this.#lost(this.#openedAtMs ?? this.#nowMs(), trouble);
    };
    this.#check = new StoreCheck({ wire, clock, random, path, selectors }, { known, failed });
  }

  /** The store is older than the shown state: what it shows now is all that exists. */
  #restored(shown: string, version: string): void {
    const trouble = `the API server went back from version ${shown} to ${version}: all is listed again`;
    this.#lost(this.#confirmedAtMs ?? this.#nowMs(), trouble);
    this.#resourceVersion = version;
    this.#io.shown.wentBack(this.#resource.path, version);
    this.#list("restored");
  }

  #line(bytes: Uint8Array, waitedMs: number): void {
    if (this.#openedAtMs === null || bytes.length === 0) return;
    this.#io.count.line();
    const meaning = this.#store.line(bytes, waitedMs);
    if (meaning.kind === "malformed") this.#expire("a line of the watch could not be read");
    else if (meaning.kind === "error") this.#refuse(meaning.refusal);
    else {
      this.#confirmed();
      this.#showed(meaning.kind, meaning.resourceVersion);
    }
  }

  #showed(kind: "event" | "bookmark", version: string | null): void {
    const before = this.#resourceVersion;
    if (version === null) return;
    if (version === before) {
      if (this.#isQuiet()) this.#suspectOpenWatch();
      return;
    }
    if (before !== null && isOlderVersion(version, before)) {
      if (kind === "bookmark") this.#expire(`the server went back from ${before} to ${version}`);
      return;
    }
    this.#resourceVersion = version;
    this.#newerAtMs = this.#nowMs();
    if (this.#check !== null) this.#regained();
    this.#io.proven?.showed(this);
  }

  /**
   * An open watch on a link that carries no request may have missed anything since the last response. It is reopened
   * instead of waiting for its next bookmark.
   */
  #distrustIfCutOff(): void {
    const { reachability } = this.#io;
    if (reachability === null || !reachability.isCutOff || this.#openedAtMs === null) return;
    this.#end();
    const message = "the API server answers no request";
    this.#lost(Math.max(this.#confirmedAtMs ?? 0, reachability.answeredMs), message);
    this.#pause({ kind: "failed", message, timedOut: false }, () => this.#watch(true));
  }

  #refuse(refusal: Refusal): void {
    this.#cease();
    this.#watchClosed({ kind: "refused", refusal });
  }

  #expire(message: string): void {
    this.#refuse({ status: 410, isStatus: true, reason: "Expired", message, retryAfterMs: null, fields: [] });
  }

  #watchClosed(end: StreamEnd): void {
    const openMs = this.#openedAtMs === null ? 0 : this.#nowMs() - this.#openedAtMs;
    const steady = openMs >= STEADY_MS;
    this.#end();
    if (steady) this.#failures = 0;
    const relist = end.kind === "refused" && !RESUMABLE.has(end.refusal.status);
    this.#listing = relist;
    if (relist) this.#pause(end, () => this.#list("expired"));
    else if (steady && end.kind === "complete") this.#watch(true);
    else if (steady && end.kind === "silent") this.#watch(true, this.#confirmedAtMs ?? this.#nowMs());
    else this.#pause(end, () => this.#watch(true));
  }

  /** Waits after a failure with full jitter, longer when the server requests it. */
  #pause(end: ReaderEnd, resume: () => void): void {
    const silent = end.kind === "silent" || (end.kind === "failed" && end.timedOut);
    const lostAtMs = silent && this.#confirmedAtMs !== null ? this.#confirmedAtMs : this.#nowMs();
    this.#lost(lostAtMs, troubleOf(end));
    this.#failures++;
    this.#isVerifying = false;
    const timer = this.#io.clock.after(readerPauseMs(end, this.#failures, this.#io.random), resume);
    this.#cease = () => timer.cancel();
  }

  #lost(lostAtMs: number, trouble: string): void {
    const wasSynced = this.#sync.synced;
    this.#sync = syncLost(this.#sync, lostAtMs);
    this.#wasLostLate ||= lostAtMs < this.#nowMs();
    if (this.#trouble !== trouble) this.#io.log.warn(`the watch of ${this.#name} is broken: ${trouble}`);
    this.#trouble = trouble;
    if (wasSynced) this.#store.publishState(this.state());
  }

  #regained(): void {
    this.#check?.stop();
    this.#check = null;
    const { synced, lostAtMs } = this.#sync;
    this.#wasLostLate = false;
    this.#sync = syncRegained(this.#sync, this.#nowMs(), this.#io.watchBlindMs);
    if (this.#trouble !== "") {
      const blindMs = lostAtMs === null ? null : Math.round(this.#nowMs() - lostAtMs);
      this.#io.log.info(`the watch of ${this.#name} is synced again`, { blindMs });
      this.#trouble = "";
    }
    if (!synced) this.#store.publishState(this.state());
  }

  #confirmed(): void {
    this.#confirmedAtMs = this.#nowMs();
  }

  #nowMs(): number {
    return this.#io.clock.monotonicMs();
  }

  /** Converted on each call, so that a step of the wall clock moves no past instant. */
  #wallMsOf(monotonicMs: number): number {
    return this.#io.clock.wallMs() - (this.#nowMs() - monotonicMs);
  }
}
