/**
 * The members of the fleet whose pulses are received.
 *
 * Any process with a NATS seed can publish a pulse under any member's name, unless each process has its own NATS user.
 * A name therefore belongs to the first process (identified by its start time) that pulsed under it. While that process
 * pulses, pulses of another one under its name are refused; when it stops, the other one takes the name, as after a
 * restart.
 */
import type { BodyOf } from "../../../protocols/messages.ts";
import type { Clock, ServiceName } from "../../../protocols/ports.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { BoundedMap } from "../../structures/bounded-map.ts";
import { KeyedDeadlines } from "../../structures/deadlines.keyed.ts";

/** How often members pulse, how long they may be silent, and how many there may be. */
export type PulseProfile = Pick<Profile, "memberPulseMs" | "memberTimeoutMs" | "fleetMembersMax">;

/** A pulse and its position in its sender's stream. */
export type NumberedPulse = Pick<BodyOf<"pulse.member">, "member" | "services" | "unable" | "since" | "leaving"> & {
  readonly sequence: number;
};

/**
 * What a pulse changed: a new process, other services or abilities, a departure, or nothing. Or why it was refused:
 * `full`: there are fleetMembersMax members already; `duplicate-name`: two live processes use the name.
 * `after-goodbye`: a goodbye was published in the name of a process that still pulses; it is a member again.
 */
export type PulseResult = "new" | "changed" | "same" | "left" | "full" | "duplicate-name" | "after-goodbye";

/**
 * Within how long a process that wrongly considers itself the owner of a shard notices that, in milliseconds: it
 * receives the next pulse of the real owner, or counts as gone.
 */
export function otherOwnerEndsWithinMs({
  memberTimeoutMs,
  memberPulseMs,
}: Pick<PulseProfile, "memberTimeoutMs" | "memberPulseMs">): number {
  return memberTimeoutMs + memberPulseMs;
}

/** Alternating pulses that prove two live processes under one name. Fewer may be late pulses of an ended process. */
export const CLASHES_MAX = 3;

/** A pulse and when it was received, on the monotonic clock. */
interface ReceivedPulse {
  readonly pulse: NumberedPulse;
  readonly receivedMs: number;
}

interface MemberEntry extends ReceivedPulse {
  /** The last pulse of another process under the same name; null when there was none. */
  readonly namesake: ReceivedPulse | null;
  readonly isNamesakeLatest: boolean;
  /** How many of its pulses came after one of its namesake. */
  readonly clashes: number;
  /** Whether it pulsed on after a goodbye in its name: further goodbyes are ignored. */
  readonly isBackAfterGoodbye: boolean;
  /** Whether its deadline was extended because our own event loop was late. */
  readonly putOff: boolean;
}

/** The state of a process that has just taken its name. */
const FRESH = { namesake: null, isNamesakeLatest: false, clashes: 0, isBackAfterGoodbye: false, putOff: false };

interface Goodbye {
  readonly since: number;
  readonly sequence: number;
  readonly receivedMs: number;
  /** The first pulse that arrived after the goodbye but was sent before it; null before there is one. */
  lateSequence: number | null;
}

/** The context of the members and what is called when they change. */
export interface LiveMembersOptions {
  readonly clock: Clock;
  readonly profile: PulseProfile;
  /** This process's own name, which has a place even when the fleet is full. */
  readonly own?: string;
  /** Called for a member whose pulses stopped; it is forgotten. */
  readonly timedOut: (member: string) => void;
  /** Called when a member's pulses stopped and another process takes its name. */
  readonly followed?: (member: string) => void;
}

/** The members that have pulsed within the time-out. */
export class LiveMembers {
  readonly #options: LiveMembersOptions;
  readonly #members = new Map<string, MemberEntry>();
  readonly #goodbyes: BoundedMap<string, Goodbye>;
  readonly #deadlines: KeyedDeadlines<string>;

  constructor(options: LiveMembersOptions) {
    this.#options = options;
    const { clock, profile } = options;
    this.#goodbyes = new BoundedMap(profile.fleetMembersMax);
    this.#deadlines = new KeyedDeadlines({ clock, fire: (name, dueMs) => this.#due(name, dueMs) });
  }

  get size(): number {
    return this.#members.size;
  }

  has(member: string): boolean {
    return this.#members.has(member);
  }

