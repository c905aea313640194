/** A ledger on virtual time and the memory bus, the messages it receives, and an API that stores its Events. */

import type { Explanation } from "../../protocols/ledger-reader.ts";
import { type AnyMessage, type BodyOf, MESSAGES, type MessageType } from "../../protocols/messages.ts";
import { NO_POLICIES } from "../../protocols/policy-set.ts";
import type {
  Bus,
  Fleet,
  Io,
  Kube,
  KubeObject,
  Log,
  ObjectRef,
  Policies,
  ReadReply,
  Transport,
  WriteReply,
  WriteRequest,
} from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { SHARD_COUNT } from "../../protocols/subjects.ts";
import type { ZoneLabel } from "../../services/domain/zone-key.ts";
import { type Ledger, startLedger } from "../../services/ledger/ledger.service.ts";
import type { LedgerStore, Restoring } from "../../services/ledger/record/ledger.store.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../services/platform/bus/memory.ts";
import { aloneFleet } from "../../services/platform/fleet/fleet.ts";
import { UNCONTESTED_LEASES } from "../../services/platform/kube/election/kube-leases.ts";
import { fixedPolicies } from "../../services/platform/node-policies/policy-receiver.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics, type ReadableMetrics } from "../../services/platform/process/metrics.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { judgedNode as judgedInNoZone } from "../support/observed-objects.ts";
import { seededRandom } from "../support/random.seeded.ts";

/** When an earlier ledger received what it stored: at the start of a new world's clock. */
const EARLIER_AT = Date.UTC(2026, 0, 1);

/** An Event as the API stores it. */
export interface WrittenEvent {
  readonly [field: string]: unknown;
  readonly involvedObject: Readonly<Record<string, unknown>>;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
}

/** An API for Events and pods; a test may change its answers. */
export class LedgerKube implements Kube {
  readonly requests: WriteRequest[] = [];
  /** The outcome of the next write; null accepts it. */
  answer: ((request: WriteRequest) => WriteReply) | null = null;
  /** The pods that exist, by `namespace/name`. */
  readonly pods = new Map<string, KubeObject>([["default/web", livePod()]]);
  /** The answer to every read, or that there is none; null answers from `pods`. */
  readAnswer: ReadReply | "none" | null = null;
  /** The API server's minor version; null for one that it does not say. */
  minor: number | null = null;
  /** Every pod that was read, in order. */
  readonly reads: string[] = [];
  readonly #clock: VirtualClock;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  /** Every Event that was created, in order. */
  get events(): WrittenEvent[] {
    return this.requests.flatMap((request) => (request.verb === "create" ? [request.body as WrittenEvent] : []));
  }

  watch(): never {
    throw new Error("the ledger watches nothing");
  }

  read({ kind, namespace, name }: ObjectRef, done: (reply: ReadReply) => void): void {
    if (kind !== "Pod") throw new Error(`the ledger reads pods alone, not a ${kind}`);
    this.reads.push(`${namespace}/${name}`);
    const pod = this.pods.get(`${namespace}/${name}`);
    const found: ReadReply =
      pod === undefined ? { outcome: "gone", detail: "not found" } : { outcome: "ok", object: pod };
    const reply = this.readAnswer ?? found;
    if (reply !== "none") this.#clock.soon(() => done(reply));
  }

  minorVersion(done: (minor: number | null) => void): void {
    this.#clock.soon(() => done(this.minor));
  }

  readShown(): never {
    throw new Error("the ledger reads past every watch");
  }

  leaseHistory(): never {
    throw new Error("the ledger asks for no history of leases");
  }

  componentLeases(): never {
    throw new Error("the ledger lists no leases");
  }

  write(request: WriteRequest, done: (reply: WriteReply) => void): void {
    this.requests.push(request);
    const object: KubeObject = { metadata: { name: request.ref.name } };
    const reply = this.answer?.(request) ?? { outcome: "ok", object };
    this.#clock.soon(() => done(reply));
  }
}

/** The ledger and its ports. */
export interface LedgerWorld {
  readonly clock: VirtualClock;
  readonly kube: LedgerKube;
  readonly metrics: ReadableMetrics;
  readonly ledger: Ledger;
  readonly transport: Transport;
  readonly io: Io;
  /** Publishes a message as its first permitted sender, delivers it, and returns its id. */
  readonly receive: Bus["publish"];
  /** The same, with a chosen sender. */
  readonly receiveAs: (service: string, ...told: Parameters<Bus["publish"]>) => string | null;
}

