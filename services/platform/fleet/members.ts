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
 * changed nothing: `full`, because there are as many members as may be; `impostor`, because it comes from another
 * process than the one that has the name, and both go on speaking; `revenant`, because its process has said goodbye,
 * or somebody in its name has. A revenant is a member again.
 */
export type Hearing = "new" | "changed" | "same" | "left" | "full" | "impostor" | "revenant";

/** So many pulses show that two processes speak under one name: fewer may be late ones of a process that has ended. */
export const CLASHES_MAX = 3;

/** What a process said last, and when on the monotonic clock. */
interface Voice {
  readonly pulse: NumberedPulse;
  readonly saidMs: number;
}

interface Entry extends Voice {
  /** The last pulse of another process under the same name; null when none was heard. */
  readonly rival: Voice | null;
  /** Whether that one spoke last. */
  readonly hasRivalSpoken: boolean;
  /** How many of its pulses came after one of its rival. */
  readonly clashes: number;
  /** Whether it went on after a goodbye in its name: later ones are not believed. */
  readonly isRevenant: boolean;
  /** Whether its deadline was put off because our own event loop was late. */
  readonly putOff: boolean;
}

/** A process that said goodbye. */
interface Goodbye {
  readonly since: number;
  readonly sequence: number;
  readonly saidMs: number;
  /** The late pulse of it that was passed over; null before there was one. */
  lateSequence: number | null;
}

/** What members are made of. */
export interface HeardMembersOptions {
  readonly clock: Clock;
  readonly profile: PulseProfile;
  /** The member that has a place in any case. */
  readonly own?: string;
  /** Called for a member whose pulses have stopped and that is forgotten for it. */
  readonly silent: (member: string) => void;
  /** Called when a process follows, under the same name, one whose pulses have stopped. */
  readonly followed?: (member: string) => void;
}

/** The members that have pulsed within the time-out. */
export class HeardMembers {
  readonly #options: HeardMembersOptions;
  readonly #heard = new Map<string, Entry>();
  readonly #goodbyes: BoundedMap<string, Goodbye>;
  readonly #deadlines: KeyedDeadlines<string>;

  constructor(options: HeardMembersOptions) {
    this.#options = options;
    const { clock, profile } = options;
    this.#goodbyes = new BoundedMap(profile.fleetMembersMax);
    this.#deadlines = new KeyedDeadlines({ clock, fire: (name, dueMs) => this.#due(name, dueMs) });
  }

  get size(): number {
    return this.#heard.size;
  }

  has(member: string): boolean {
    return this.#heard.has(member);
  }

  /** The members that said they offer a service. */
  running(service: ServiceName): string[] {
    return [...this.#heard].filter(([, { pulse }]) => pulse.services.includes(service)).map(([member]) => member);
  }

  /** Those of them that did not say that they cannot do it. */
  able(service: ServiceName): string[] {
    return this.running(service).filter(
      (member) => this.#heard.get(member)?.pulse.unable?.services.includes(service) !== true,
    );
  }

  hear(pulse: NumberedPulse): Hearing {
    const voice = { pulse, saidMs: this.#options.clock.monotonicMs() };
    const entry = this.#heard.get(pulse.member);
    if (entry === undefined) return this.#hearUnknown(voice);
    return entry.pulse.since === pulse.since ? this.#hearKnown(entry, voice) : this.#hearRival(entry, voice);
  }

  /** Forgets a member; false when it was not known. */
  forget(member: string): boolean {
    this.#deadlines.cancel(member);
    return this.#heard.delete(member);
  }

  clear(): void {
    this.#heard.clear();
    this.#deadlines.clear();
  }

  #hearUnknown(voice: Voice): Hearing {
    const { member, leaving } = voice.pulse;
    if (leaving || this.#isLate(voice)) return "same";
    if (this.#isFull(member)) return "full";
    const isRevenant = this.#goodbyeOf(voice) !== null;
    this.#goodbyes.delete(member);
    this.#put(member, { ...voice, rival: null, hasRivalSpoken: false, clashes: 0, isRevenant, putOff: false });
    return isRevenant ? "revenant" : "new";
  }

  #hearKnown(entry: Entry, voice: Voice): Hearing {
    const { member, leaving } = voice.pulse;
    if (leaving) return entry.isRevenant ? "same" : this.#leave(entry, voice);
    const clashes = entry.hasRivalSpoken ? entry.clashes + 1 : entry.clashes;
    // One that was overtaken is a sign of life. When nothing later came for long, what claimed to be later was forged.
    const isOvertaken =
      voice.pulse.sequence < entry.pulse.sequence &&
      voice.saidMs - entry.saidMs < this.#options.profile.memberTimeoutMs;
    const said = isOvertaken ? entry : voice;
    this.#put(member, { ...entry, ...said, pulse: said.pulse, clashes, hasRivalSpoken: false, putOff: false });
    return isSame(entry.pulse, said.pulse) ? "same" : "changed";
  }

  #hearRival(entry: Entry, voice: Voice): Hearing {
    const { member, leaving } = voice.pulse;
    const isImpostor = entry.clashes >= CLASHES_MAX;
    if (!leaving) this.#heard.set(member, { ...entry, rival: voice, hasRivalSpoken: true });
    return isImpostor ? "impostor" : "same";
  }

  #leave({ rival }: Entry, { pulse: { member, since, sequence }, saidMs }: Voice): Hearing {
    this.forget(member);
    this.#goodbyes.set(member, { since, sequence, saidMs, lateSequence: null });
    return this.#follow(member, rival) ? "changed" : "left";
  }

