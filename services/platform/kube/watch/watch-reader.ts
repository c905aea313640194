/**
 * The reflector: lists a resource, watches it, and retries for ever, as callbacks on a clock and a wire. What the
 * objects mean is decided elsewhere.
 */
import type { WatchState } from "../../../../protocols/objects.ts";
import type { Io, Stop, Watch, WatchSink, Wire } from "../../../../protocols/ports.ts";
import { retryPauseMs } from "../../structures/retry-schedule.ts";
import { isExpired, type Refusal } from "../transport/outcome.policy.ts";
import type { ApiReachability } from "../transport/reachability.ts";
import { isServed } from "./discovery.ts";
import { type ListEnd, startListing } from "./listing.ts";
import type { ProjectionIo } from "./projection.ts";
import { LineSplitter, Stream, type StreamEnd, type StreamForm, type StreamPatience } from "./stream.ts";
import { NEVER_SYNCED, type SyncState, syncLost, syncRegained } from "./sync-state.policy.ts";
import { WatchStore } from "./watch-store.ts";
import type { WatchedResource } from "./watched.ts";

/**
 * Why a list began: the first one, a retry, an expired resourceVersion, a caller that suspects a gap in the watch, or
 * one that needs other fields of the objects.
 */
export type ListReason = "start" | "retry" | "expired" | "suspect" | "refresh";

/** The ports and settings of a reader. */
export interface ReaderIo extends Pick<Io, "clock" | "random" | "log"> {
  readonly wire: Wire;
  readonly projection: ProjectionIo;
  /** A watch that is not synced for longer than this starts its synced time again. */
  readonly watchBlindMs: number;
  /** Whether this process reaches the API server; null when it is not measured. */
  readonly reachability: Pick<ApiReachability, "isCutOff" | "answeredMs" | "follow"> | null;
  /** Counts each list by its reason, and each line of a watch. */
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
 * A watch asks the server to end it after 5 to 10 minutes, so that watches spread over the servers (client-go's
 * reflector).
 */
const WATCH_SECONDS_MIN = 300;
/** A watch that ends sooner counts as a failure. Otherwise a server that ends each at once would cause a busy loop. */
const STEADY_MS = 5_000;
/** After a break, missed events arrive right behind the response; the watch is synced again after this. */
const SETTLE_MS = 500;
/** How often an API server that does not serve a resource is asked again, in milliseconds. */
const ABSENT_RECHECK_MS = 30_000;
/** Longer pauses would by themselves exceed watchBlindMs. */
const BACKOFF = { baseMs: 200, maxMs: 5_000 };
/** Refusals after which the same watch can be resumed. After any other, what was missed must be listed. */
const RESUMABLE: ReadonlySet<number> = new Set([401, 403, 429, 500, 502, 503]);

type End = ListEnd | StreamEnd;

/** Keeps one resource synced. */
export class Reader<T> implements Watch<T> {
  readonly #name: string;
  readonly #resource: WatchedResource<T>;
  readonly #io: ReaderIo;
  readonly #store: WatchStore<T>;
  #sync: SyncState = NEVER_SYNCED;
  /** Whether the present loss was detected some time after it began. */
  #wasLostLate = false;
  #resourceVersion: string | null = null;
  #confirmedAtMs: number | null = null;
  #openedAtMs: number | null = null;
  #failures = 0;
  #pageItems: number | null = PAGE_ITEMS;
  /** JSON for good where the server offers nothing else, or once a protobuf list could not be decoded. */
  #listForm: StreamForm;
  /** Whether a list is in flight or follows the present pause. A relist request then has nothing to do. */
  #listing = false;
  #trouble = "";
  /** Ends the list, watch or pause that is in progress. */
  #cease: () => void = () => {};
  #settling: () => void = () => {};
  readonly #stopFollowing: Stop;
  /** A listener may stop it in the middle of anything that publishes: nothing is requested after that. */
  #isStopped = false;

