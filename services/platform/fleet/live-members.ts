/**
 * The members of the fleet that can be heard. It neither speaks nor decides which member owns what.
 *
 * Whoever holds a seed for NATS may publish a pulse under any name, unless each process has a NATS user of its own. So
 * a name belongs to the process, told by its start, that was heard under it first: as long as that one pulses, what
 * another process says under its name is refused. When it falls silent the other follows it, as after a restart.
 */
import type { BodyOf } from "../../../protocols/messages.ts";
import type { Clock, ServiceName } from "../../../protocols/ports.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { BoundedMap } from "../structures/bounded-map.ts";
import { KeyedDeadlines } from "../structures/deadlines.keyed.ts";

/** The part of the profile that says how often members pulse, how long they may be silent and how many there may be. */
export type PulseProfile = Pick<Profile, "memberPulseMs" | "memberTimeoutMs" | "fleetMembersMax">;

/** A pulse, with its place in the stream of its sender. */
export type NumberedPulse = Pick<BodyOf<"pulse.member">, "member" | "services" | "unable" | "since" | "leaving"> & {
  readonly sequence: number;
};

/**
 * What a pulse changed: a process not known before, other services or abilities, a goodbye, or nothing. Or why it
 * changed nothing: `full`, because there are as many members as may be; `duplicate-name`, because it comes from another
 * process than the one that has the name, and both go on speaking; `after-goodbye`, because its process has said goodbye,
 * or somebody in its name has. A revenant is a member again.
 */
export type PulseResult = "new" | "changed" | "same" | "left" | "full" | "duplicate-name" | "after-goodbye";

/** So many pulses show that two processes speak under one name: fewer may be late ones of a process that has ended. */
export const CLASHES_MAX = 3;

/** What a process said last, and when on the monotonic clock. */
interface ReceivedPulse {
  readonly pulse: NumberedPulse;
  readonly receivedMs: number;
}

interface MemberEntry extends ReceivedPulse {
  /** The last pulse of another process under the same name; null when none was heard. */
  readonly rival: ReceivedPulse | null;
  /** Whether that one spoke last. */
  readonly isRivalLatest: boolean;
  /** How many of its pulses came after one of its rival. */
  readonly clashes: number;
  /** Whether it went on after a goodbye in its name: later ones are not believed. */
  readonly isBackAfterGoodbye: boolean;
  /** Whether its deadline was put off because our own event loop was late. */
  readonly putOff: boolean;
}

/** A process that said goodbye. */
interface Goodbye {
  readonly since: number;
  readonly sequence: number;
  readonly receivedMs: number;
  /** The late pulse of it that was passed over; null before there was one. */
  lateSequence: number | null;
}

/** What members are made of. */
export interface LiveMembersOptions {
  readonly clock: Clock;
  readonly profile: PulseProfile;
  /** The member that has a place in any case. */
  readonly own?: string;
  /** Called for a member whose pulses have stopped and that is forgotten for it. */
  readonly timedOut: (member: string) => void;
  /** Called when a process follows, under the same name, one whose pulses have stopped. */
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

  /** The members that said they offer a service. */
  running(service: ServiceName): string[] {
    return [...this.#members].filter(([, { pulse }]) => pulse.services.includes(service)).map(([member]) => member);
  }

  /** Those of them that did not say that they cannot do it. */
  able(service: ServiceName): string[] {
    return this.running(service).filter(
      (member) => this.#members.get(member)?.pulse.unable?.services.includes(service) !== true,
    );
  }

  take(pulse: NumberedPulse): PulseResult {
    const voice = { pulse, receivedMs: this.#options.clock.monotonicMs() };
    const entry = this.#members.get(pulse.member);
    if (entry === undefined) return this.#takeUnknown(voice);
    return entry.pulse.since === pulse.since ? this.#takeKnown(entry, voice) : this.#takeRival(entry, voice);
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

  #takeUnknown(voice: ReceivedPulse): PulseResult {
    const { member, leaving } = voice.pulse;
    if (leaving || this.#isLate(voice)) return "same";
    if (this.#isFull(member)) return "full";
    const isBackAfterGoodbye = this.#goodbyeOf(voice) !== null;
    this.#goodbyes.delete(member);
    this.#put(member, { ...voice, rival: null, isRivalLatest: false, clashes: 0, isBackAfterGoodbye, putOff: false });
    return isBackAfterGoodbye ? "after-goodbye" : "new";
  }

  #takeKnown(entry: MemberEntry, voice: ReceivedPulse): PulseResult {
    const { member, leaving } = voice.pulse;
    if (leaving) return entry.isBackAfterGoodbye ? "same" : this.#leave(entry, voice);
    const clashes = entry.isRivalLatest ? entry.clashes + 1 : entry.clashes;
    // One that was overtaken is a sign of life. When nothing later came for long, what claimed to be later was forged.
    const isOvertaken =
      voice.pulse.sequence < entry.pulse.sequence &&
      voice.receivedMs - entry.receivedMs < this.#options.profile.memberTimeoutMs;
    const said = isOvertaken ? entry : voice;
    this.#put(member, { ...entry, ...said, pulse: said.pulse, clashes, isRivalLatest: false, putOff: false });
    return isSame(entry.pulse, said.pulse) ? "same" : "changed";
  }

  #takeRival(entry: MemberEntry, voice: ReceivedPulse): PulseResult {
    const { member, leaving } = voice.pulse;
    const isImpostor = entry.clashes >= CLASHES_MAX;
    if (!leaving) this.#members.set(member, { ...entry, rival: voice, isRivalLatest: true });
    return isImpostor ? "duplicate-name" : "same";
  }

  #leave({ rival }: MemberEntry, { pulse: { member, since, sequence }, receivedMs }: ReceivedPulse): PulseResult {
    this.forget(member);
    this.#goodbyes.set(member, { since, sequence, receivedMs, lateSequence: null });
    return this.#follow(member, rival) ? "changed" : "left";
  }

  /** Lets another process have a name that is free now; false when none is heard under it. */
  #follow(member: string, rival: ReceivedPulse | null): boolean {
    const { clock, profile } = this.#options;
    if (rival === null || clock.monotonicMs() - rival.receivedMs >= profile.memberTimeoutMs) return false;
    this.#put(member, {
      ...rival,
      rival: null,
      isRivalLatest: false,
      clashes: 0,
      isBackAfterGoodbye: false,
      putOff: false,
    });
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

  /**
   * Whether a pulse was sent before the goodbye of its process and overtaken by it. One is; a second one shows life.
   */
  #isLate(voice: ReceivedPulse): boolean {
    const goodbye = this.#goodbyeOf(voice);
    const { sequence } = voice.pulse;
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
   * A member's pulses have stopped. When this call itself comes late, our own event loop stood still and pulses may lie
   * unread: then the member gets one more period.
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
    if (this.#follow(member, entry?.rival ?? null)) followed(member);
    else timedOut(member);
  }
}

function isSame(before: NumberedPulse, now: NumberedPulse): boolean {
  return (
    before.services.join() === now.services.join() && before.unable?.services.join() === now.unable?.services.join()
  );
}
