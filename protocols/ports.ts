/** The ports through which services reach anything outside themselves. The adapters are in services/platform. */
import type { BodyOf, Message, MessageType } from "./messages.ts";
import type { ObservedNode, ObservedPod, WatchState } from "./objects.ts";
import type { PolicyKeys, PolicySet } from "./policy-set.ts";
import type { Profile } from "./profile.ts";

/** A timer that has not fired yet. */
export interface Timer {
  /** Has no effect once the timer has fired or was cancelled. */
  cancel(): void;
}

/** Time. Durations are measured on the monotonic clock, API timestamps are taken from the wall clock. */
export interface Clock {
  /** Milliseconds on a clock that never steps; only differences have meaning. */
  monotonicMs(): number;
  /** Epoch milliseconds on the wall clock; may step. */
  wallMs(): number;
  /** How far the machine's own wall clock is ahead of `wallMs`, in milliseconds; absent where that is the machine's. */
  machineAheadMs?(): number;
  /** Calls `fire` once, not before `delayMs` have passed. Timers due at one instant fire in the order they were set. */
  after(delayMs: number, fire: () => void): Timer;
  /** Calls `run` as soon as the current actor has handled its message. */
  soon(run: () => void): void;
}

/** A random number in [0, 1). */
export type Random = () => number;

/** Stops a subscription, a watch or a service: the call that started it returned this. */
export type Stop = () => void;

/**
 * The typed message bus of one service. Publishing never waits and never throws for a lost connection, so messages may
 * be lost. Within a stream (one publisher's messages of one type on one shard) handlers receive increasing sequences
 * only: duplicate and out-of-order messages are dropped and counted, and a gap is reported.
 */
export interface Bus {
  /** Sends a message caused by `cause`. Returns its id, or null when it is too large and was not sent. */
  publish<T extends MessageType>(type: T, body: BodyOf<T>, cause: string | null): string | null;
  /** Calls `receive` for every message of a type on one shard or on all. */
  subscribe<T extends MessageType>(type: T, shard: number | "all", receive: (message: Message<T>) => void): Stop;
  /** Keeps the last message of each subject of a type, undecoded, for a reader that needs only some of them. */
  latest<T extends MessageType>(type: T): Latest<T>;
  /** Calls `lost` when messages of a subscribed stream are missing. */
  onGap(lost: (type: MessageType, shard: number) => void): Stop;
  /** Whether messages can travel now. */
  connected(): boolean;
}

/** The last message of each subject of one type. */
export interface Latest<T extends MessageType> {
  /** The messages since the last call, each with its arrival on the monotonic clock. */
  take(): readonly { readonly message: Message<T>; readonly receivedMs: number }[];
  readonly stop: Stop;
}

/** Bytes on subjects, beneath the typed bus: memory, NATS or a simulated network. */
export interface Transport {
  publish(subject: string, payload: Uint8Array): void;
  subscribe(pattern: string, receive: (payload: Uint8Array, subject: string) => void): Stop;
  connected(): boolean;
  /** Calls `changed` whenever `connected()` changes. */
  onConnection(changed: (connected: boolean) => void): Stop;
}

/** A lease: its node and its renewTime (epoch milliseconds with the microseconds as fraction). */
export interface ObservedLease {
  readonly node: string;
  readonly renewedAt: number | null;
  /**
   * The uid of the node that owns it; null for no owner. Absent where only a renewal was read: a kubelet sets the owner
   * when it creates its lease, and never changes it.
   */
  readonly ownerUid?: string | null;
  /** The client that renewed it last; absent for the node itself, as with each kubelet, and where it has no holder. */
  readonly holder?: string;
}

/** A pod with its resourceVersion and the node it is bound to. Unbound pods are not reported. */
export interface BoundPod {
  readonly node: string;
  readonly resourceVersion: string;
  readonly pod: ObservedPod;
}

/** A NodePolicy object; `spec` and `status` are unchecked. */
export interface PolicyResource {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Grows with each change of the spec. */
  readonly generation: number;
  /** When its spec was last changed, in epoch milliseconds; null where the API server does not report it. */
  readonly changedAt: number | null;
  readonly spec: unknown;
  readonly status: unknown;
}

/**
 * The ConfigMap with freezes, outages and the memory of limits; its texts are unchecked, null where they are missing.
 */
export interface FreezeResource {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly pauseRequests: string | null;
  readonly frozen: string | null;
  readonly limits: string | null;
  readonly outages: string | null;
}

