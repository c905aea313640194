/** Who minds which shard, told to the services as it changes. What a shard's owner does with it is their affair. */
import type {
  Bus,
  Clock,
  Fleet,
  Log,
  Metrics,
  ServiceName,
  ShardFollower,
  Stop,
  Timer,
} from "../../../protocols/ports.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { SHARD_COUNT } from "../../../protocols/subjects.ts";
import type { ApiReachability } from "../kube/transport/reachability.ts";
import { pauseUntilPulseMs } from "../process/pulse.policy.ts";
import { fleetMetrics } from "./fleet.metrics.ts";
import type { ForeignMembers } from "./foreign-members.ts";
import type { LiveMembers, PulseProfile } from "./live-members.ts";
import { Offers } from "./offers.ts";
import { ownersOf } from "./ownership.policy.ts";
import { PulseReceiver } from "./pulse-receiver.ts";

/** How long a member listens before it claims shards, in pulse periods: by then every living member has pulsed. */
const LISTENING_PULSES = 1.25;

/**
 * How long a member that leaves minds its shards beside its successors, in milliseconds: whatever is asked before they
 * listen reaches it.
 */
const LINGER_MS = 250;

/** The fleet of a process that is alone: it minds every shard of every service, from the start and for ever. */
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

/** What a fleet on a bus is made of. The bus must be one of its own, because it hears every member's pulse. */
export interface BusFleetOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly member: string;
  /** What this process runs. */
  readonly services: readonly ServiceName[];
  readonly profile: PulseProfile & Pick<Profile, "watchBlindMs">;
  readonly log: Log;
  readonly metrics: Metrics;
  /** What tells members of another Kubernetes cluster from ours; absent when we do not know which is ours. */
  readonly foreignMembers?: ForeignMembers | null;
  /** How this process stands to the API server; absent when it is not measured. */
  readonly reachability?: ApiReachability | null;
  /**
   * Told before this member's first word, when it listens for strangers: null when there are none, otherwise the fault
   * in one line; then it never says one.
   */
  readonly listened?: (problem: string | null) => void;
}

/** A fleet that can be left. */
export interface BusFleet extends Fleet {
  /**
   * Tells the others, who take over at once, and falls silent for ever. A moment later it gives every shard up and
   * calls `left`: nothing is asked of it any more.
   */
  goodbye(left?: () => void): void;
}

/**
 * The fleet of processes that hear each other's pulses. A member that does not hear itself is cut off: it owns nothing
 * and says that it runs nothing, so that others take over. The same goes for one that stood still for so long that
 * others have taken over. One that hears itself again listens for a while first and then claims, so that it does not
 * take what others still mind. One that knows its Kubernetes cluster listens before
 * its first pulse already, and does not join where it hears another cluster's members and none of its own; those that
 * come later are not believed. One that does not reach the API server leaves the services that need it to members that
 * do (fleet.offers.ts).
 */
export function busFleet(options: BusFleetOptions): BusFleet {
  return new PulsingFleet(options);
}

class PulsingFleet implements BusFleet {
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
  /** Whether we mind shards, because we hear ourselves and have listened long enough. */
  #claiming = false;
  #pulseTimer: Timer;
  #lagMs = 0;
  /** Whether we have said nothing yet, to hear first whether we are among our own. */
  #isSilent = false;
  /** What is to be done when the present turn is over; null when nothing is. */
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

  goodbye(left: () => void = () => {}): void {
    this.#hasLeft = true;
    this.#pulseTimer.cancel();
    this.#stopReceiving();
    this.#offers.stop();
    this.#members.clear();
    if (!this.#isSilent) this.#pulse(true);
    this.#options.clock.after(LINGER_MS, () => {
      this.#giveUp();
      left();
    });
  }

  /** Arms the first pulse: at once when we cannot tell strangers from ours. */
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

  /** Pulses, and arms the next pulse; `dueMs` is when this one was due. */
  #beat(dueMs: number): Timer {
    const { bus, clock, profile } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#lagMs = nowMs - dueMs;
    this.#metrics.lag.set(this.#lagMs / 1000);
    if (!bus.connected()) this.#cutOff("the bus is down");
    if (this.#lagMs > profile.watchBlindMs && this.#hasRivals()) this.#cutOff("this process stood still");
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

  /** Listens for a while before it claims. */
  #listen(): void {
    const { clock, profile } = this.#options;
    if (this.#claiming || this.#listening !== null) return;
    this.#listening = clock.after(profile.memberPulseMs * LISTENING_PULSES, () => this.#claim());
  }

  /** Assigns once for all pulses of a turn. To `answer` is to let members know us that are new, before they claim. */
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
    this.#claiming = true;
    this.#pulse(false);
    this.#assign();
  }

  #cutOff(why: string): void {
    if (this.#claiming)
      this.#options.log.warn("cut off from the fleet: minding nothing until it can be heard", { why });
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
   * Works out again what we own and tells the followers what changed; unless others changed, only when our own offers
   * did. The other members hear of that at once.
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

  /** Who offers a service. What we offer ourselves counts from when we decide it, not from when we hear us say so. */
  #running(service: ServiceName): ReadonlySet<string> {
    const running = new Set(this.#members.running(service));
    if (this.#offers.has(service)) return running.add(this.member);
    running.delete(this.member);
    return running;
  }

  /** Whether another member runs a service of ours, and so takes over what we own when we fall silent. */
  #hasRivals(): boolean {
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
