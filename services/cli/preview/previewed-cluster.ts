/**
 * A cluster on virtual time: the actors of a run decide, and what they request is done at once. The policies of the
 * writers decide again, as they do before a real write. Nothing leaves this process.
 */
import type { BodyOf, Message, MessageType } from "../../../protocols/messages.ts";
import type { ObservedNode, ObservedPod, Taint } from "../../../protocols/objects.ts";
import type { PolicySet } from "../../../protocols/policy-set.ts";
import type { BoundPod, Bus, Io, Kube } from "../../../protocols/ports.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { deleteAt, ratedPolicyOf } from "../../domain/eviction-rates.ts";
import { type NodeFreeze, nodeFreezeOf } from "../../domain/freeze.ts";
import { waitingTaintOf } from "../../domain/judgement.ts";
import { POLICY_CEILING, WHOLE_CLUSTER } from "../../domain/limited-policies.ts";
import { graceMsOf, needsPods, readyConditionOf } from "../../domain/node-conditions.ts";
import { policyOf } from "../../domain/node-policy.ts";
import { noExecuteTaints, type TolerationRules } from "../../domain/toleration.ts";
import { ServiceConcerns } from "../../node/concerns/service-concerns.ts";
import { NodeActor } from "../../node/node.actor.ts";
import type { NodeContext } from "../../node/node.context.ts";
import {
  decideConditions,
  decideLabels,
  decideTaints,
  type NodeWriteDecision,
} from "../../node-writer/node-writer.policy.ts";
import { aloneFleet } from "../../platform/fleet/fleet.ts";
import { UNCONTESTED_LEASES } from "../../platform/kube/election/kube-leases.ts";
import { fixedPolicies } from "../../platform/node-policies/policy-receiver.ts";
import { silentLog } from "../../platform/process/log.ts";
import { createMetrics } from "../../platform/process/metrics.ts";
import { ZoneHalts } from "../../platform/shard-view/zone-halts.ts";
import { UPSTREAM_EVICTIONS } from "../../pod-writer/eviction-method.policy.ts";
import { decideEviction } from "../../pod-writer/pod-writer.policy.ts";
import { KeyedDeadlines } from "../../structures/deadlines.keyed.ts";
import { Deadlines } from "../../structures/deadlines.ts";
import { type EvictionSchedule, TaintedNode } from "../../taint-manager/tainted-node.ts";
import { ownTaintsOf } from "../../zone/zone.policy.ts";
import type { PreviewedDeletion, PreviewedRecovery, PreviewedToleration } from "./preview.ts";
import { PreviewedNode } from "./previewed-node.ts";
import { PreviewedRates } from "./previewed-rates.ts";
import { PreviewedZones } from "./previewed-zones.ts";
import { recoveryOf } from "./recovery.policy.ts";
import type { Snapshot } from "./snapshot.ts";
import { VirtualClock } from "./virtual-clock.ts";

/** A preview ends after so long; a cluster whose evictions take longer needs people. */
const PREVIEW_MS_MAX = 30 * 24 * 3_600_000;
/** When a live node is taken to have sent its last heartbeat: long after the end of every preview. */
const FOREVER_MS = 2 * PREVIEW_MS_MAX;
/** A node without a heartbeat for this share of its grace has stopped already: kubelets renew after a fifth. */
const STOPPED_SHARE = 0.5;

/** The name of the only member of the previewed fleet. */
const MEMBER = "preview";

type Handlers = { readonly [T in MessageType]?: (body: BodyOf<T>, id: string) => void };

