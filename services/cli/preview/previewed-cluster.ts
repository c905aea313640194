/**
 * A cluster on virtual time: the services of a run over a snapshot, in shadow mode, so that they go on as if what they
 * would write had been written. Until the instant of the snapshot no policy is known, so they request nothing that
 * harms. It ends when nothing has happened for longer than anything waits for. Nothing leaves this process.
 */
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { PolicySet } from "../../../protocols/policy-set.ts";
import type { Leases, Policies, Service } from "../../../protocols/ports.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { ratedPoliciesOf } from "../../domain/eviction-rates.ts";
import { graceMsOf, readyConditionOf } from "../../domain/node-conditions.ts";
import { policyOf } from "../../domain/node-policy.ts";
import { isSameTaint } from "../../domain/toleration.ts";
import { nodeService } from "../../node/node.service.ts";
import { nodeWriterService } from "../../node-writer/node-writer.service.ts";
import { observerService } from "../../observer/observer.service.ts";
import { aloneFleet } from "../../platform/fleet/fleet.ts";
import { PolicyReceiver } from "../../platform/node-policies/policy-receiver.ts";
import { silentLog } from "../../platform/process/log.ts";
import { uncounted } from "../../platform/process/metrics.ts";
import { podWriterService } from "../../pod-writer/pod-writer.service.ts";
import { handoverText } from "../../pod-writer/rates/handover.ts";
import { policyService } from "../../policy/policy.service.ts";
import { BudgetedKube, type DisruptionBudget } from "../../sandbox/virtual/budgeted-kube.ts";
import { DirectBus } from "../../sandbox/virtual/direct-bus.ts";
import { SnapshotWorld } from "../../sandbox/virtual/snapshot-world.ts";
import { taintManagerService } from "../../taint-manager/taint-manager.service.ts";
import { soleZoneService } from "../../zone/zone.service.ts";
import { type AlikePods, alikePods } from "./alike-pods.ts";
import type { Fault } from "./fault.policy.ts";
import { PreviewRecord } from "./preview-record.ts";
import type { Snapshot } from "./snapshot.ts";

/** A preview ends after so long; a cluster whose evictions take longer needs people. */
export const PREVIEW_MS_MAX = 30 * 24 * 3_600_000;
/** How long nothing may happen before it is over. A countdown that is longer is published, and not waited for. */
const QUIET_MS = 3_600_000;
/** A node without a heartbeat for this share of its grace has stopped already: kubelets renew after a fifth. */
const STOPPED_SHARE = 0.5;
/** Kubelets that go on renew their leases together, once in this share of the shortest grace. */
const RENEWED_SHARE = 0.9;
/** How far time goes on before it is decided again whether anything is to come, in milliseconds. */
const STEP_MS = 60_000;
/** The time between pulses while no freeze or limit is about to end; at first, and near such an end, it is a run's. */
const FAR_PULSE_MS = 60_000;
/** How long readers wait for a pulse, and how long it is near before something that is known to come. */
const NEAR_MS = 200_000;

const MEMBER = "preview";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The cluster of a snapshot, as it goes on after a fault. Spans are in milliseconds after the snapshot. */
export class PreviewedCluster {
  readonly record: PreviewRecord;
  readonly profile: Profile;
  readonly takenAt: number;
  /** The pods by node, grouped by their fate. */
  readonly pods: ReadonlyMap<string, readonly AlikePods[]>;
  /** Where disruption budgets could not be read, none refuses. */
  readonly budgets: readonly DisruptionBudget[];
  /** What refused the eviction of a pod last, for people, by uid. */
  readonly refusals: ReadonlyMap<string, string>;
  readonly areBudgetsKnown: boolean;
  readonly #world: SnapshotWorld;
  readonly #policies: PolicySet;
  readonly #received: Policies;
  /** What the services read. The time between pulses follows what is to come. */
  readonly #paced: Mutable<Profile>;
  /** The same for the node service, whose graces grow once no further node falls silent. */
  readonly #graced: Mutable<Profile>;
  /** The nodes whose kubelets have stopped. */
  readonly #stopped: readonly string[];
  /** The nodes to which the fault happens, and not before it. */
  readonly #touched: ReadonlySet<string>;

