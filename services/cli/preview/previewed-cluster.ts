/**
 * A cluster on virtual time: the services of a run over a snapshot, in shadow mode, so that they go on as if what they
 * would write had been written. Nothing leaves this process.
 *
 *   a while before the snapshot   nodes, leases and pods appear at their last stamps; no policy is known, so that
 *                                 nothing is requested that harms
 *   the snapshot                  policies are known, the fault begins, the kubelets of the other nodes go on
 *   the end                       nothing has happened for longer than anything waits for
 */
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { PolicySet } from "../../../protocols/policy-set.ts";
import type { Policies, Service, Watched } from "../../../protocols/ports.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { epochMsOf } from "../../domain/api-time.ts";
import { hasClusterBreaker } from "../../domain/limited-policies.ts";
import { graceMsOf, readyConditionOf } from "../../domain/node-conditions.ts";
import { policyOf } from "../../domain/node-policy.ts";
import { isSameTaint } from "../../domain/toleration.ts";
import { nodeService } from "../../node/node.service.ts";
import { nodeWriterService } from "../../node-writer/node-writer.service.ts";
import { observerService } from "../../observer/observer.service.ts";
import { aloneFleet } from "../../platform/fleet/fleet.ts";
import { UNCONTESTED_LEASES } from "../../platform/kube/election/kube-leases.ts";
import { ShadowKube } from "../../platform/kube/shadow/shadow-kube.ts";
import { PolicyReceiver } from "../../platform/node-policies/policy-receiver.ts";
import { silentLog } from "../../platform/process/log.ts";
import { createMetrics } from "../../platform/process/metrics.ts";
import { podWriterService } from "../../pod-writer/pod-writer.service.ts";
import { policyService } from "../../policy/policy.service.ts";
import { DirectBus } from "../../sandbox/virtual/direct-bus.ts";
import { SnapshotKube } from "../../sandbox/virtual/snapshot-kube.ts";
import { VirtualClock } from "../../sandbox/virtual/virtual-clock.ts";
import { taintManagerService } from "../../taint-manager/taint-manager.service.ts";
import { soleZoneService } from "../../zone/zone.service.ts";
import { type AlikePods, alikePods } from "./alike-pods.ts";
import type { Fault } from "./fault.policy.ts";
import { PreviewRecord } from "./preview-record.ts";
import { policiesInForce, type Snapshot } from "./snapshot.ts";

/** A preview ends after so long; a cluster whose evictions take longer needs people. */
export const PREVIEW_MS_MAX = 30 * 24 * 3_600_000;
/** A countdown that ends later than this is not waited for: the taint-manager has published its end. */
const COUNTDOWN_MS_MAX = 3_600_000;
/** A node without a heartbeat for this share of its grace has stopped already: kubelets renew after a fifth. */
const STOPPED_SHARE = 0.5;
/** Kubelets that go on renew within this share of the shortest grace, some of them every so many milliseconds. */
const RENEWED_SHARE = 0.8;
const RENEWALS_MS = 10_000;
/** Renews while the time before the snapshot passes, so that this time is no outage. It is no node. */
const PACEMAKER = "preview";
/** How far time goes on before it is decided again whether anything is to come, in milliseconds. */
const STEP_MS = 30_000;
/** The time between pulses: where policies wait for them, where nothing does, and while nothing is near. */
const PULSE_MS = { limited: 5_000, plain: 20_000, quiet: 60_000 } as const;
/** Readers wait for so long for a pulse. */
const PULSE_TIMEOUT_MS = 200_000;
/** The fields of a policy whose durations lead to nothing, or are published while they pass. */
const UNAWAITED: readonly string[] = ["budgets", "evictions", "maintenance", "remediations", "outOfService"];

const MEMBER = "preview";

/** The cluster of a snapshot, as it goes on after a fault. Spans are in milliseconds after the snapshot. */
export class PreviewedCluster {
  readonly clock: VirtualClock;
  readonly record: PreviewRecord;
  /** The pods by node, grouped by their fate. */
  readonly pods: ReadonlyMap<string, readonly AlikePods[]>;
  readonly profile: Profile;
  readonly #received: Policies;
  readonly #kube: SnapshotKube;
  readonly #snapshot: Snapshot;
  readonly #policies: PolicySet;
  /** What the services read. The time between pulses follows what is to come. */
  readonly #paced: { -readonly [N in keyof Profile]: Profile[N] };
  readonly #pulseMs: number;