/** The cluster of a snapshot, as it goes on with these nodes down. */
export class PreviewedCluster {
  readonly clock: VirtualClock;
  readonly nodes = new Map<string, PreviewedNode>();
  /** The deletions, by the uid of the pod of those that are alike. */
  readonly deletions = new Map<string, PreviewedDeletion>();
  /** What decides the eviction of each of these pods, by its uid. */
  readonly #tolerations = new Map<string, PreviewedToleration>();
  /** What each zone announced last. */
  readonly announced = new Map<string, BodyOf<"judged.zone">>();
  /** What was decided last about the limits of each policy. */
  readonly limits = new Map<string, BodyOf<"judged.limits">>();
  readonly policies: PolicySet;
  /** When each node was admitted to be drained, on the virtual clock (direct mode). */
  readonly drainedMs = new Map<string, number>();
  readonly #io: Io;
  readonly #zones: PreviewedZones;
  readonly #rates: PreviewedRates;
  readonly #context: NodeContext<NodeActor>;
  readonly #deadlines: Deadlines<EvictionSchedule>;
  readonly #halts: ZoneHalts;
  /** The nodes whose pods have changed since they were last reviewed. */
  readonly #changed = new Set<PreviewedNode>();
  readonly #subscribers: { readonly type: MessageType; readonly handler: (message: Message) => void }[] = [];
  #messages = 0;

  constructor(snapshot: Snapshot, profile: Profile, down: ReadonlySet<string>) {
    this.clock = new VirtualClock({ wallMs: snapshot.takenAt });
    this.policies = snapshot.policies;
    this.#io = this.#ports(profile);
    this.#halts = new ZoneHalts(profile);
    this.#zones = new PreviewedZones({ io: this.#io, announced: this.announced });
    this.#rates = new PreviewedRates({ clock: this.clock, evict: (ask, waitedFor) => this.#evict(ask, waitedFor) });
    this.#context = this.#nodeContext();
    this.#deadlines = new Deadlines({ clock: this.clock, fire: (schedule) => this.#evictionDue(schedule) });
    const pods = Map.groupBy(snapshot.pods, ({ node }) => node);
    const { takenAt } = snapshot;
    for (const node of snapshot.nodes) {
      const seenMs = this.#lastHeartbeatMs(snapshot, node.node, readyConditionOf(node)?.heartbeatAt ?? null);
      const isAlive = !down.has(node.node) && -seenMs <= this.#stoppedMs(node);
      const isRated = ratedPolicyOf(node, this.policies) !== null;
      this.nodes.set(node.node, new PreviewedNode(node, pods.get(node.node) ?? [], { isAlive, takenAt, isRated }));
    }
    for (const node of this.nodes.values()) this.#begin(node, snapshot);
    for (const policy of [WHOLE_CLUSTER, POLICY_CEILING, ...this.policies.policies.map(({ name }) => name)]) {
      this.#io.bus.publish("judged.memory", { policy, memory: snapshot.limitMemories.get(policy) ?? null }, null);
    }
    this.clock.advance(0);
  }

  /** Sets a taint now, as a person would. */
  taint(name: string, taint: Taint): void {
    this.#change(name, (node) => node.taint(taint));
  }

