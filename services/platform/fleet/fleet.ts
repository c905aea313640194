/**
 * Divides the shards of every service among the processes of a fleet. Each process publishes a pulse on the bus,
 * computes the same owners from the pulses it receives, and notifies its services of the shards they gain and lose.
 */
import type { Fleet, Io, Metrics, ServiceName, ShardFollower, Stop, Timer } from "../../../protocols/ports.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { SHARD_COUNT } from "../../../protocols/subjects.ts";
import type { ApiReachability } from "../kube/transport/reachability.ts";
import { pauseUntilPulseMs } from "../process/pulse.policy.ts";
import type { ForeignMembers } from "./foreign-members.ts";
import type { LiveMembers, PulseProfile } from "./live-members.ts";
import { Offers } from "./offers.ts";
import { ownersOf } from "./ownership.policy.ts";
import { PulseReceiver } from "./pulse-receiver.ts";

/** How long a member listens before it claims shards, in pulse periods: enough for every living member to pulse. */
const LISTENING_PULSES = 1.25;

/** How long a leaving member owns its shards beside its successors, in milliseconds, until these have subscribed. */
const LINGER_MS = 250;

/** The fleet of a process that runs alone: it owns every shard of every service. */
export function aloneFleet(member: string): Fleet {
  return {
    member,
    owns: () => true,
    follow(_service, follower) {
      for (let shard = 0; shard < SHARD_COUNT; shard++) follower.gained(shard);
      return () => {};
    },
  };
}

/** The context of a fleet member. The bus must serve it alone: a member receives its own pulses too. */
export interface BusFleetOptions extends Pick<Io, "bus" | "clock" | "log" | "metrics"> {
  readonly member: string;
  readonly services: readonly ServiceName[];
  readonly profile: PulseProfile & Pick<Profile, "watchBlindMs">;
  /** Recognizes members of another Kubernetes cluster; absent when our cluster's uid is not known. */
  readonly foreignMembers?: ForeignMembers | null;
  /** Whether this process reaches the API server; absent when that is not measured. */
  readonly reachability?: ApiReachability | null;
  /**
   * Called before the first pulse when the member listens for foreign members: with null when it may join, otherwise
   * with the problem in one line; then it never pulses.
   */
  readonly listened?: (problem: string | null) => void;
}

/**
 * A member of the fleet on a bus. The rules:
 * - A member that does not receive its own pulses, or that was suspended while others run its services, gives up its
 *   shards. It offers nothing until it has received its own pulse and listened: no shard is taken from an owner.
 * - A member that knows its Kubernetes cluster listens before its first pulse. It does not join when it receives pulses
 *   of another cluster and none of its own; foreign members that come later are ignored.
 * - A member that does not reach the API server leaves the services that need it to members that do (offers.ts).
 */
export class BusFleet implements Fleet {
  readonly member: string;
  readonly #options: BusFleetOptions;
  readonly #since: number;
  readonly #receiver: PulseReceiver;
  readonly #members: LiveMembers;
  readonly #offers: Offers;
  readonly #owned: ReadonlyMap<ServiceName, Set<number>>;
  readonly #followers = new Map<ServiceName, Set<ShardFollower>>();
  readonly #metrics: ReturnType<typeof fleetMetrics>;
  readonly #stopReceiving: Stop;
  #listening: Timer | null = null;
  /** Whether this member owns shards: it receives its own pulses and has listened for long enough. */
  #claiming = false;
  #pulseTimer: Timer;
  #lagMs = 0;
  /** Whether it has published nothing yet, because it first listens for foreign members. */
  #isSilent = false;
  /** The assignment due when the current turn of the event loop ends; `answer` requests a pulse before it. */
  #scheduled: { readonly answer: boolean } | null = null;
  #hasLeft = false;