  constructor(snapshot: Snapshot, fault: Fault, profile: Profile) {
    const { takenAt, freezes } = snapshot;
    this.#snapshot = snapshot;
    this.profile = profile;
    this.#policies = policiesInForce(snapshot, profile);
    const isLimited = this.#policies.policies.length > 0 || freezes !== null || hasClusterBreaker(profile);
    this.#pulseMs = isLimited ? PULSE_MS.limited : PULSE_MS.plain;
    this.#paced = { ...profile, pulseTimeoutMs: PULSE_TIMEOUT_MS, watchBlindMs: PULSE_TIMEOUT_MS };
    this.#paced.pulsePeriodMs = this.#pulseMs;
    const leadMs = Math.max(...this.#graces()) + RENEWALS_MS;
    this.clock = new VirtualClock({ wallMs: takenAt - leadMs });
    this.#kube = new SnapshotKube(this.clock, freezes);
    const bus = new DirectBus(this.clock, MEMBER);
    this.record = new PreviewRecord(bus.of("record"), this.clock, takenAt);
    this.pods = this.#showSnapshot();
    this.#received = this.#start(bus);
    this.#renewFor(leadMs);
    this.#begin(fault);
  }

  /** The instant of the snapshot, in epoch milliseconds. */
  get takenAt(): number {
    return this.#snapshot.takenAt;
  }

  /** The policies in force, with their freezes. */
  get policies(): PolicySet {
    return this.#received.current() ?? this.#policies;
  }

  /** Lets everything happen that follows. */
  run(): void {
    for (let nowMs = 0; nowMs <= Math.min(this.#restsFromMs(nowMs), PREVIEW_MS_MAX); nowMs = this.record.nowMs) {
      this.clock.advance(STEP_MS);
    }
  }

  /** The graces that count somewhere, in milliseconds. */
  #graces(): number[] {
    const graces = [this.profile, ...this.#policies.policies];
    return graces.flatMap((of) => [of.nodeMonitorGraceMs, of.nodeStartupGraceMs]).filter((ms) => ms !== null);
  }

  /** Lets each object appear at its last stamp; a later one than the snapshot counts as that. */
  #showSnapshot(): Map<string, AlikePods[]> {
    const { takenAt, nodes, renewedAt, resources } = this.#snapshot;
    const bound = Map.groupBy(this.#snapshot.pods, ({ node }) => node);
    const pods = new Map<string, AlikePods[]>();
    for (const resource of resources) this.#kube.put("policies", resource);
    for (const node of nodes) {
      const alike = alikePods(node, bound.get(node.node) ?? [], { takenAt, policies: this.#policies });
      pods.set(node.node, alike);
      this.#showAt(changedAt(node), "nodes", node);
      for (const { first } of alike) this.#showAt(Math.max(first.pod.createdAt, first.pod.boundAt), "pods", first);
    }
    for (const [node, at] of renewedAt) {
      this.#kube.put("leases", { node, renewedAt: at === null ? null : Math.min(at, this.clock.wallMs()) });
      if (at !== null) this.#showAt(at, "leases", { node, renewedAt: at });
    }
    return pods;
  }

  #showAt<K extends keyof Watched>(at: number, what: K, object: Watched[K]): void {
    const delayMs = Math.min(at, this.#snapshot.takenAt) - this.clock.wallMs();
    if (delayMs <= 0) this.#kube.put(what, object);
    else this.clock.after(delayMs, () => this.#kube.put(what, object));
  }

  /** Starts the services of a run, apart from those that decide nothing. */
  #start(bus: DirectBus): Policies {
    const { clock } = this;
    const shared = { clock, random: () => 0, log: silentLog, metrics: createMetrics(), profile: this.#paced };
    const policies = new PolicyReceiver({ ...shared, bus: bus.of("policies") });
    const kube = new ShadowKube({ ...shared, kube: this.#kube, bus: bus.of("shadow") });
    const ports = { ...shared, kube, policies, fleet: aloneFleet(MEMBER), leases: UNCONTESTED_LEASES };
    const services: Readonly<Record<string, Service>> = {
      observer: observerService,
      node: nodeService,
      zone: soleZoneService,
      "taint-manager": taintManagerService,
      "node-writer": nodeWriterService,
      "pod-writer": podWriterService,
      policy: policyService(this.#snapshot.configured),
    };
    for (const [name, service] of Object.entries(services)) service({ ...ports, bus: bus.of(name) });
    return policies;
  }

  #renewFor(leadMs: number): void {
    for (let leftMs = leadMs; leftMs > 0; leftMs -= RENEWALS_MS) {
      this.#renew(PACEMAKER);
      this.clock.advance(Math.min(leftMs, RENEWALS_MS));
    }
  }

  #renew(node: string): void {
    this.#kube.put("leases", { node, renewedAt: this.clock.wallMs() });
  }

  /** The instant of the snapshot. */
  #begin(fault: Fault): void {
    const alive = this.#snapshot.nodes.filter((node) => this.#goesOn(node, fault)).map(({ node }) => node);
    for (const node of alive) this.#renew(node);
    const everyMs = Math.min(RENEWALS_MS, Math.min(...this.#graces()) * RENEWED_SHARE);
    const share = Math.ceil((alive.length * everyMs) / (Math.min(...this.#graces()) * RENEWED_SHARE));
    const renewFrom = (from: number): void => {
      for (let place = from; place < from + share; place++) this.#renew(alive[place % alive.length] ?? "");
      this.clock.after(everyMs, () => renewFrom((from + share) % alive.length));
    };
    if (alive.length > 0) renewFrom(0);
    const tainted = fault.kind === "taint" ? this.#kube.get("nodes", fault.node) : undefined;
    if (fault.kind === "taint" && tainted !== undefined) {
      const taints = [...tainted.taints.filter((taint) => !isSameTaint(taint, fault.taint)), fault.taint];
      this.#kube.put("nodes", { ...tainted, taints, resourceVersion: `${tainted.resourceVersion}.tainted` });
    }
    this.#kube.listPolicies();
  }

  /** Whether the kubelet of a node sends heartbeats during the preview. A short grace makes no kubelet quicker. */
  #goesOn(node: ObservedNode, fault: Fault): boolean {
    if (fault.kind === "down" && fault.nodes.has(node.node)) return false;
    const { takenAt, renewedAt } = this.#snapshot;
    const known = [renewedAt.get(node.node), readyConditionOf(node)?.heartbeatAt].filter((at) => at != null);
    const resolved = policyOf(node, this.#policies);
    const graceMs = graceMsOf(node, this.profile, resolved.kind === "policy" ? resolved.policy : null);
    const stoppedMs = Math.max(graceMs, this.profile.nodeMonitorGraceMs) * STOPPED_SHARE;
    return known.length === 0 || takenAt - Math.max(...known) <= stoppedMs;
  }

  /** When nothing is to come any more, as far as is known now. Sets the time between pulses by it. */
  #restsFromMs(nowMs: number): number {
    const { takenAt } = this.#snapshot;
    let untilMs = this.record.changedMs;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const at of this.#waitsUntilAt()) {
      if (at == null || !Number.isFinite(at)) continue;
      untilMs = Math.max(untilMs, at - takenAt);
      if (at - takenAt >= nowMs) nextMs = Math.min(nextMs, at - takenAt);
    }
    const isNear = Math.min(nowMs - this.record.changedMs, nextMs - nowMs) < PULSE_TIMEOUT_MS;
    this.#paced.pulsePeriodMs = isNear ? this.#pulseMs : PULSE_MS.quiet;
    return untilMs + this.#quietMs();
  }

  *#waitsUntilAt(): Generator<number | null | undefined> {
    yield* this.record.waitsUntilAt(COUNTDOWN_MS_MAX);
    for (const { frozen } of [this.policies.everywhere, ...this.policies.policies]) for (const { toAt } of frozen) yield toAt;
  }

  /** How long nothing may happen before it is over, in milliseconds: longer than anything takes of which nothing is published. */
  #quietMs(): number {
    const { profile } = this;
    const { nodeMonitorGraceMs, nodeStartupGraceMs, askRetryMaxMs } = profile;
    const { circuitBreakerDurationMs, circuitBreakerResetAfterMs, podEvictionTimeoutMs } = profile;
    const settings = [
      { nodeMonitorGraceMs, nodeStartupGraceMs, askRetryMaxMs },
      profile.evictionMode === "direct" ? { podEvictionTimeoutMs } : {},
      hasClusterBreaker(profile) ? { circuitBreakerDurationMs, circuitBreakerResetAfterMs } : {},
      ...this.policies.policies,
    ];
    const zones = [...this.record.zones.values()].filter(({ last }) => last.queueLength > 0 && last.taintsPerSecond > 0);
    const grantsMs = zones.map(({ last }) => 1000 / last.taintsPerSecond);
    return Math.max(...settings.map(longestMs)) + Math.max(0, ...grantsMs) + STEP_MS;
  }
}

/** When a node was changed last, by its stamps, in epoch milliseconds. */
function changedAt({ createdAt, conditions, taints }: ObservedNode): number {
  const stamps = conditions.flatMap(({ heartbeatAt, transitionAt }) => [heartbeatAt ?? 0, transitionAt ?? 0]);
  return Math.max(createdAt, ...stamps, ...taints.map(({ timeAdded }) => epochMsOf(timeAdded) ?? 0));
}

/** The longest duration among settings, by the names of their fields. */
function longestMs(settings: object): number {
  const lengths = Object.entries(settings).map(([field, value]: [string, unknown]) => {
    if (UNAWAITED.includes(field)) return 0;
    if (typeof value === "number") return field.endsWith("Ms") ? value : 0;
    return typeof value === "object" && value !== null ? longestMs(value) : 0;
  });
  return Math.max(0, ...lengths);
}
