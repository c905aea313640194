/**
 * A cluster on virtual time: the services of a run over a snapshot, in shadow mode, so that they go on as if what they
 * would write had been written. Until the instant of the snapshot no policy is known, so they request nothing that
 * harms. It ends when nothing has happened for longer than anything waits for. Nothing leaves this process.
 */
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { PolicySet } from "../../../protocols/policy-set.ts";
import type { Kube, Policies } from "../../../protocols/ports.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { ratedPoliciesOf } from "../../domain/eviction-rates.ts";
import { graceMsOf, readyConditionOf } from "../../domain/node-conditions.ts";
import { appliedPolicyOf } from "../../domain/node-policy.ts";
import { aloneFleet } from "../../platform/fleet/fleet.ts";
import { uncontestedLeases } from "../../platform/kube/election/kube-leases.ts";
import { PolicyReceiver } from "../../platform/node-policies/policy-receiver.ts";
import { silentLog } from "../../platform/process/log.ts";
import { uncounted } from "../../platform/process/metrics.ts";
import { handoverText } from "../../pod-writer/rates/handover.ts";
import { policyService } from "../../policy/policy.service.ts";
import { BudgetedKube } from "../../sandbox/virtual/budgeted-kube.ts";
import { DirectBus } from "../../sandbox/virtual/direct-bus.ts";
import { SnapshotWorld } from "../../sandbox/virtual/snapshot-world.ts";
import { soleZoneService } from "../../zone/zone.service.ts";
import { ACTING_SERVICES } from "../process/controller.ts";
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
/** What a process hands over with a Lease that evicted no pod: nothing shows who was evicted before. */
const NONE_EVICTED = { countedMs: 0, counted: [], waiting: [] };

/** The cluster of a snapshot, as it goes on after a fault. Spans are in milliseconds after the snapshot. */
export class PreviewedCluster {
  readonly record: PreviewRecord;
  readonly snapshot: Snapshot;
  readonly profile: Profile;
  /** The nodes to which the fault happens, and not before it. */
  readonly touched: ReadonlySet<string>;
  /** What refused the eviction of a pod last, for people, by uid. */
  readonly refusals: ReadonlyMap<string, string>;
  readonly #world: SnapshotWorld;
  readonly #received: Policies;
  /** What the services read. The time between pulses follows what is to come. */
  readonly #paced: Profile & { pulsePeriodMs: number };

