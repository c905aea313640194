/**
 * Sorts the pulses on the bus for one member: its own that returned, those of other members (live-members.ts), those of
 * foreign clusters (foreign-members.ts), and forged or duplicate ones, which it refuses.
 */
import { positionOf, type StreamPosition } from "../../../protocols/frame.ts";
import type { Message } from "../../../protocols/messages.ts";
import type { Io, Log } from "../../../protocols/ports.ts";
import { limitedLog } from "../process/log.limited.ts";
import type { ClusterPulse, ForeignMembers, ForeignPulse } from "./foreign-members.ts";
import { CLASHES_MAX, LiveMembers, type NumberedPulse, type PulseProfile } from "./live-members.ts";
import { PulseAlarms } from "./pulse-alarms.ts";

/** The log lines of a period about members that come and go: forged pulses must not fill the log. */
const LINES = { linesMax: 20, periodMs: 10_000 };

/** The context of a receiver and what it calls. */
export interface PulseReceiverOptions extends Pick<Io, "clock" | "log" | "metrics"> {
  readonly profile: PulseProfile;
  readonly member: string;
  /** When this process started, as its pulses publish it. */
  readonly since: number;
  /** Recognizes members of another Kubernetes cluster; null when our cluster's uid is not known. */
  readonly foreignMembers: ForeignMembers | null;
  /** Called when our own pulse returned. */
  readonly returned: () => void;
  /** Called when our own pulses no longer return. */
  readonly lost: () => void;
  /** Called when another member came, left or changed; `isNew` for one that may not know us. */
  readonly changed: (isNew: boolean) => void;
}

/** Receives the pulses for one member. */
export class PulseReceiver {
  readonly members: LiveMembers;
  readonly #options: PulseReceiverOptions;
  readonly #alarms: PulseAlarms;
  readonly #log: Log;
  /** The position of our last pulse in its stream; null before the first. */
  #lastPulse: StreamPosition | null = null;
  /** The problem with the first foreign member received before our first pulse, in one line; null for none. */
  #foreignAtStart: string | null = null;
  /** How many pulses under our name were not ours. */
  #foreignPulses = 0;
  /** Whether another member of our Kubernetes cluster was received. */
  #hasPeers = false;
  /** When a member that runs services was refused last because there are enough, on the monotonic clock. */
  #refusedMs = Number.NEGATIVE_INFINITY;

  constructor(options: PulseReceiverOptions) {
    const { clock, log, profile, member, changed } = options;
    this.#options = options;
    this.#alarms = new PulseAlarms(options);
    this.#log = limitedLog(log, clock, LINES);
    this.members = new LiveMembers({
      clock,
      profile,
      own: member,
      timedOut: (silent) => this.#timedOut(silent),
      followed: () => changed(false),
    });
  }

  /** Notes the id of a pulse that this member sent. */
  sent(id: string): void {
    this.#lastPulse = positionOf(id);
  }

  /**
   * Why this member must not join, in one line; null when it may. It may join beside members of its own cluster even if
   * a foreign member pulses: one forged pulse must not keep a fleet from growing.
   */
  refusal(): string | null {
    const foreign = this.#foreignAtStart;
    if (foreign === null || !this.#hasPeers) return foreign;
    this.#alarms.report(foreign);
    return null;
  }

  /** Whether the fleet is full without this member: then it must not claim shards, because the others refuse it. */
  get isFullOfOthers(): boolean {
    const { clock, profile } = this.#options;
    return clock.monotonicMs() - this.#refusedMs < profile.memberTimeoutMs;
  }

  receive({ id, body }: Message<"pulse.member">): void {
    const position = positionOf(id);
    if (position === null) return;
    const pulse = { ...body, sequence: position.sequence };
    const foreign = this.#options.foreignMembers?.onPulse(pulse, this.#isOurs(pulse)) ?? null;
    if (foreign !== null) this.#onForeign(foreign, body.member);
    else if (body.member === this.#options.member) this.#onOwnName(pulse, position);
    else this.#onOther(pulse);
  }

  /** Whether the name belongs to a member of ours. Our own does from our first pulse on. */
  #isOurs({ member }: ClusterPulse): boolean {
    return this.members.has(member) || (member === this.#options.member && this.#lastPulse !== null);
  }

  #onForeign({ result, problem }: ForeignPulse, member: string): void {
    if (result === "left") return;
    if (result === "duplicate-name") this.#alarms.raise("foreign-cluster", member);
    else if (this.#lastPulse === null) this.#foreignAtStart ??= problem;
    else if (result === "new") this.#alarms.report(problem);
  }

  #onOwnName(pulse: NumberedPulse, { epoch, sequence }: StreamPosition): void {
    const { member, since, returned } = this.#options;
    const last = this.#lastPulse;
    if (last === null || pulse.since !== since || epoch !== last.epoch || sequence > last.sequence) {
      this.#foreignPulses++;
      if (this.#foreignPulses >= CLASHES_MAX) this.#alarms.raise("own-name", member);
      return;
    }
    this.members.onPulse(pulse);
    returned();
  }

  #onOther(pulse: ClusterPulse): void {
    const { member, clusterUid } = pulse;
    const result = this.members.onPulse(pulse);
    if (result === "same") return;
    if (result === "full" && pulse.services.length > 0) this.#refusedMs = this.#options.clock.monotonicMs();
    if (result === "full" || result === "duplicate-name" || result === "after-goodbye")
      this.#alarms.raise(result, member);
    if (result === "full" || result === "duplicate-name") return;
    if (result === "new") this.#log.info("a member joined the fleet", { member });
    if (result === "left") this.#log.info("a member left the fleet", { member });
    this.#hasPeers ||= clusterUid !== undefined;
    this.#options.changed(result === "new" || result === "after-goodbye");
  }

  #timedOut(member: string): void {
    if (member === this.#options.member) {
      this.#options.lost();
      return;
    }
    this.#log.warn("a member of the fleet stopped sending pulses", { member });
    this.#options.changed(false);
  }
}
