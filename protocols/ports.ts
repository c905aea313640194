/** The ports through which services touch the world. Adapters live in services/platform; nothing here has behaviour. */
import type { BodyOf, Message, MessageType } from "./messages.ts";
import type { ObservedNode, ObservedPod, WatchState } from "./objects.ts";
import type { Profile } from "./profile.ts";

/** A timer that has not fired yet. */
export interface Timer {
  /** Stops it; nothing happens when it has fired or was cancelled. */
  cancel(): void;
}

/** Time. Durations are measured on the monotonic clock, API stamps are taken from the wall clock. */
export interface Clock {
  /** Milliseconds on a clock that never steps; only differences have meaning. */
  monotonicMs(): number;
  /** Epoch milliseconds on the wall clock; may step. */
  wallMs(): number;
  /** Calls `fire` once, not before `delayMs` have passed. Timers due at one instant fire in the order they were set. */
  after(delayMs: number, fire: () => void): Timer;
  /** Calls `run` as soon as the present actor has finished its message. */
  soon(run: () => void): void;
}

/** Chance: a number in [0, 1). */
export type Random = () => number;

/** Ends whatever returned it: a subscription, a watch, a service. */
export type Stop = () => void;

/**
 * The typed message bus of one service. Publishing never waits and never throws for a lost connection: messages may be
 * lost. Of one stream (one publisher's messages of one type on one shard) handlers see increasing sequences only:
 * doubled and overtaken messages are dropped and counted, a gap is reported.
 */
export interface Bus {
  /** Sends a message caused by `cause`. Returns its id, or null when it is too large for one and is not sent. */
  publish<T extends MessageType>(type: T, body: BodyOf<T>, cause: string | null): string | null;
  /** Calls `receive` for every message of a type on one shard or on all. */
  subscribe<T extends MessageType>(type: T, shard: number | "all", receive: (message: Message<T>) => void): Stop;
  /** Keeps the last message of each subject of a type, undecoded, for a reader that looks less often than they come. */
  latest<T extends MessageType>(type: T): Latest<T>;
  /** Calls `lost` when messages of a subscribed stream went missing. */
  onGap(lost: (type: MessageType, shard: number) => void): Stop;
  /** Whether messages can travel now. */
  connected(): boolean;
}

/** The last message of each subject of one type. */
export interface Latest<T extends MessageType> {
  /** Those that came since the last call, each with its arrival on the monotonic clock. */
  take(): readonly { readonly message: Message<T>; readonly receivedMs: number }[];
  readonly stop: Stop;
}

/** Bytes on subjects: what an adapter (memory, NATS, simulated network) provides beneath the typed bus. */
export interface Transport {
  publish(subject: string, payload: Uint8Array): void;
  subscribe(pattern: string, receive: (payload: Uint8Array, subject: string) => void): Stop;
  connected(): boolean;
  /** Calls `changed` whenever `connected()` changes. */
  onConnection(changed: (connected: boolean) => void): Stop;
}

/** A sign of life: a lease's node and its renewTime (epoch ms with the microseconds as fraction). */
export interface ObservedLease {
  readonly node: string;
  readonly renewedAt: number | null;
}

/** A pod with its resourceVersion and the node it is bound to. Unbound pods are not reported. */
export interface BoundPod {
  readonly node: string;
  readonly resourceVersion: string;
  readonly pod: ObservedPod;
}

/** What can be watched, and what each object is projected to. */
export interface Watched {
  nodes: ObservedNode;
  leases: ObservedLease;
  pods: BoundPod;
}

/** Where a watch reports. A relist calls `changed` for every object and `gone` for those that are no longer there. */
export interface WatchSink<T> {
  changed(object: T): void;
  /** `key` is the name, or `namespace/name`. */
  gone(key: string, last: T | null): void;
  /** Called on every change of the watch's state; before the first `synced` every object of the list has been told. */
  state(state: WatchState): void;
}

/** A running watch. */
export interface Watch {
  state(): WatchState;
  /** Wall-clock instant of the last event, bookmark or list; null before the first. */
  confirmedAt(): number | null;
  /** Lists again, because the caller has reason to distrust the watch. */
  relist(reason: string): void;
  stop(): void;
}

/** Which object of the API is meant. */
export interface ObjectRef {
  readonly kind: "Node" | "Pod" | "Lease" | "Event" | "DaemonSet" | "Namespace";
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
}

/** An API object of which only the parts everyone has are known. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

/** How urgent a request is; the lower goes first. Nobody who wants to read the console delays an eviction. */
export const Urgency = { healing: 0, status: 1, taint: 2, readiness: 3, eviction: 4, review: 5, event: 6 } as const;
/** How urgent a request is. */
export type Urgency = (typeof Urgency)[keyof typeof Urgency];

/** One write to the API. */
export type WriteRequest = {
  readonly ref: ObjectRef;
  readonly urgency: Urgency;
  readonly subresource?: "status";
  /**
   * When the oldest live read that this write rests on was answered, on the monotonic clock. A write whose turn comes
   * when that read has become too old is not sent, and fails as late. How old is too old follows the server's latency.
   */
  readonly readAtMs?: number;
} & (
  | { readonly verb: "create"; readonly body: unknown }
  | { readonly verb: "update"; readonly body: unknown }
  | { readonly verb: "patch"; readonly patch: "strategic" | "merge" | "json"; readonly body: unknown }
  | {
      readonly verb: "delete";
      /** The object must still be this one; the API answers conflict otherwise. */
      readonly uid?: string;
      readonly resourceVersion?: string;
      /** Seconds; absent means the object's own. */
      readonly gracePeriodSeconds?: number;
    }
);