  constructor(name: string, resource: WatchedResource<T>, sink: WatchSink<T>, io: ReaderIo) {
    this.#name = name;
    this.#resource = resource;
    this.#io = io;
    this.#store = new WatchStore(resource, sink, io.projection, io.log);
    this.#listForm = resource.shape === null ? "json" : "protobuf";
    this.#stopFollowing = io.reachability?.follow(() => this.#distrustIfCutOff()) ?? (() => {});
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

  relist(reason: string): void {
    if (this.#listing) return;
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
    this.#stopFollowing();
    this.#store.close();
    this.#cease();
    this.#settling();
  }

  #list(reason: ListReason): void {
    if (this.#isStopped) return;
    this.#cease();
    this.#settling();
    this.#openedAtMs = null;
    this.#listing = true;
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
    // The first list may come from a cache. A later one must not be older than what was already published, so it
    // requests the newest.
    const fromCache = this.#resourceVersion === null;
    const options = { path, selectors, form: this.#listForm, shape, fromCache, limit: this.#pageItems, openMs };
    const listing = startListing(this.#io, options, {
      item: (raw) => this.#store.listItem(raw),
      closed: (end) => this.#listClosed(end),
    });
    this.#cease = () => listing.abort();
  }

  #listClosed(end: ListEnd): void {
    if (end.kind !== "listed") {
      // The server compacted its history between pages: the next list is one page.
      if (end.kind === "refused" && isExpired(end.refusal)) this.#pageItems = null;
      if (end.kind === "malformed") {
        this.#io.projection.problem("list");
        this.#listForm = "json";
      }
      this.#pause(end, () => this.#list("retry"));
      return;
    }
    this.#listing = false;
    this.#pageItems = PAGE_ITEMS;
    this.#resourceVersion = end.resourceVersion;
    this.#store.listEnds();
    this.#confirmed();
    this.#regained();
    this.#watch();
  }

  #watch(): void {
    if (this.#isStopped) return;
    this.#openedAtMs = null;
    const lines = new LineSplitter();
    const request = { path: this.#watchPath(), form: "json", gatherMs: this.#resource.gatherMs } as const;
    const stream = new Stream(this.#io, request, WATCH_PATIENCE, {
      opened: () => this.#opened(),
      data: (chunk, waitedMs) => lines.push(chunk, (line) => this.#line(line, waitedMs)),
      closed: (end) => this.#watchClosed(end),
    });
    this.#cease = () => stream.abort();
  }

  #watchPath(): string {
    const query = new URLSearchParams(this.#resource.selectors);
    query.set("watch", "true");
    query.set("allowWatchBookmarks", "true");
    query.set("resourceVersion", this.#resourceVersion ?? "");
    query.set("timeoutSeconds", String(Math.floor(WATCH_SECONDS_MIN * (1 + this.#io.random()))));
    return `${this.#resource.path}?${query.toString()}`;
  }

  #opened(): void {
    this.#openedAtMs = this.#nowMs();
    if (this.#sync.synced) return;
    const timer = this.#io.clock.after(SETTLE_MS, () => this.#regained());
    this.#settling = () => timer.cancel();
  }

  #line(bytes: Uint8Array, waitedMs: number): void {
    if (this.#openedAtMs === null || bytes.length === 0) return;
    this.#io.count.line();
    const meaning = this.#store.line(bytes, waitedMs);
    if (meaning.kind === "malformed") this.#expire("a line of the watch could not be read");
    else if (meaning.kind === "error") this.#refuse(meaning.refusal);
    else {
      this.#confirmed();
      const before = this.#resourceVersion;
      this.#resourceVersion = meaning.resourceVersion ?? before;
      if (meaning.kind === "bookmark" && wentBack(before, meaning.resourceVersion)) {
        this.#expire(`the server went back from ${before} to ${meaning.resourceVersion}`);
      }
    }
  }

  /**
   * An open watch on a link that carries no request may have missed anything since the last response. It is reopened
   * instead of waiting for its next bookmark.
   */
  #distrustIfCutOff(): void {
    const { reachability } = this.#io;
    if (reachability === null || !reachability.isCutOff || this.#openedAtMs === null) return;
    this.#cease();
    this.#settling();
    this.#openedAtMs = null;
    const message = "the API server answers no request";
    this.#lost(Math.max(this.#confirmedAtMs ?? 0, reachability.answeredMs), message);
    this.#pause({ kind: "failed", message, timedOut: false }, () => this.#watch());
  }

  #refuse(refusal: Refusal): void {
    this.#cease();
    this.#watchClosed({ kind: "refused", refusal });
  }

  #expire(message: string): void {
    this.#refuse({ status: 410, isStatus: true, reason: "Expired", message, retryAfterMs: null, fields: [] });
  }

  #watchClosed(end: StreamEnd): void {
    this.#settling();
    const steady = this.#openedAtMs !== null && this.#nowMs() - this.#openedAtMs >= STEADY_MS;
    this.#openedAtMs = null;
    if (steady) this.#failures = 0;
    const relist = end.kind === "refused" && !RESUMABLE.has(end.refusal.status);
    this.#listing = relist;
    if (relist) this.#pause(end, () => this.#list("expired"));
    else if (steady && (end.kind === "complete" || end.kind === "silent")) this.#watch();
    else this.#pause(end, () => this.#watch());
  }

  /** Waits after a failure with full jitter, longer when the server asks for it. */
  #pause(end: End, resume: () => void): void {
    const silent = end.kind === "silent" || (end.kind === "failed" && end.timedOut);
    const lostAtMs = silent && this.#confirmedAtMs !== null ? this.#confirmedAtMs : this.#nowMs();
    this.#lost(lostAtMs, troubleOf(end));
    this.#failures++;
    const jitterMs = retryPauseMs(this.#failures, { ...BACKOFF, random: this.#io.random });
    const askedMs = end.kind === "refused" ? (end.refusal.retryAfterMs ?? 0) : 0;
    const timer = this.#io.clock.after(Math.max(jitterMs, askedMs), resume);
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

function wentBack(before: string | null, now: string | null): boolean {
  return before !== null && now !== null && Number(now) < Number(before);
}

function troubleOf(end: End): string {
  if (end.kind === "refused") return end.refusal.message;
  return end.kind === "complete" || end.kind === "listed" ? "the server closed the watch at once" : end.message;
}