/** The resources that can be watched, and the projection of each object. */
export interface Watched {
  nodes: ObservedNode;
  leases: ObservedLease;
  pods: BoundPod;
  policies: PolicyResource;
  freezes: FreezeResource;
}

/** Receives a watch. A relist calls `changed` for every object and `gone` for those that no longer exist. */
export interface WatchSink<T> {
  /** `waitedMs`: how long the change may have waited to be read, in milliseconds; absent for no wait. */
  changed(object: T, waitedMs?: number): void;
  /** `key` is the name, or `namespace/name`. */
  gone(key: string, last: T | null): void;
  /** Called on every change of the watch's state; before the first `synced` all objects of the list were reported. */
  state(state: WatchState): void;
  /**
   * The API server does not serve the resource, because its CustomResourceDefinition is not installed: there is no
   * object of it. Called again after each check that still does not find it.
   */
  absent?(): void;
}

/** What a watch needs besides its sink. */
export interface WatchOptions {
  /** What policies need of nodes besides OBSERVED_LABELS and ConditionType; called for each node. */
  readonly policyKeys?: () => PolicyKeys | null;
}

/** A running watch. */
export interface Watch<T = unknown> {
  state(): WatchState;
  /** The object as last received; null when none is known. Cluster-scoped objects and leases have no namespace. */
  held(namespace: string, name: string): T | null;
  /** Wall-clock instant of the last event, bookmark or list; null before the first. */
  confirmedAt(): number | null;
  /** The version of the last event, bookmark or list: a watch from it shows what is new. Null before the first. */
  version(): string | null;
  /** Lists again, because the caller suspects that the watch is stale. */
  relist(reason: string): void;
  /** Lists again, because the caller needs other fields of the objects; the watch was complete until now. */
  refresh(reason: string): void;
  stop(): void;
}

/** Identifies an object of the API. */
export interface ObjectRef {
  readonly kind:
    | "Node"
    | "Pod"
    | "Lease"
    | "Event"
    | "DaemonSet"
    | "Namespace"
    | "NodePolicy"
    | "ConfigMap"
    | "PersistentVolumeClaim"
    | "VolumeAttachment"
    | "CustomResource";
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  /** Empty for a whole collection: a read then gives the list of its objects. */
  readonly name: string;
  /** The node of a pod or CustomResource, where it is known. It does not identify the object. */
  readonly node?: string;
  /** Which resource a CustomResource is; absent for every other kind. */
  readonly resource?: CustomResource;
}

/** A namespaced resource that a CustomResourceDefinition adds. */
export interface CustomResource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

/** An API object of any kind. */
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

/** How urgent a request is; lower goes first. Reviews come after evictions, so console clients delay no eviction. */
export const Urgency = { healing: 0, status: 1, taint: 2, readiness: 3, eviction: 4, review: 5, event: 6 } as const;
/** How urgent a request is. */
export type Urgency = (typeof Urgency)[keyof typeof Urgency];

/** One write to the API. */
export type WriteRequest = {
  readonly ref: ObjectRef;
  readonly urgency: Urgency;
  /** Set for a write that another one of its object follows: where requests queue, that one goes first. */
  readonly stepsBefore?: 1;
  readonly subresource?: "status";
  /**
   * When the oldest live read behind this write was answered, on the monotonic clock. A write is not sent, and fails as
   * late, if that read has become too old while the write waited. The limit follows the server's latency.
   */
  readonly readAtMs?: number;
} & (
  | {
      readonly verb: "create";
      readonly body: unknown;
      /** Set for a creation that the API server is to check and admit as any other, and not to store. */
      readonly isDryRun?: true;
    }
  | {
      readonly verb: "update";
      readonly body: unknown;
      /** Whether only the resourceVersion of the object in the reply is used; the rest of it may be missing then. */
      readonly isVersionEnough?: boolean;
    }
  | ({ readonly verb: "patch"; readonly patch: "strategic" | "merge" | "json" } & (
      | { readonly body: unknown }
      | {
          /**
           * Makes the body when the request is sent, which may be seconds later: for one with an instant of writing in
           * it, such as `timeAdded`. Null where nothing is to be written any more: the write then fails as late.
           */
          readonly bodyAtSend: () => unknown;
        }
    ))
  | {
      readonly verb: "delete";
      /** Preconditions; if they do not hold, the API answers with a conflict. */
      readonly uid?: string;
      readonly resourceVersion?: string;
      /** Absent means the object's own. */
      readonly gracePeriodSeconds?: number;
    }
  | {
      /** Deletes a pod through the Eviction API, unless a disruption budget refuses. */
      readonly verb: "evict";
      /** Preconditions; if they do not hold, the API answers with a conflict. */
      readonly uid: string;
      readonly resourceVersion?: string;
    }
);