  /** What tolerations are matched by. */
  get tolerationRules(): TolerationRules {
    return { comparisonOperators: this.#io.profile.tolerationComparisonOperators };
  }

  /** Whether a taint of its node decides about a pod. */
  isCountingDown(uid: string): boolean {
    return this.#tolerations.has(uid);
  }

  /** The rate of evictions that a pod waits for at the end; null for none. */
  waitsFor(uid: string): string | null {
    return this.#rates.waitsFor(uid);
  }

  /** What is done about the machine of a node. */
  recoveryOf({ shown, unknownMs, taintedMs }: PreviewedNode): PreviewedRecovery {
    const takenAt = this.clock.wallMs() - this.clock.monotonicMs();
    const at = (afterMs: number | null): number | null => (afterMs === null ? null : takenAt + afterMs);
    const { policies } = this;
    const node = { node: shown, unknownAt: at(unknownMs), taintedAt: at(taintedMs) };
    return recoveryOf(node, { policies, profile: this.#io.profile, takenAt });
  }

  /** Lets everything happen that follows. */
  run(): void {
    this.clock.advance(PREVIEW_MS_MAX);
  }

  #ports(profile: Profile): Io {
    const unused = (): never => {
      throw new Error("a preview reads and writes nothing");
    };
    const kube: Kube = {
      watch: unused,
      read: unused,
      write: unused,
      minorVersion: unused,
      leaseHistory: unused,
      componentLeases: unused,
    };
    const { clock } = this;
    const ports = { clock, kube, profile, random: () => 0, log: silentLog, metrics: createMetrics() };
    const policies = fixedPolicies(this.policies);
    return { ...ports, bus: this.#bus(), fleet: aloneFleet(MEMBER), policies, leases: UNCONTESTED_LEASES };
  }

  /** A bus that hands each message to the one place that carries it out. */
  #bus(): Bus {
    const handlers = this.#handlers();
    const publish: Bus["publish"] = (type, body) => {
      const id = `preview:${++this.#messages}`;
      (handlers[type] as ((body: unknown, id: string) => void) | undefined)?.(body, id);
      const message = { type, id, source: `zone@${MEMBER}`, at: this.clock.wallMs(), cause: null, body };
      for (const { type: wanted, handler } of this.#subscribers) {
        if (wanted === type) this.clock.soon(() => handler(message as Message));
      }
      return id;
    };
    const subscribe: Bus["subscribe"] = (type, _shard, handler) => {
      this.#subscribers.push({ type, handler: handler as (message: Message) => void });
      return () => {};
    };
    return {
      publish,
      subscribe,
      onGap: () => () => {},
      latest: () => ({ take: () => [], stop: () => {} }),
      connected: () => true,
    };
  }

  /** A request is carried out after the message that led to it, as by a writer in another process. */
  #handlers(): Handlers {
    const later =
      <B>(act: (body: B, id: string) => void) =>
      (body: B, id: string): void =>
        this.clock.soon(() => act(body, id));
    return {
      "judged.node": (body, id) => {
        const node = this.nodes.get(body.node);
        if (node !== undefined) node.isWaiting = waitingTaintOf(body) !== null;
        this.#zones.takeJudged(body, id);
      },
      "judged.pod": ({ uid, taint, toleratedTaint = taint, tolerationSeconds: seconds }) => {
        if (toleratedTaint !== null) this.#tolerations.set(uid, { taint: toleratedTaint, seconds });
      },
      "judged.zone": later((body: BodyOf<"judged.zone">, id) => this.#takeZone(body, id)),
      "judged.limits": (body) => {
        this.limits.set(body.policy, body);
        this.#zones.takeLimits(body);
      },
      "asked.condition": later((ask: BodyOf<"asked.condition">) =>
        this.#write(ask.node, (node) => decideConditions(ask, node.shown, this.clock.wallMs())),
      ),
      "asked.taint": later((ask: BodyOf<"asked.taint">) =>
        this.#write(ask.node, (node) => decideTaints(ask, node.shown, this.clock.wallMs(), this.policies)),
      ),
      "asked.label": later((ask: BodyOf<"asked.label">) =>
        this.#write(ask.node, (node) => decideLabels(ask, node.shown)),
      ),
      "asked.unready": later(({ node, uid }: BodyOf<"asked.unready">) =>
        this.#changePod(node, uid, (pod) => ({ ...pod, ready: "False" })),
      ),
      "asked.eviction": later((ask: BodyOf<"asked.eviction">) => this.#requestEviction(ask)),
      "asked.drain": later(({ node, uid }: BodyOf<"asked.drain">, id) => {
        this.drainedMs.set(node, this.clock.monotonicMs());
        this.nodes.get(node)?.actor?.grantDrain(uid, id);
      }),
    };
  }

  #nodeContext(): NodeContext<NodeActor> {
    const review = (actor: NodeActor): void => actor.review();
    const counter = { add: () => {}, remove: () => {} };
    return {
      io: this.#io,
      concerns: new ServiceConcerns(this.#io, {
        beganMs: Number.NEGATIVE_INFINITY,
        isHalted: (zone) => this.#halts.isHalted(zone),
      }),
      shard: {
        blindness: () => null,
        outages: [],
        watchHealth: { since: Number.NEGATIVE_INFINITY },
        pods: (name) => {
          const node = this.nodes.get(name);
          return node === undefined || !needsPods(node.shown) ? null : node;
        },
      },
      graces: new KeyedDeadlines<NodeActor>({ clock: this.clock, fire: review }),
      reviews: new KeyedDeadlines<NodeActor>({ clock: this.clock, fire: review }),
      lateness: { observe: () => {} },
      refuted: counter,
      postponed: counter,
      waitingForSync: new Set(),
      waitingForLimits: new Set(),
      haltEndedMs: (zone) => this.#halts.endedMs(zone),
      markSuspect: () => {},
    };
  }

  /** When a node was last heard of, on the virtual clock; a heartbeat from the future counts as now. */
  #lastHeartbeatMs({ takenAt, renewedAt }: Snapshot, name: string, postedAt: number | null): number {
    const known = [renewedAt.get(name) ?? null, postedAt].filter((at) => at !== null);
    return known.length === 0 ? 0 : Math.min(0, Math.max(...known) - takenAt);
  }