  running(service: ServiceName): string[] {
    return [...this.#members].filter(([, { pulse }]) => pulse.services.includes(service)).map(([member]) => member);
  }

  /** The members that offer a service and do not report that they are unable to run it. */
  able(service: ServiceName): string[] {
    return this.running(service).filter(
      (member) => this.#members.get(member)?.pulse.unable?.services.includes(service) !== true,
    );
  }

  onPulse(pulse: NumberedPulse): PulseResult {
    const received = { pulse, receivedMs: this.#options.clock.monotonicMs() };
    const entry = this.#members.get(pulse.member);
    if (entry === undefined) return this.#onUnknown(received);
    return entry.pulse.since === pulse.since ? this.#onKnown(entry, received) : this.#onNamesake(entry, received);
  }

  /** Forgets a member; false when it was not known. */
  forget(member: string): boolean {
    this.#deadlines.cancel(member);
    return this.#members.delete(member);
  }

  clear(): void {
    this.#members.clear();
    this.#deadlines.clear();
  }

  #onUnknown(received: ReceivedPulse): PulseResult {
    const { member, leaving } = received.pulse;
    if (leaving || this.#isLate(received)) return "same";
    if (this.#isFull(member)) return "full";
    const isBackAfterGoodbye = this.#goodbyeOf(received) !== null;
    this.#goodbyes.delete(member);
    this.#put(member, { ...received, ...FRESH, isBackAfterGoodbye });
    return isBackAfterGoodbye ? "after-goodbye" : "new";
  }

  #onKnown(entry: MemberEntry, received: ReceivedPulse): PulseResult {
    const { member, leaving } = received.pulse;
    if (leaving) return entry.isBackAfterGoodbye ? "same" : this.#leave(entry, received);
    const clashes = entry.isNamesakeLatest ? entry.clashes + 1 : entry.clashes;
    // An overtaken pulse is still a heartbeat. When no later one came for long, the one that seemed later was forged.
    const isOvertaken =
      received.pulse.sequence < entry.pulse.sequence &&
      received.receivedMs - entry.receivedMs < this.#options.profile.memberTimeoutMs;
    const latest = isOvertaken ? entry : received;
    this.#put(member, { ...entry, ...latest, pulse: latest.pulse, clashes, isNamesakeLatest: false, putOff: false });
    return isSame(entry.pulse, latest.pulse) ? "same" : "changed";
  }

  #onNamesake(entry: MemberEntry, received: ReceivedPulse): PulseResult {
    const { member, leaving } = received.pulse;
    const isImpostor = entry.clashes >= CLASHES_MAX;
    if (!leaving) this.#members.set(member, { ...entry, namesake: received, isNamesakeLatest: true });
    return isImpostor ? "duplicate-name" : "same";
  }

  #leave({ namesake }: MemberEntry, { pulse: { member, since, sequence }, receivedMs }: ReceivedPulse): PulseResult {
    this.forget(member);
    this.#goodbyes.set(member, { since, sequence, receivedMs, lateSequence: null });
    return this.#follow(member, namesake) ? "changed" : "left";
  }

  /** Gives a free name to the namesake that pulses under it; false when there is none. */
  #follow(member: string, namesake: ReceivedPulse | null): boolean {
    const { clock, profile } = this.#options;
    if (namesake === null || clock.monotonicMs() - namesake.receivedMs >= profile.memberTimeoutMs) return false;
    this.#put(member, { ...namesake, ...FRESH });
    return true;
  }

  #put(member: string, entry: MemberEntry): void {
    this.#members.set(member, entry);
    this.#deadlines.schedule(member, this.#options.clock.monotonicMs() + this.#options.profile.memberTimeoutMs);
  }

  #isFull(member: string): boolean {
    const { own, profile } = this.#options;
    if (member === own) return false;
    const others = this.#members.has(own ?? "") ? this.#members.size - 1 : this.#members.size;
    return others >= profile.fleetMembersMax - (own === undefined ? 0 : 1);
  }

  /** Whether a pulse was sent before its process's goodbye and overtaken by it. A second such pulse is a heartbeat. */
  #isLate(received: ReceivedPulse): boolean {
    const goodbye = this.#goodbyeOf(received);
    const { sequence } = received.pulse;
    if (goodbye === null || sequence >= goodbye.sequence) return false;
    goodbye.lateSequence ??= sequence;
    return sequence <= goodbye.lateSequence;
  }

  #goodbyeOf({ pulse: { member, since }, receivedMs }: ReceivedPulse): Goodbye | null {
    const goodbye = this.#goodbyes.get(member);
    const isOf = goodbye?.since === since && receivedMs - goodbye.receivedMs < this.#options.profile.memberTimeoutMs;
    return isOf ? goodbye : null;
  }

  /**
   * Handles a member whose pulses stopped. When this call is itself late, our own event loop was blocked and pulses may
   * be unread: the member gets one more period.
   */
  #due(member: string, dueMs: number): void {
    const { clock, profile, timedOut, followed = () => {} } = this.#options;
    const entry = this.#members.get(member);
    const nowMs = clock.monotonicMs();
    if (entry?.putOff === false && nowMs - dueMs > profile.memberPulseMs / 2) {
      this.#members.set(member, { ...entry, putOff: true });
      this.#deadlines.schedule(member, nowMs + profile.memberPulseMs);
      return;
    }
    this.#members.delete(member);
    if (this.#follow(member, entry?.namesake ?? null)) followed(member);
    else timedOut(member);
  }
}

function isSame(before: NumberedPulse, now: NumberedPulse): boolean {
  return (
    before.services.join() === now.services.join() && before.unable?.services.join() === now.unable?.services.join()
  );
}