  /** Lets another process have a name that is free now; false when none is heard under it. */
  #follow(member: string, rival: Voice | null): boolean {
    const { clock, profile } = this.#options;
    if (rival === null || clock.monotonicMs() - rival.saidMs >= profile.memberTimeoutMs) return false;
    this.#put(member, {
      ...rival,
      rival: null,
      hasRivalSpoken: false,
      clashes: 0,
      isRevenant: false,
      putOff: false,
    });
    return true;
  }

  #put(member: string, entry: Entry): void {
    this.#heard.set(member, entry);
    this.#deadlines.schedule(member, this.#options.clock.monotonicMs() + this.#options.profile.memberTimeoutMs);
  }

  #isFull(member: string): boolean {
    const { own, profile } = this.#options;
    if (member === own) return false;
    const others = this.#heard.has(own ?? "") ? this.#heard.size - 1 : this.#heard.size;
    return others >= profile.fleetMembersMax - (own === undefined ? 0 : 1);
  }

  /**
   * Whether a pulse was sent before the goodbye of its process and overtaken by it. One is; a second one shows life.
   */
  #isLate(voice: Voice): boolean {
    const goodbye = this.#goodbyeOf(voice);
    const { sequence } = voice.pulse;
    if (goodbye === null || sequence >= goodbye.sequence) return false;
    goodbye.lateSequence ??= sequence;
    return sequence <= goodbye.lateSequence;
  }

  #goodbyeOf({ pulse: { member, since }, saidMs }: Voice): Goodbye | null {
    const goodbye = this.#goodbyes.get(member);
    const isOf = goodbye?.since === since && saidMs - goodbye.saidMs < this.#options.profile.memberTimeoutMs;
    return isOf ? goodbye : null;
  }

  /**
   * A member's pulses have stopped. When this call itself comes late, our own event loop stood still and pulses may lie
   * unread: then the member gets one more period.
   */
  #due(member: string, dueMs: number): void {
    const { clock, profile, silent, followed = () => {} } = this.#options;
    const entry = this.#heard.get(member);
    const nowMs = clock.monotonicMs();
    if (entry?.putOff === false && nowMs - dueMs > profile.memberPulseMs / 2) {
      this.#heard.set(member, { ...entry, putOff: true });
      this.#deadlines.schedule(member, nowMs + profile.memberPulseMs);
      return;
    }
    this.#heard.delete(member);
    if (this.#follow(member, entry?.rival ?? null)) followed(member);
    else silent(member);
  }
}

function isSame(before: NumberedPulse, now: NumberedPulse): boolean {
  return (
    before.services.join() === now.services.join() && before.unable?.services.join() === now.unable?.services.join()
  );
}