  #begin(node: PreviewedNode, snapshot: Snapshot): void {
    const { shown, name } = node;
    const actor = new NodeActor(this.#context, shown);
    node.actor = actor;
    const postedAt = readyConditionOf(shown)?.heartbeatAt ?? null;
    const renewedAt = snapshot.renewedAt.get(name) ?? null;
    const seenMs = node.isAlive ? FOREVER_MS : this.#lastHeartbeatMs(snapshot, name, postedAt);
    this.#zones.takeObserved(null, shown);
    for (const [kind, stamp] of [["status", postedAt] as const, ["lease", renewedAt] as const]) {
      actor.takeHeartbeat({ node: name, kind, renewedAt: stamp, seenAt: snapshot.takenAt }, seenMs, "");
    }
    actor.review("");
    this.#reviewPods(node, Number.NEGATIVE_INFINITY);
  }

  /** After how long without a heartbeat a node has stopped. A short grace of a policy makes no kubelet quicker. */
  #stoppedMs(node: ObservedNode): number {
    const { profile } = this.#io;
    const resolved = policyOf(node, this.policies);
    const own = graceMsOf(node, profile, resolved.kind === "policy" ? resolved.policy : null);
    return Math.max(own, profile.nodeMonitorGraceMs) * STOPPED_SHARE;
  }

  #freezeOf(node: ObservedNode): NodeFreeze {
    return nodeFreezeOf(node, this.policies, this.clock.wallMs());
  }

  /** Requests an eviction that is due, after a freeze of its node. One that waits for a rate is not requested again. */
  #evictionDue(schedule: EvictionSchedule): void {
    if (this.#rates.isWaiting(schedule.pod.uid)) return;
    const node = this.nodes.get(schedule.node.name);
    const freeze = node === undefined ? null : this.#freezeOf(node.shown).freeze;
    if (freeze === null) schedule.node.requestEviction(schedule);
    else if (freeze.untilAt !== null) {
      this.clock.after(freeze.untilAt - this.clock.wallMs(), () => this.#evictionDue(schedule));
    }
  }

  #takeZone(body: BodyOf<"judged.zone">, id: string): void {
    const before = this.announced.get(body.zone);
    this.announced.set(body.zone, body);
    const grants = ({ taintsPerSecond, halted }: BodyOf<"judged.zone">) => `${taintsPerSecond > 0} ${halted}`;
    if (before === undefined || grants(before) !== grants(body)) this.#zones.grantsChanged();
    const change = this.#halts.take(body, MEMBER, this.clock.monotonicMs());
    if (change === null) return;
    for (const node of this.nodes.values()) {
      if (node.actor?.zone === body.zone) node.actor.zoneHalted(change === "began", id);
    }
  }

  #write(name: string, decide: (node: PreviewedNode) => NodeWriteDecision): void {
    const node = this.nodes.get(name);
    const decision = node === undefined ? null : decide(node);
    if (decision?.kind === "write") this.#change(name, (written) => written.write(decision.shadow));
  }

  /** Shows a changed node to everything that watches nodes. */
  #change(name: string, change: (node: PreviewedNode) => void): void {
    const node = this.nodes.get(name);
    if (node === undefined) return;
    const before = node.shown;
    change(node);
    const nowMs = this.clock.monotonicMs();
    const isUnknown = (of: typeof before): boolean => readyConditionOf(of)?.status === "Unknown";
    if (!isUnknown(before) && isUnknown(node.shown)) node.unknownMs = nowMs;
    if (ownTaintsOf(before).length === 0 && ownTaintsOf(node.shown).length > 0) node.taintedMs ??= nowMs;
    this.#zones.takeObserved(before, node.shown);
    node.actor?.observe(node.shown, "");
    this.#reviewPods(node, nowMs);
  }

  #changePod(name: string, uid: string, change: (pod: ObservedPod) => ObservedPod): void {
    const node = this.nodes.get(name);
    const pod = node?.pod(uid);
    if (node === undefined || pod === undefined) return;
    node.putPod(change(pod));
    if (this.#changed.size === 0) this.clock.soon(() => this.#reviewChanged());
    this.#changed.add(node);
  }

  /** Pods of a node change together, so each node is reviewed once for all of them. */
  #reviewChanged(): void {
    const changed = [...this.#changed];
    this.#changed.clear();
    for (const node of changed) {
      node.actor?.review("");
      this.#reviewPods(node, this.clock.monotonicMs());
    }
  }

  /** Schedules the evictions of a node's pods. `absentMs` is when its new taints were still absent. */
  #reviewPods(node: PreviewedNode, absentMs: number): void {
    if (this.#io.profile.evictionMode !== "taint") return;
    if (noExecuteTaints(node.shown.taints).length === 0) {
      node.tainted?.end("");
      node.tainted = null;
      return;
    }
    node.tainted ??= new TaintedNode({ io: this.#io, deadlines: this.#deadlines }, node.shown);
    node.tainted.review(node.shown, node.pods, { absentMs, isUnbroken: true, ...this.#freezeOf(node.shown) }, "");
  }

  /** Evicts a pod, at once or when the rates of its policy and the freezes of its node allow it. */
  #requestEviction(ask: BodyOf<"asked.eviction">): void {
    const shown = this.nodes.get(ask.node)?.shown;
    const rated = shown === undefined ? null : ratedPolicyOf(shown, this.policies);
    if (rated === null) this.#evict(ask, null);
    else this.#rates.request(rated, ask);
  }

  /** Returns whether the pod went. */
  #evict(ask: BodyOf<"asked.eviction">, waitedFor: string | null): boolean {
    const node = this.nodes.get(ask.node);
    const pod = node?.pod(ask.uid);
    if (node === undefined || pod === undefined) return false;
    const wallMs = this.clock.wallMs();
    const live: BoundPod = { node: ask.node, resourceVersion: pod.resourceVersion ?? "", pod };
    const object = { metadata: { name: pod.name } };
    const { frozen, freeze } = this.#freezeOf(node.shown);
    const rules = { ...this.tolerationRules, wallMs, latestMs: wallMs, behindMs: 0, freeze };
    const decision = decideEviction(ask, node.shown, { ...live, object }, rules);
    if (decision.kind !== "act") {
      if (freeze?.untilAt != null) this.clock.after(freeze.untilAt - wallMs, () => this.#requestEviction(ask));
      return false;
    }
    const toleration = decision.taint === null ? null : (this.#tolerations.get(ask.uid) ?? null);
    const resolved = policyOf(node.shown, this.policies);
    const settings = (resolved.kind === "policy" ? resolved.policy.evictions : null) ?? UPSTREAM_EVICTIONS;
    const latestAt = deleteAt(settings, { deadlineAt: wallMs, frozen });
    const atMs = this.clock.monotonicMs();
    const latestMs = latestAt === null ? null : atMs + (latestAt - wallMs);
    this.deletions.set(ask.uid, { atMs, toleration, method: settings.method, latestMs, waitedFor });
    this.#changePod(ask.node, ask.uid, (deleted) => ({ ...deleted, deletionAt: wallMs }));
    return true;
  }
}