/**
 * The place in the queue of a read that leads to a write: the write's urgency, and how many requests before the write
 * it comes. Within an urgency writes go first and the reads furthest from their write last, so that a read is recent
 * when its write is sent.
 */
export interface ReadPlace {
  readonly urgency: Urgency;
  readonly stepsBefore: 1 | 2;
  /** Called when the read is sent, so that another can go in parallel; not called when it is answered unsent. */
  readonly sent?: () => void;
}

/** The outcome of a read. A read without a reply has failed; there is no `unknown`. */
export type ReadReply =
  | { readonly outcome: "ok"; readonly object: KubeObject }
  | { readonly outcome: "gone" | "denied" | "failed"; readonly detail: string }
  | { readonly outcome: "throttled"; readonly detail: string; readonly retryAfterMs: number };

/**
 * The outcome of a write. `exists`: an object of that name exists already. `unknown`: the reply was lost, and the write
 * may have been carried out.
 */
export type WriteReply =
  | { readonly outcome: "ok"; readonly object: KubeObject }
  | {
      readonly outcome: "conflict" | "exists" | "gone" | "denied" | "failed" | "unknown" | "shadowed";
      readonly detail: string;
      /** Set when the write was not sent because the reads behind it had become too old. */
      readonly isLate?: boolean;
    }
  | {
      readonly outcome: "throttled";
      readonly detail: string;
      readonly retryAfterMs: number;
      /** The disruption budget that refuses an eviction, as the API server names it; absent when the server is busy. */
      readonly disruptionBudget?: string;
    };

/** One renewal of a node's lease, as the API server stored it. */
export interface LeaseRenewal {
  readonly node: string;
  /** In epoch milliseconds; null where the lease has none, or one that cannot be read. */
  readonly renewTime: number | null;
}

/** What a watch of this process shows, proven to be no older than a read that was sent and answered then. */
export interface ProvenView<T> {
  /** When that read was sent, on the monotonic clock. */
  readonly sentAtMs: number;
  readonly readAtMs: number;
  /** The object as shown now; null for none, or if the watch is lost meanwhile: then it has to be read. */
  held(namespace: string, name: string): T | null;
}

/** The outcome of a read that was not sent: the object as its proven watch shows it. */
export interface ShownReply<T> {
  readonly outcome: "shown";
  readonly object: T;
  readonly view: ProvenView<T>;
}

/** The Kubernetes API. Replies come later, each exactly once, never within the call. */
export interface Kube {
  watch<K extends keyof Watched>(what: K, sink: WatchSink<Watched[K]>, options?: WatchOptions): Watch<Watched[K]>;
  /** A live read, past every cache; without `place` it goes before all waiting requests. */
  read(ref: ObjectRef, done: (reply: ReadReply) => void, place?: ReadPlace): void;
  /**
   * Reads an object as `read` does, unless a watch of this process is proven to show no less when the read would be
   * sent: by one read for all objects, sent at `sentSinceMs` or later and answered half a second ago at most.
   */
  readShown<K extends keyof Watched>(
    what: K,
    ref: ObjectRef,
    done: (reply: ReadReply | ShownReply<Watched[K]>) => void,
    need: { readonly place: ReadPlace; readonly sentSinceMs?: number },
  ): void;
  /** At most one write per object is in flight; others wait in order of urgency. */
  write(request: WriteRequest, done: (reply: WriteReply) => void): void;
  /**
   * The minor version of the API server, 26 for 1.26; null if the server does not report it. It may be some minutes
   * old.
   */
  minorVersion(done: (minor: number | null) => void): void;
  /**
   * The renewals of node leases after a resourceVersion that the API server still has in its history, in order; of many
   * the first LEASE_HISTORY_MAX. Null where they prove nothing: the version is too old or none of this server's, or the
   * request was refused or lost. It takes 5 s at most.
   */
  leaseHistory(fromVersion: string, done: (renewals: readonly LeaseRenewal[] | null) => void): void;
  /**
   * The renewTimes of the leases in kube-system, which control-plane components and API servers renew, in epoch
   * milliseconds and in no order; null where they cannot be listed.
   */
  componentLeases(done: (renewTimes: readonly number[] | null) => void): void;
}

/** Reviews: who a token authenticates, and what a user may do. The API server answers them and stores nothing. */
export type ReviewKind = "TokenReview" | "SubjectAccessReview";