  constructor(snapshot: Snapshot, fault: Fault, profile: Profile) {
    const { takenAt, nodes } = snapshot;
    this.takenAt = takenAt;
    this.profile = profile;
    this.#policies = snapshot.policies;
    this.#paced = { ...profile, pulseTimeoutMs: NEAR_MS, watchBlindMs: NEAR_MS };
    this.#graced = { ...this.#paced };
    const bound = Map.groupBy(snapshot.pods, ({ node }) => node);
    this.areBudgetsKnown = snapshot.budgets !== null;
    this.budgets = snapshot.budgets ?? [];
    const isProtected = (uid: string): boolean => this.budgets.some(({ pods }) => pods.has(uid));
    const grouped = { takenAt, policies: this.#policies, isProtected };
    this.pods = new Map(nodes.map((node) => [node.node, alikePods(node, bound.get(node.node) ?? [], grouped)]));
    const pods = [...this.pods.values()].flatMap((alike) => alike.map(({ first }) => first));
    const graces = this.#graces();
    this.#world = new SnapshotWorld({ ...snapshot, pods }, Math.max(...graces) + profile.pulsePeriodMs);
    const bus = new DirectBus(this.#world.clock, MEMBER);
    this.record = new PreviewRecord(bus.of("record"), this.#world.clock, takenAt);
    const shadow = { clock: this.#world.clock, kube: this.#world.kube, log: silentLog, bus: bus.of("shadow") };
    const kube = new BudgetedKube(shadow, this.budgets);
    this.refusals = kube.refusals;
    this.#received = this.#start(bus, kube, policyService(snapshot.configured));
    const alive = nodes.filter((node) => this.#goesOn(node, snapshot, fault)).map(({ node }) => node);
    const living = new Set(alive);
    this.#stopped = nodes.map(({ node }) => node).filter((name) => !living.has(name));
    this.#world.begin(alive, Math.min(...graces) * RENEWED_SHARE);
    const isTouched = (node: ObservedNode): boolean =>
      fault.kind === "taint"
        ? fault.node === node.node
        : fault.nodes.has(node.node) && readyConditionOf(node)?.status === "True" && this.#isAlive(node, snapshot);
    this.#touched = new Set(nodes.filter(isTouched).map(({ node }) => node));
    if (fault.kind === "taint") this.#taint(fault);
  }

  /** The policies in force, with their freezes. */
  get policies(): PolicySet {
    return this.#received.current() ?? this.#policies;
  }

  /** The present instant, in epoch milliseconds. */
  wallMs(): number {
    return this.#world.clock.wallMs();
  }

  /** Whether the fault happens to a node, which was not down before. */
  isTouched(node: string): boolean {
    return this.#touched.has(node);
  }

  /** Lets everything happen that follows. */
  run(): void {
    for (let nowMs = 0; nowMs <= Math.min(this.#restsFromMs(nowMs), PREVIEW_MS_MAX); nowMs = this.record.nowMs) {
      this.#world.clock.advance(STEP_MS);
      if (this.#isSilenceOver()) this.#endHeartbeats();
    }
  }

  /** Whether no further node falls silent, and no countdown rests on a grace that can grow. */
  #isSilenceOver(): boolean {
    const { outages, policies } = this.policies;
    const hasGraces = policies.some((of) => (of.nodeMonitorGraceMs ?? of.nodeStartupGraceMs) !== null);
    const hasEnded = this.#graced.nodeMonitorGraceMs > PREVIEW_MS_MAX;
    if (hasEnded || hasGraces || this.profile.evictionMode !== "taint") return false;
    return outages?.length === 0 && this.#stopped.every((name) => this.record.isUnknown(name));
  }

  /** Spares thousands of healthy nodes their heartbeats, which take half of the time of a preview. */
  #endHeartbeats(): void {
    this.#graced.nodeMonitorGraceMs = this.#graced.nodeStartupGraceMs = 2 * PREVIEW_MS_MAX;
    this.#world.endRenewals();
  }

  /** The graces that count somewhere, in milliseconds. */
  #graces(): number[] {
    const settings = [this.profile, ...this.#policies.policies];
    return settings.flatMap((of) => [of.nodeMonitorGraceMs, of.nodeStartupGraceMs]).filter((ms) => ms !== null);
  }

  /** Starts the services of a run that decide or write. Returns the policies as they know them. */
  #start(bus: DirectBus, kube: BudgetedKube, policy: Service): Policies {
    const { clock } = this.#world;
    const shared = { clock, random: () => 0, log: silentLog, metrics: uncounted, profile: this.#paced };
    const policies = new PolicyReceiver({ ...shared, bus: bus.of("policies") });
    const ports = { ...shared, kube, policies, fleet: aloneFleet(MEMBER), leases: this.#leases() };
    const services: Readonly<Record<string, Service>> = {
      observer: observerService,
      node: (io) => nodeService({ ...io, profile: this.#graced }),
      zone: soleZoneService(this.profile),
      "taint-manager": taintManagerService,
      "node-writer": nodeWriterService,
      "pod-writer": podWriterService,
      policy,
    };
    for (const [name, service] of Object.entries(services)) service({ ...ports, bus: bus.of(name) });
    return policies;
  }

  /** Leases that a process has released which evicted no pod: nothing shows who was evicted before. */
  #leases(): Leases {
    const none = { countedMs: 0, counted: [], waiting: [] };
    const rates = [...ratedPoliciesOf(this.#policies)].map((policy) => ({ policy, ...none }));
    const handover = handoverText(rates, this.profile.bounds, QUIET_MS);
    return {
      compete: (_lease, taken) => {
        taken({ kind: "released", handover });
        return { isHeld: () => true, holder: () => null, release: () => {} };
      },
    };
  }

  /** Whether the kubelet of a node sends heartbeats during the preview. A short grace makes no kubelet quicker. */
  #goesOn(node: ObservedNode, snapshot: Snapshot, fault: Fault): boolean {
    return !(fault.kind === "down" && fault.nodes.has(node.node)) && this.#isAlive(node, snapshot);
  }

  /** Whether the kubelet of a node sent heartbeats until the snapshot. */
  #isAlive(node: ObservedNode, { takenAt, renewedAt }: Snapshot): boolean {
    const known = [renewedAt.get(node.node), readyConditionOf(node)?.heartbeatAt].filter((at) => at != null);
    const resolved = policyOf(node, this.#policies);
    const graceMs = graceMsOf(node, this.profile, resolved.kind === "policy" ? resolved.policy : null);
    const stoppedMs = Math.max(graceMs, this.profile.nodeMonitorGraceMs) * STOPPED_SHARE;
    return known.length === 0 || takenAt - Math.max(...known) <= stoppedMs;
  }

  /** Sets a taint as a person would. */
  #taint({ node: name, taint }: Extract<Fault, { kind: "taint" }>): void {
    const node = this.#world.kube.get("nodes", name);
    if (node === undefined) return;
    const taints = [...node.taints.filter((each) => !isSameTaint(each, taint)), taint];
    this.#world.kube.put("nodes", { ...node, taints, resourceVersion: `${node.resourceVersion}.tainted` });
  }

  /** When nothing is to come any more, as far as is known now. Sets the time between pulses by it. */
  #restsFromMs(nowMs: number): number {
    const waitsMs = this.#afterSnapshot(this.#waitsUntilAt());
    const countdownsMs = this.#afterSnapshot(this.record.deadlinesAt()).filter((ms) => ms <= nowMs + QUIET_MS);
    const nearMs = [...waitsMs, ...this.#afterSnapshot(this.#limitsChangeAt())];
    const isNear = nowMs < NEAR_MS || nearMs.some((ms) => ms >= nowMs && ms < nowMs + NEAR_MS);
    this.#paced.pulsePeriodMs = isNear ? this.profile.pulsePeriodMs : FAR_PULSE_MS;
    const latestMs = [...waitsMs, ...countdownsMs].reduce((latest, ms) => Math.max(latest, ms), this.record.changedMs);
    const slowestMs = 2 * Math.max(...this.#graces(), this.record.slowestGrantMs);
    return latestMs + Math.max(QUIET_MS, slowestMs, this.#refusedForMs());
  }

  /** How long after its deadline a pod that a disruption budget refuses may be deleted all the same; 0 for none. */
  #refusedForMs(): number {
    if (this.refusals.size === 0) return 0;
    return Math.max(0, ...this.policies.policies.map(({ evictions }) => evictions?.deleteAfterMs ?? 0));
  }

  #afterSnapshot(instants: Iterable<number | null | undefined>): number[] {
    return [...instants].filter((at) => at != null && Number.isFinite(at)).map((at) => (at ?? 0) - this.takenAt);
  }

  /** When breakers reset and pauses after storms end. What such an end leads to may hold nodes back for longer. */
  *#limitsChangeAt(): Generator<number | null> {
    for (const [policy, { memory }] of this.record.limits) {
      const cooldown = this.policies.policies.find(({ name }) => name === policy)?.stormCooldownMs ?? 0;
      yield memory.resetAt;
      yield memory.stormEndedAt === null ? null : memory.stormEndedAt + cooldown;
    }
  }

  *#waitsUntilAt(): Generator<number | null | undefined> {
    yield* this.record.waitsUntilAt();
    const { everywhere, policies } = this.policies;
    for (const { frozen } of [everywhere, ...policies]) for (const { toAt } of frozen) yield toAt;
  }
}