/**
 * The place in the queue of a read that leads to a write: the write's urgency, and how many requests later the write
 * comes. Of one urgency writes go first, and reads furthest from their write last, so that what was read is not old
 * when the write is sent.
 */
export interface ReadPlace {
  readonly urgency: Urgency;
  readonly stepsBefore: 1 | 2;
  /** Called when the read is sent, so that another one can go beside it; never when it is answered unsent. */
  readonly sent?: () => void;
}

/** What came of a read. `unknown` cannot happen: a read without reply has failed. */
export type ReadReply =
  | { readonly outcome: "ok"; readonly object: KubeObject }
  | { readonly outcome: "gone" | "denied" | "failed"; readonly detail: string }
  | { readonly outcome: "throttled"; readonly detail: string; readonly retryAfterMs: number };

/**
 * What came of a write. `exists`: a create met an object of that name. `unknown`: the reply was lost and the write may
 * have happened.
 */
export type WriteReply =
  | { readonly outcome: "ok"; readonly object: KubeObject }
  | {
      readonly outcome: "conflict" | "exists" | "gone" | "denied" | "failed" | "unknown" | "shadowed";
      readonly detail: string;
      /** It stayed unsent because its turn came when the reads behind it were too old: only the wait has failed. */
      readonly isLate?: boolean;
    }
  | { readonly outcome: "throttled"; readonly detail: string; readonly retryAfterMs: number };

/** The Kubernetes API. Replies come later, each exactly once, never within the call. */
export interface Kube {
  watch<K extends keyof Watched>(what: K, sink: WatchSink<Watched[K]>): Watch;
  /** A live read, past every cache; one that leads to no write goes before all that wait. */
  read(ref: ObjectRef, done: (reply: ReadReply) => void, place?: ReadPlace): void;
  /** One write under way per object; more wait in the order of urgency. */
  write(request: WriteRequest, done: (reply: WriteReply) => void): void;
}

/** The kinds of reviews: whose a token is, and what a user may do. The API server answers both and keeps neither. */
export type ReviewKind = "TokenReview" | "SubjectAccessReview";

/** What came of a review: the `status` that the API server gave, or why there is none. */
export type ReviewReply =
  | { readonly outcome: "ok"; readonly status: Readonly<Record<string, unknown>> }
  | { readonly outcome: "denied" | "failed"; readonly detail: string };

/** The reviews of the Kubernetes API. A reply comes later, exactly once, never within the call. */
export interface KubeReviews {
  /** Asks for one review; one is under way at a time. */
  review(kind: ReviewKind, spec: object, done: (reply: ReviewReply) => void): void;
}

/** Structured log lines. Fields are plain values; secrets never are among them. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** What every metric needs; label values never name a node or a pod. */
export interface MetricOptions {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

/** What can be done about one series of a metric. */
export interface Series {
  /** Tells it no more; when it is told again, it begins anew. */
  remove(...labels: string[]): void;
}

/** Metrics, declared once per name; declaring the same name again returns the same metric. */
export interface Metrics {
  counter(options: MetricOptions): Series & { add(value: number, ...labels: string[]): void };
  gauge(options: MetricOptions): Series & { set(value: number, ...labels: string[]): void };
  histogram(options: MetricOptions & { readonly buckets: readonly number[] }): {
    observe(value: number, ...labels: string[]): void;
  };
}

/** The services a process can run. */
export const SERVICE_NAMES = [
  "observer",
  "node",
  "zone",
  "taint-manager",
  "node-writer",
  "pod-writer",
  "ledger",
] as const;
/** The name of a service. */
export type ServiceName = (typeof SERVICE_NAMES)[number];

/** Told which shards this process minds for a service. */
export interface ShardFollower {
  gained(shard: number): void;
  lost(shard: number): void;
}

/** Who minds which shard. */
export interface Fleet {
  /** This process's name. */
  readonly member: string;
  owns(service: ServiceName, shard: number): boolean;
  /** Reports the shards already owned at once, and every later change. */
  follow(service: ServiceName, follower: ShardFollower): Stop;
}

/** All that a service gets; there is nothing else for it to reach. */
export interface Io {
  readonly clock: Clock;
  readonly bus: Bus;
  readonly kube: Kube;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly profile: Profile;
  readonly fleet: Fleet;
}

/** A service: wires its actors to the ports. What it returns stops it and frees all it holds. */
export type Service = (io: Io) => Stop;

/** One HTTP request to an API server. */
export interface HttpRequest {
  readonly method: string;
  /** Path with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** How long parts of the answer may wait to be read together, in milliseconds; a hint to sockets. */
  readonly gatherMs?: number;
}

/**
 * Where the answer to one request arrives: `response` once, `data` any number of times, then `end` or `failed` once.
 */
export interface HttpExchange {
  response(status: number, headers: Readonly<Record<string, string>>): void;
  data(chunk: Uint8Array): void;
  end(): void;
  /**
   * The connection broke or was refused. `sent`: the server may have seen the request. `timedOut`: it broke because the
   * other side had gone silent, so the silence began some time before this call.
   */
  failed(problem: { readonly message: string; readonly sent: boolean; readonly timedOut?: boolean }): void;
}

/**
 * A way to an API server: sockets in production, a function call in tests and in simulation. Answers never arrive
 * within `send`.
 */
export interface Wire {
  send(request: HttpRequest, exchange: HttpExchange): { abort(): void };
}