/** The outcome of a review: the `status` from the API server, or why there is none. */
export type ReviewReply =
  | { readonly outcome: "ok"; readonly status: Readonly<Record<string, unknown>> }
  | { readonly outcome: "denied" | "failed"; readonly detail: string };

/** The reviews of the Kubernetes API. A reply comes later, exactly once, never within the call. */
export interface KubeReviews {
  /** Requests a review; one is in flight at a time. */
  review(kind: ReviewKind, spec: object, done: (reply: ReviewReply) => void): void;
}

/** Structured log lines. Fields are plain values and never contain secrets. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** Options of every metric; label values never name a node or a pod. */
export interface MetricOptions {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

/** Operations on one series of a metric. */
export interface Series {
  /** Stops exporting the series; the next value starts a new one. */
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
  "policy",
] as const;
/** The name of a service. */
export type ServiceName = (typeof SERVICE_NAMES)[number];

/** Receives the shards of a service that this process gains and loses. */
export interface ShardFollower {
  gained(shard: number): void;
  lost(shard: number): void;
}

/** Which member owns which shard. */
export interface Fleet {
  /** This process's name. */
  readonly member: string;
  owns(service: ServiceName, shard: number): boolean;
  /** Reports the shards already owned at once, and every later change. */
  follow(service: ServiceName, follower: ShardFollower): Stop;
}

/** The node policies in force. */
export interface Policies {
  /** The policies; null until all of them are known. Until then nothing harmful may be requested. */
  current(): PolicySet | null;
  /** Calls `changed` after each change of `current()`; `cause` is the id of the message that led to it. */
  follow(changed: (cause: string | null) => void): Stop;
}

/** What is known of the last holder of a Lease. */
export type LastHolder =
  /** This process: no other process has held it in between. */
  | { readonly kind: "self" }
  /** A process that released it and left `handover` for the next holder. */
  | { readonly kind: "released"; readonly handover: string }
  /** No process, by what the Lease shows: it was never held, or is a new one in place of a deleted one. */
  | { readonly kind: "none" }
  /** A process that did not release it, or that is not known. */
  | { readonly kind: "unknown" };

/** A process as a candidate for one Lease. */
export interface LeaseCandidate {
  /** Whether this process holds the Lease, so that no other one can act as its holder now. */
  isHeld(): boolean;
  /** The member that holds it; null for none, and while that is not known. */
  holder(): string | null;
  /** Ends the candidacy. A held Lease is released with `handover` for the next holder. */
  release(handover: string): void;
}

/** A Lease that processes compete for. */
export interface ContestedLease {
  readonly namespace: string;
  readonly name: string;
  /** The name of its metric: 1 for the holder, 0 for a candidate. */
  readonly gauge: string;
}

/** Leases at the API server: each has one holder in the whole cluster, even while the bus is split. */
export interface Leases {
  /** Becomes a candidate for a Lease. Calls `taken` each time this process begins to hold it. */
  compete(lease: ContestedLease, taken: (last: LastHolder) => void): LeaseCandidate;
}

/** Everything that a service can reach. */
export interface Io {
  readonly clock: Clock;
  readonly bus: Bus;
  readonly kube: Kube;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly profile: Profile;
  readonly fleet: Fleet;
  readonly policies: Policies;
  readonly leases: Leases;
}

/** A service: connects its actors to the ports. The function it returns stops it and frees all its resources. */
export type Service = (io: Io) => Stop;

/** One HTTP request to an API server. */
export interface HttpRequest {
  readonly method: string;
  /** Path with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** How long a socket may pause between reads of the answer, in milliseconds: the process wakes less often. */
  readonly gatherMs?: number;
}

/** Receives the answer to a request: `response` once, `data` any number of times, then `end` or `failed` once. */
export interface HttpExchange {
  response(status: number, headers: Readonly<Record<string, string>>): void;
  /** `waitedMs`: how long the chunk may have waited for the socket to be read, in milliseconds; absent for no wait. */
  data(chunk: Uint8Array, waitedMs?: number): void;
  end(): void;
  /**
   * The connection broke or was refused. `sent`: the server may have received the request. `timedOut`: it broke because
   * the other side sent nothing for some time before this call.
   */
  failed(problem: { readonly message: string; readonly sent: boolean; readonly timedOut?: boolean }): void;
}

/** A connection to an API server: sockets in production, calls in tests. Answers never arrive within `send`. */
export interface Wire {
  send(request: HttpRequest, exchange: HttpExchange): Sent;
}

/** A request that was sent. */
export interface Sent {
  abort(): void;
  /** Reads the answer without pauses for so long; absent where the socket never pauses. */
  readAtOnce?(forMs: number): void;
}