/** Differences from the standard world. */
export interface WorldOptions {
  readonly profile?: Partial<Io["profile"]>;
  readonly fleet?: Fleet;
  readonly store?: LedgerStore;
  readonly isShadow?: boolean;
  readonly activityLog?: Log;
  readonly zoneLabel?: ZoneLabel;
  readonly followedNodesMax?: number;
  /** None by default. */
  readonly policies?: Policies;
}

/** Starts a ledger in a world of its own. */
export function ledgerWorld({
  profile = {},
  fleet = aloneFleet("m-0"),
  store,
  isShadow = false,
  activityLog,
  zoneLabel = "readable",
  followedNodesMax = 0,
  policies = fixedPolicies(NO_POLICIES),
}: WorldOptions = {}): LedgerWorld {
  const clock = new VirtualClock();
  const metrics = createMetrics();
  const kube = new LedgerKube(clock);
  const transport = memoryTransport(clock);
  const common = { transport, clock, cluster: "test", member: "m-0", log: silentLog, metrics };
  const busOf = (service: string) => typedBus({ ...common, service, mailboxMessagesMax: 100_000 });
  const io: Io = {
    clock,
    kube,
    metrics,
    fleet,
    log: silentLog,
    bus: busOf("ledger"),
    random: seededRandom(1),
    profile: { ...STANDARD_PROFILE, ...profile },
    policies,
    leases: UNCONTESTED_LEASES,
  };
  const kept = { store: store ?? null, activityLog: activityLog ?? null };
  const ledger = startLedger(io, { ...kept, isShadow, zoneLabel, followedNodesMax });
  const senders = new Map<string, Bus>();
  const receiveAs: LedgerWorld["receiveAs"] = (service, type, body, cause) => {
    const bus = senders.get(service) ?? busOf(service);
    senders.set(service, bus);
    const id = bus.publish(type, body, cause);
    clock.advance(0);
    return id;
  };
  const receive: Bus["publish"] = (type, body, cause) =>
    receiveAs(MESSAGES[type].from.split(", ", 1)[0] ?? "", type, body, cause);
  return { clock, kube, metrics, ledger, transport, io, receive, receiveAs };
}

/** A node judged ready in zone `a`. */
export function judgedNode(node: string, changes: Partial<BodyOf<"judged.node">> = {}): BodyOf<"judged.node"> {
  return judgedInNoZone(node, { zone: ":\u0000:a", ...changes });
}

/** A healthy zone of ten nodes. */
export function judgedZone(changes: Partial<BodyOf<"judged.zone">> = {}): BodyOf<"judged.zone"> {
  return {
    zone: ":\u0000:a",
    state: "Normal",
    since: 0,
    size: 10,
    notReady: 0,
    taintsPerSecond: 0.1,
    tokens: 1,
    queueLength: 0,
    halted: false,
    ...changes,
  };
}

/** The taint of the tests. */
export const UNREACHABLE = { key: "node.kubernetes.io/unreachable", effect: "NoExecute" };

/** Pod `default/web` on node `n-1`. */
export const WEB = { namespace: "default", name: "web", uid: "uid-web", node: "n-1" };

/** Pod `default/web` as the API shows it, with these differences. */
export function livePod({ metadata = {}, spec = {}, status = {} }: LivePodChanges = {}): KubeObject {
  const identity = { namespace: "default", name: "web", uid: "uid-web", resourceVersion: "1" };
  return {
    metadata: { ...identity, creationTimestamp: "2026-01-01T00:00:00Z", ...metadata },
    spec: { nodeName: "n-1", ...spec },
    status: { phase: "Running", ...status },
  };
}

/** Differences of a pod, by part of the object. */
interface LivePodChanges {
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
}

/** The explanation of a pod, after its live read. */
export function explainedPod(
  { ledger, clock }: Pick<LedgerWorld, "clock"> & { readonly ledger: Pick<Ledger, "reader"> },
  name = "web",
): Explanation | null {
  let explained: Explanation | null = null;
  ledger.reader.explainPod("default", name, (explanation) => {
    explained = explanation;
  });
  clock.advance(0);
  return explained;
}