  constructor(snapshot: Snapshot, { nodes: faulty, taint }: Fault, profile: Profile) {
    this.snapshot = snapshot;
    this.profile = profile;
    this.#paced = { ...profile, pulseTimeoutMs: NEAR_MS, watchBlindMs: NEAR_MS };
    const graces = this.#graces();
    // A drain that is not due yet counts from the last heartbeat, which has to be seen to arrive.
    const drainMs = profile.evictionMode === "direct" ? profile.podEvictionTimeoutMs : 0;
    const leadMs = Math.max(...graces, drainMs) + profile.pulsePeriodMs;
    this.#world = new SnapshotWorld(snapshot, leadMs);
    const { clock, kube: api } = this.#world;
    const bus = new DirectBus(clock, MEMBER);
    this.record = new PreviewRecord(bus.of("record"), clock, snapshot.takenAt);
    // Where disruption budgets could not be read, none refuses.
    const kube = new BudgetedKube({ clock, log: silentLog, kube: api, bus: bus.of("shadow") }, snapshot.budgets ?? []);
    this.refusals = kube.refusals;
    this.#received = this.#start(bus, kube);
    const alive = snapshot.nodes.filter((node) => this.#isAlive(node));
    const goesOn = ({ node }: ObservedNode): boolean => taint !== null || !faulty.has(node);
    const wasReady = alive.filter((node) => faulty.has(node.node) && readyConditionOf(node)?.status === "True");
    this.touched = taint === null ? new Set(wasReady.map(({ node }) => node)) : faulty;
    const living = alive.filter(goesOn).map(({ node }) => node);
    this.#world.begin(living, Math.min(...graces) * RENEWED_SHARE);
    if (taint !== null) for (const node of faulty) this.#world.setTaint(node, taint);
  }

  /** The policies in force, with their freezes. */
  get policies(): PolicySet {
    return this.#received.current() ?? this.snapshot.policies;
  }

  /** Lets everything happen that follows. */
  run(): void {
    for (let nowMs = 0; nowMs <= Math.min(this.#restsFromMs(nowMs), PREVIEW_MS_MAX); nowMs = this.record.nowMs) {
      this.#world.clock.advance(STEP_MS);
    }
  }

  /** The graces that count somewhere, in milliseconds. */
  #graces(): number[] {
    const settings = [this.profile, ...this.snapshot.policies.policies];
    return settings.flatMap((of) => [of.nodeMonitorGraceMs, of.nodeStartupGraceMs]).filter((ms) => ms !== null);
  }

  /** Starts the services of a run that decide or write. Returns the policies as they know them. */
  #start(bus: DirectBus, kube: Kube): Policies {
    const { clock } = this.#world;
    const rates = [...ratedPoliciesOf(this.snapshot.policies)].map((policy) => ({ policy, ...NONE_EVICTED }));
    const handover = handoverText(rates, this.profile.bounds, QUIET_MS);
    const leases = uncontestedLeases({ kind: "released", handover });
    const shared = { clock, random: () => 0, log: silentLog, metrics: uncounted };
    const policies = new PolicyReceiver({ ...shared, bus: bus.of("policies") });
    const ports = { ...shared, profile: this.#paced, kube, policies, fleet: aloneFleet(MEMBER), leases };
    const services = new Map(ACTING_SERVICES)
      .set("zone", soleZoneService(this.profile))
      .set("policy", policyService(this.snapshot.configured));
    for (const [name, service] of services) service({ ...ports, bus: bus.of(name) });
    return policies;
  }

  /** Whether the kubelet of a node sent heartbeats until the snapshot. A short grace makes no kubelet quicker. */
  #isAlive(node: ObservedNode): boolean {
    const { takenAt, renewedAt, policies } = this.snapshot;
    const known = [renewedAt.get(node.node), readyConditionOf(node)?.heartbeatAt].filter((at) => at != null);
    const graceMs = graceMsOf(node, this.profile, appliedPolicyOf(node, policies));
    const stoppedMs = Math.max(graceMs, this.profile.nodeMonitorGraceMs) * STOPPED_SHARE;
    return known.length === 0 || takenAt - Math.max(...known) <= stoppedMs;
  }

  /** When nothing is to come any more, as far as is known now. Sets the time between pulses by it. */
  #restsFromMs(nowMs: number): number {
    const { everywhere, policies } = this.policies;
    const thawsAt = [everywhere, ...policies].flatMap(({ frozen }) => frozen.map(({ toAt }) => toAt));
    const waitsMs = this.#afterSnapshot([...this.record.waitsUntilAt(), ...thawsAt]);
    const countdownsMs = this.#afterSnapshot(this.record.deadlinesAt()).filter((ms) => ms <= nowMs + QUIET_MS);
    const nearMs = [...waitsMs, ...this.#afterSnapshot(this.#limitsChangeAt())];
    const isNear = nowMs < NEAR_MS || nearMs.some((ms) => ms >= nowMs && ms < nowMs + NEAR_MS);
    this.#paced.pulsePeriodMs = isNear ? this.profile.pulsePeriodMs : FAR_PULSE_MS;
    const latestMs = [...waitsMs, ...countdownsMs].reduce((latest, ms) => Math.max(latest, ms), this.record.changedMs);
    const slowestMs = 2 * Math.max(...this.#graces(), this.record.slowestGrantMs);
    // So long after its deadline a pod that a disruption budget refuses may be deleted all the same.
    const refusing = this.refusals.size === 0 ? [] : policies;
    const deletesMs = refusing.map(({ evictions }) => evictions?.deleteAfterMs ?? 0);
    return latestMs + Math.max(QUIET_MS, slowestMs, ...deletesMs);
  }

  #afterSnapshot(instants: Iterable<number | null | undefined>): number[] {
    return [...instants].flatMap((at) => (at != null && Number.isFinite(at) ? [at - this.snapshot.takenAt] : []));
  }

  /** When breakers reset and pauses after storms end. What such an end leads to may hold nodes back for longer. */
  *#limitsChangeAt(): Generator<number | null> {
    for (const { judged } of this.record.limits.values()) {
      const { resetAt, stormEndedAt } = judged.memory;
      const policy = this.policies.policies.find(({ name }) => name === judged.policy);
      yield resetAt;
      yield stormEndedAt === null ? null : stormEndedAt + (policy?.stormCooldownMs ?? 0);
    }
  }
}
