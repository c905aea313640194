/** The members of the fleet that can be heard. It neither speaks nor decides who minds what. */
import type { Clock, ServiceName } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { KeyedDeadlines } from "./deadlines.keyed.ts";

/** The part of the profile that says how often members pulse and how long they may be silent. */
export type PulseProfile = Pick<Profile, "memberPulseMs" | "memberTimeoutMs">;

/** What a member's pulse told of it. */
export interface HeardMember {
  readonly services: readonly string[];
  /** What it offers or runs and cannot do; absent when there is nothing. */
  readonly unable?: { readonly services: readonly string[] } | undefined;
  /** Start of its process on its own wall clock: tells one life of a name from the next. */
  readonly since: number;
}

/** How a pulse changed what we know: a life we did not know, other services or abilities, or nothing. */
export type Hearing = "new" | "changed" | "same";

interface Entry extends HeardMember {
  /** Whether its deadline was put off because our own event loop was late. */
  readonly putOff: boolean;
}

/** What members are made of; `silent` is told of a member whose pulses have stopped and who is forgotten for it. */
export interface HeardMembersOptions {
  readonly clock: Clock;
  readonly profile: PulseProfile;
  readonly silent: (member: string) => void;
}

/** Who has pulsed within the time-out. */
export class HeardMembers {
  readonly #clock: Clock;
  readonly #profile: PulseProfile;
  readonly #silent: (member: string) => void;
  readonly #heard = new Map<string, Entry>();
  readonly #deadlines: KeyedDeadlines<string>;

  constructor({ clock, profile, silent }: HeardMembersOptions) {
    this.#clock = clock;
    this.#profile = profile;
    this.#silent = silent;
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
    return [...this.#heard].filter(([, { services }]) => services.includes(service)).map(([member]) => member);
  }

  /** Those of them that did not say that they cannot do it. */
  able(service: ServiceName): string[] {
    return this.running(service).filter(
      (member) => this.#heard.get(member)?.unable?.services.includes(service) !== true,
    );
  }

  hear(member: string, { services, since, unable }: HeardMember): Hearing {
    const before = this.#heard.get(member);
    this.#heard.set(member, { services, since, unable, putOff: false });
    this.#deadlines.schedule(member, this.#clock.monotonicMs() + this.#profile.memberTimeoutMs);
    if (before?.since !== since) return "new";
    const isSame = before.services.join() === services.join() && isSameList(before.unable, unable);
    return isSame ? "same" : "changed";
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

  /**
   * A member's pulses have stopped. When this call itself comes late, our own event loop stood still and pulses may lie
   * unread: then the member gets one more period.
   */
  #due(member: string, dueMs: number): void {
    const { memberPulseMs } = this.#profile;
    const entry = this.#heard.get(member);
    const nowMs = this.#clock.monotonicMs();
    if (entry?.putOff === false && nowMs - dueMs > memberPulseMs / 2) {
      this.#heard.set(member, { ...entry, putOff: true });
      this.#deadlines.schedule(member, nowMs + memberPulseMs);
    } else {
      this.#heard.delete(member);
      this.#silent(member);
    }
  }
}

function isSameList(before: HeardMember["unable"], now: HeardMember["unable"]): boolean {
  return before?.services.join() === now?.services.join();
}