/** The sentences about the pod. */
export const podSentences = (world: LedgerWorld): readonly string[] => explainedPod(world)?.sentences ?? [];

/** A judgement of the pod. */
export function judgedPod(changes: Partial<BodyOf<"judged.pod">> = {}): BodyOf<"judged.pod"> {
  return { ...WEB, eviction: "pending", deadlineAt: 0, taint: UNREACHABLE, tolerationSeconds: 300, ...changes };
}

/** The request to delete the pod. */
export function askedEviction(changes: Partial<BodyOf<"asked.eviction">> = {}): BodyOf<"asked.eviction"> {
  return { ...WEB, mode: "taint", deadlineAt: 0, taint: UNREACHABLE, ...changes };
}

/** The outcome of a request for the pod. */
export function donePod(ask: string, changes: Partial<BodyOf<"done.write">> = {}): BodyOf<"done.write"> {
  return { ...doneNode(ask, WEB.node), ...WEB, kind: "Pod", change: "deleted", resourceVersion: null, ...changes };
}

/** The outcome of a request for a node. */
export function doneNode(ask: string, node: string, changes: Partial<BodyOf<"done.write">> = {}): BodyOf<"done.write"> {
  return {
    ask,
    kind: "Node",
    namespace: "",
    name: node,
    uid: `uid-${node}`,
    node,
    outcome: "ok",
    retrying: false,
    latencyMs: 12,
    change: "something",
    detail: "",
    resourceVersion: "2",
    ...changes,
  };
}

/** The request to force a silent node's Ready condition. */
export function askedCondition(node: string): BodyOf<"asked.condition"> {
  const basis = { leaseRenewedAt: null, statusHeartbeatAt: null };
  const { reason, message } = { reason: "NodeStatusUnknown", message: "Kubelet stopped posting node status." };
  const conditions = [{ type: "Ready", status: "Unknown" as const, reason, message, heartbeatAt: null }];
  return { node, uid: `uid-${node}`, resourceVersion: "1", basis, conditions };
}

/** The request for the NoExecute taint of a granted node. */
export function askedTaint(node: string, changes: Partial<BodyOf<"asked.taint">> = {}): BodyOf<"asked.taint"> {
  const basis = { node, uid: `uid-${node}`, resourceVersion: "1", taints: [] };
  return { ...basis, add: [UNREACHABLE], remove: [], ready: "Unknown", why: "granted", ...changes };
}

/** A pulse of a synced observer; its digest is of no nodes unless given. */
export function pulse(shard: number, changes: Partial<BodyOf<"observed.pulse">> = {}): BodyOf<"observed.pulse"> {
  const watch = { synced: true, since: 0 };
  const nothing = { count: 0, sum: 0 };
  const watches = { nodes: watch, leases: watch, pods: watch };
  return { shard, watches, nodes: nothing, pods: nothing, resyncs: 1, ...changes };
}

/** Publishes a pulse of a synced observer for every shard. */
export function seePulses({ clock, receive }: Pick<LedgerWorld, "clock" | "receive">): void {
  const watch = { synced: true, since: clock.wallMs() };
  for (const shard of SHARDS) {
    receive("observed.pulse", pulse(shard, { watches: { nodes: watch, leases: watch, pods: watch } }), null);
  }
}

/** Every shard. */
export const SHARDS: readonly number[] = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);

/** A store with these messages of an earlier ledger; more may be restored later. */
export function remembering(...heard: [MessageType, BodyOf<MessageType>][]) {
  let receive: (message: AnyMessage) => void = () => {};
  let count = 0;
  const store = {
    restore(restoring: Restoring) {
      receive = (message) => restoring.message(message);
      for (const [type, body] of heard) store.remember(type, body);
    },
    remember(type: MessageType, body: BodyOf<MessageType>) {
      receive({ v: 1, id: `earlier:${count++}`, type, source: "s@m", at: EARLIER_AT, cause: null, body } as AnyMessage);
    },
    keep() {},
    forget() {},
    keepCompared() {},
    ready: () => true,
    close() {},
  };
  return store satisfies LedgerStore;
}
