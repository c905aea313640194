/**
 * What each pulse on the bus means to a member: its own came back, the others changed, or it is not to be believed. It
 * keeps who can be heard (fleet.members.ts, fleet.strangers.ts); what follows for shards is decided by the fleet.
 */
import { positionOf, type StreamPosition } from "../../../protocols/frame.ts";
import type { Message } from "../../../protocols/messages.ts";
import type { Clock, Log, Metrics } from "../../../protocols/ports.ts";
import { limitedLog } from "../process/log.limited.ts";
import { FleetAlarms } from "./alarms.ts";
import type { ClusterPulse, StrangerPulse, Strangers } from "./foreign-members.ts";
import { CLASHES_MAX, HeardMembers, type NumberedPulse, type PulseProfile } from "./members.ts";

/** Lines about members that come and go, within a period: invented ones are not to fill the log. */
const LINES = { linesMax: 20, periodMs: 10_000 };

/** What hearing is made of. */
export interface PulseHearingOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly profile: PulseProfile;
  readonly member: string;
  /** When this process started, as its pulses say. */
  readonly since: number;
  /** What tells members of another Kubernetes cluster from ours; null when we do not know which is ours. */
  readonly strangers: Strangers | null;
  /** Called when our own pulse came back. */
  readonly returned: () => void;
  /** Called when our own pulse does not come back any more. */
  readonly lost: () => void;
  /** Called when another member came, went or changed; `isNew` for one that may not know us. */
  readonly changed: (isNew: boolean) => void;
}

/** Hears the pulses for one member. */
export class PulseHearing {
  readonly members: HeardMembers;
  readonly #options: PulseHearingOptions;
  readonly #alarms: FleetAlarms;
  readonly #log: Log;
  /** The place of our last pulse in its stream; null before the first. */
  #lastPulse: StreamPosition | null = null;
  /** Before our first pulse: the first stranger that was heard, as the fault in one line; null for none. */
  #strangerAtFirst: string | null = null;
  /** How many pulses in our name were not ours. */
  #foreignPulses = 0;
  /** Whether a member was heard that names our Kubernetes cluster. */
  #hasKin = false;

  constructor(options: PulseHearingOptions) {
    const { clock, log, profile, member, changed } = options;
    this.#options = options;
    this.#alarms = new FleetAlarms(options);
    this.#log = limitedLog(log, clock, LINES);
    this.members = new HeardMembers({
      clock,
      profile,
      own: member,
      silent: (silent) => this.#fallenSilent(silent),
      followed: () => changed(false),
    });
  }

  /** Notes the id of a pulse that we have sent. */
  spoke(id: string): void {
    this.#lastPulse = positionOf(id);
  }

  /**
   * Ends the silence in which we listened for strangers: null when we may speak, otherwise the fault in one line.
   * Beside members of our own cluster we may, whoever else is heard: one forged pulse is not to keep a fleet from
   * growing.
   */
  refusal(): string | null {
    const stranger = this.#strangerAtFirst;
    if (stranger === null || !this.#hasKin) return stranger;
    this.#alarms.report(stranger);
    return null;
  }

  hear({ id, body }: Message<"pulse.member">): void {
    const position = positionOf(id);
    if (position === null) return;
    const pulse = { ...body, sequence: position.sequence };
    const stranger = this.#options.strangers?.hear(pulse, this.#isOurs(pulse)) ?? null;
    if (stranger !== null) this.#hearStranger(stranger, body.member);
    else if (body.member === this.#options.member) this.#hearOwnName(pulse, position);
    else this.#hearOther(pulse);
  }

  /** Whether a name is that of a member of ours. Our own name is from our first pulse on. */
  #isOurs({ member }: ClusterPulse): boolean {
    return this.members.has(member) || (member === this.#options.member && this.#lastPulse !== null);
  }

  #hearStranger({ hearing, problem }: StrangerPulse, member: string): void {
    if (hearing === "left") return;
    if (hearing === "impostor") this.#alarms.raise("stranger", member);
    else if (this.#lastPulse === null) this.#strangerAtFirst ??= problem;
    else if (hearing === "new") this.#alarms.report(problem);
  }

  #hearOwnName(pulse: NumberedPulse, { epoch, sequence }: StreamPosition): void {
    const { member, since, returned } = this.#options;
    const last = this.#lastPulse;
    if (last === null || pulse.since !== since || epoch !== last.epoch || sequence > last.sequence) {
      this.#foreignPulses++;
      if (this.#foreignPulses >= CLASHES_MAX) this.#alarms.raise("own-name", member);
      return;
    }
    this.members.hear(pulse);
    returned();
  }

  #hearOther(pulse: ClusterPulse): void {
    const { member, clusterUid } = pulse;
    const hearing = this.members.hear(pulse);
    if (hearing === "same") return;
    if (hearing === "full" || hearing === "impostor" || hearing === "revenant") this.#alarms.raise(hearing, member);
    if (hearing === "full" || hearing === "impostor") return;
    if (hearing === "new") this.#log.info("a member joined the fleet", { member });
    if (hearing === "left") this.#log.info("a member left the fleet", { member });
    this.#hasKin ||= clusterUid !== undefined;
    this.#options.changed(hearing === "new" || hearing === "revenant");
  }

  #fallenSilent(member: string): void {
    if (member === this.#options.member) {
      this.#options.lost();
      return;
    }
    this.#log.warn("a member of the fleet fell silent", { member });
    this.#options.changed(false);
  }
}