  constructor(options: BusFleetOptions) {
    const { bus, clock, member, services, profile, metrics, log, reachability = null, foreignMembers = null } = options;
    this.member = member;
    this.#options = options;
    this.#since = clock.wallMs();
    this.#metrics = fleetMetrics(metrics);
    this.#owned = new Map(services.map((service) => [service, new Set<number>()]));
    this.#receiver = new PulseReceiver({
      clock,
      log,
      metrics,
      profile,
      member,
      foreignMembers,
      since: this.#since,
      returned: () => this.#listen(),
      lost: () => this.#cutOff("our own pulse does not come back"),
      changed: (isNew) => this.#scheduleAssign(isNew),
    });
    this.#members = this.#receiver.members;
    const due = () => this.#assign(false);
    this.#offers = new Offers({ clock, log, member, services, members: this.#members, reachability, due });
    this.#stopReceiving = bus.subscribe("pulse.member", "all", (message) => this.#receiver.receive(message));
    this.#pulseTimer = this.#begin();
  }

  owns(service: ServiceName, shard: number): boolean {
    return this.#owned.get(service)?.has(shard) === true;
  }

  follow(service: ServiceName, follower: ShardFollower): Stop {
    for (const shard of this.#owned.get(service) ?? []) follower.gained(shard);
    const followers = this.#followers.get(service) ?? new Set();
    this.#followers.set(service, followers.add(follower));
    return () => followers.delete(follower);
  }

  /** Publishes that this member leaves. 250 ms later it gives up every shard and calls `left`. */
  goodbye(left: () => void = () => {}): void {
    this.#hasLeft = true;
    this.#pulseTimer.cancel();
    // A claim after the goodbye would make the others assign shards to this process until it times out.
    this.#listening?.cancel();
    this.#stopReceiving();
    this.#offers.stop();
    this.#members.clear();
    if (!this.#isSilent) this.#pulse(true);
    this.#options.clock.after(LINGER_MS, () => {
      this.#giveUp();
      left();
    });
  }

  /** Arms the first pulse: at once when foreign members cannot be recognized. */
  #begin(): Timer {
    const { clock, profile, foreignMembers, listened } = this.#options;
    if (!foreignMembers) return this.#beat(clock.monotonicMs());
    this.#isSilent = true;
    return clock.after(profile.memberPulseMs * LISTENING_PULSES, () => {
      const problem = this.#receiver.refusal();
      listened?.(problem);
      if (problem !== null) {
        this.#stopReceiving();
        return;
      }
      this.#isSilent = false;
      this.#pulseTimer = this.#beat(clock.monotonicMs());
    });
  }

  /** Publishes a pulse and arms the next; `dueMs` is when this one was due. */
  #beat(dueMs: number): Timer {
    const { bus, clock, profile } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#lagMs = nowMs - dueMs;
    this.#metrics.lag.set(this.#lagMs / 1000);
    if (!bus.connected()) this.#cutOff("the bus is down");
    if (this.#lagMs > profile.watchBlindMs && this.#hasOtherOwners()) this.#cutOff("this process was suspended");
    this.#pulse(false);
    const pauseMs = pauseUntilPulseMs(clock.wallMs(), profile.memberPulseMs);
    return clock.after(pauseMs, () => {
      this.#pulseTimer = this.#beat(nowMs + pauseMs);
    });
  }

  #pulse(leaving: boolean): void {
    const { bus, member, foreignMembers } = this.#options;
    const offered = this.#claiming ? this.#offers.pulseFields() : { services: [] };
    const lagMs = Math.round(this.#lagMs);
    const cluster = foreignMembers ? { clusterUid: foreignMembers.clusterUid } : {};
    const body = { member, ...offered, since: this.#since, leaving, lagMs, ...cluster };
    const id = bus.publish("pulse.member", body, null);
    if (id !== null) this.#receiver.sent(id);
  }

  /** Claims shards after a while of listening. */
  #listen(): void {
    const { clock, profile } = this.#options;
    if (this.#claiming || this.#listening !== null) return;
    this.#listening = clock.after(profile.memberPulseMs * LISTENING_PULSES, () => this.#claim());
  }

  /** Assigns once for all pulses of a turn of the event loop. `answer` publishes our pulse for new members first. */
  #scheduleAssign(answer = false): void {
    const isPlanned = this.#scheduled !== null;
    this.#scheduled = { answer: answer || this.#scheduled?.answer === true };
    if (!isPlanned) this.#options.clock.soon(() => this.#runScheduled());
  }

  #runScheduled(): void {
    const answers = this.#scheduled?.answer === true;
    this.#scheduled = null;
    if (this.#hasLeft) return;
    if (answers && !this.#isSilent) this.#pulse(false);
    this.#assign();
  }

  #claim(): void {
    this.#listening = null;
    if (this.#receiver.isFullOfOthers) {
      this.#listen();
      return;
    }
    this.#claiming = true;
    this.#pulse(false);
    this.#assign();
  }

  #cutOff(why: string): void {
    if (this.#claiming) this.#options.log.warn("cut off from the fleet, gives up its shards", { why });
    this.#giveUp();
  }

  #giveUp(): void {
    this.#listening?.cancel();
    this.#listening = null;
    this.#claiming = false;
    this.#members.forget(this.member);
    this.#assign();
  }

  /**
   * Recomputes the owners and notifies the followers of changes. When no other member changed, it does so only if our
   * own offers did; the other members are informed at once.
   */
  #assign(haveOthersChanged = true): void {
    const haveOffersChanged = this.#offers.review();
    if (!haveOthersChanged && !haveOffersChanged) return;
    if (haveOffersChanged && this.#claiming) this.#pulse(false);
    this.#metrics.assignments.add(1);
    this.#metrics.members.set(this.#members.size);
    for (const [service, owned] of this.#owned) {
      const owners = this.#claiming ? ownersOf(service, this.#running(service)) : [];
      const lost = [...owned].filter((shard) => owners[shard] !== this.member);
      const gained = [...owners.keys()].filter((shard) => owners[shard] === this.member && !owned.has(shard));
      for (const shard of lost) owned.delete(shard);
      for (const shard of gained) owned.add(shard);
      this.#metrics.shards.set(owned.size, service);
      this.#notify(service, lost, gained);
    }
  }

  /** The members that offer a service. Our own offer counts as soon as it is decided, before its pulse returns. */
  #running(service: ServiceName): ReadonlySet<string> {
    const running = new Set(this.#members.running(service));
    if (this.#offers.has(service)) return running.add(this.member);
    running.delete(this.member);
    return running;
  }

  /** Whether another member runs a service of ours and takes over when we are suspended. */
  #hasOtherOwners(): boolean {
    return this.#options.services.some((service) => this.#running(service).size > 1);
  }

  #notify(service: ServiceName, lost: readonly number[], gained: readonly number[]): void {
    if (lost.length + gained.length === 0) return;
    this.#options.log.debug("shards moved", { service, lost: lost.length, gained: gained.length });
    for (const follower of Array.from(this.#followers.get(service) ?? [])) {
      for (const shard of lost) follower.lost(shard);
      for (const shard of gained) follower.gained(shard);
    }
  }
}

function fleetMetrics(metrics: Metrics) {
  const gauge = (name: string, help: string, ...labels: string[]) => metrics.gauge({ name, help, labels });
  return {
    members: gauge("vigil_fleet_members", "Live processes, including this one."),
    shards: gauge("vigil_fleet_shards", "Shards that this process owns.", "service"),
    assignments: metrics.counter({
      name: "vigil_fleet_assignments_total",
      help: "Times that this process computed which member owns which shard.",
    }),
    lag: gauge("vigil_event_loop_lag_seconds", "How late the process published its last pulse to the fleet."),
  };
}
