/**
 * Since when a process can have observed events: the stops of its machine and the cuts of its path to the API server
 * that it cannot have missed. It judges nothing.
 */
import type { ServiceName } from "../../protocols/ports.ts";
import { EPOCH_QUIET_MS } from "../../services/platform/bus/stream-tracker.ts";
import type { Interruption } from "./api-path.ts";
import { UnobservedTimes } from "./unobserved-times.ts";
import type { World } from "./world.ts";

/** From when to when a process was dead or stopped, on the world's monotonic clock; infinite while it still is. */
export interface Absence {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The parts of a process that its view depends on. */
export interface ViewingProcess {
  readonly name: string;
  /** The time that has passed by its own clock, which may have been suspended. */
  readonly ownMs: number;
  /** Its last stop in which its clock continued. */
  readonly lastStop: Interruption | null;
  /** Its last stop, whether its clock continued or not. */
  readonly lastPause: Interruption | null;
  /** When it was killed last, on the world's monotonic clock. */
  readonly lastDeathMs: number;
  /** Its last absence, dead or stopped. */
  readonly lastAbsence: Absence | null;
  readonly services: readonly ServiceName[];
  /** The last interval in which its watches delivered nothing. */
  readonly lastSilence: Interruption | null;
}

/**
 * After this a watch that delivers nothing is blind: its quiet period, a read that times out, and the limit of
 * blindness.
 */
const SILENCE_NOTICED_MS = 35_000;

/** The pulses of all shards say the same of the watches. */
const EXAMPLE_SHARD = "0";

/** A pulse as it was sent, on the world's monotonic clock. */
interface SentPulse {
  readonly member: string;
  readonly atMs: number;
}

/** The process that pulsed last for a shard. Instants are on the world's monotonic clock. */
interface Observing {
  readonly member: string;
  /** Since when no other has pulsed. */
  readonly sinceMs: number;
  readonly pulsedMs: number;
}

/** The view that a member received after it was suspended. */
interface ReceivedView {
  /** The end of that standstill. */
  readonly stoppedMs: number;
  /** Since when its publisher can have observed events. */
  readonly sinceMs: number;
}

/** The views of all processes and, by shard, which process observes. Instants are on the monotonic clock. */
export class WatchViews {
  readonly unobserved: UnobservedTimes;
  readonly #world: World;
  readonly #processes: () => readonly ViewingProcess[];
  readonly #observers = new Map<string, Observing>();
  #rejoinedMs = Number.NEGATIVE_INFINITY;

  /** When a member last gained a shard of the node service, by both. */
  readonly #gainsMs = new Map<string, number>();
  /** The pulses of processes, by their bytes. */
  readonly #sent = new WeakMap<Uint8Array, SentPulse>();
  /** The views that stopped members have received from another observer since, by member and shard. */
  readonly #received = new Map<string, ReceivedView>();
  /** The sender of the last pulse that reached a member, and when, by member and shard. */
  readonly #followed = new Map<string, SentPulse>();
  /** Since when a split has kept heartbeats from a member that no later ones have reached, by member and shard. */
  readonly #withheldMs = new Map<string, number>();

  constructor(world: World, processes: () => readonly ViewingProcess[]) {
    this.#world = world;
    this.#processes = processes;
    this.unobserved = new UnobservedTimes(world.clock, world.swarm.profile);
  }

  /** The time by a member's own clock. */
  ownMs(member: string): number {
    return this.#processOf(member)?.ownMs ?? this.#world.clock.monotonicMs();
  }

  /**
   * How old what a fleet knows may be where a running member is at most `lagMs` behind, in milliseconds. A member that
   * has just continued publishes what it knew before, which the others use until the next pulse, and then what it reads
   * of the time between. A member that takes over from a killed process begins with that process's last messages. While
   * no process judges, the last judgements remain valid; likewise while no process observes.
   */
  viewAgeMs(lagMs: number): number {
    const nowMs = this.#world.clock.monotonicMs();
    const { memberTimeoutMs, pulsePeriodMs } = this.#world.swarm.profile;
    const all = this.#processes();
    const judges = all.filter(({ services }) => services.includes("node"));
    const pausedMs = (pause: Interruption | null): number => {
      const awakeMs = nowMs - (pause?.endedMs ?? Number.NEGATIVE_INFINITY);
      return pause !== null && awakeMs < lagMs ? awakeMs + pause.lastedMs : 0;
    };
    const awayMs = ({ lastAbsence }: ViewingProcess): number =>
      lastAbsence !== null && nowMs - lastAbsence.untilMs < lagMs ? nowMs - lastAbsence.fromMs : 0;
    const ownerlessMs = nowMs - Math.max(...all.map(({ lastDeathMs }) => lastDeathMs));
    return (
      lagMs +
      Math.max(
        ...all.map(({ lastPause }) => pausedMs(lastPause)),
        Math.min(...judges.map(awayMs)),
        ownerlessMs < memberTimeoutMs + pulsePeriodMs ? ownerlessMs : 0,
        this.unobserved.ageMs(lagMs),
      )
    );
  }

  /** A member has pulsed for a shard. */
  pulsed(shard: string, member: string, payload: Uint8Array): void {
    const nowMs = this.#world.clock.monotonicMs();
    const before = this.#observers.get(shard);
    if (shard === EXAMPLE_SHARD) this.unobserved.pulsed(payload);
    this.#sent.set(payload, { member, atMs: nowMs });
    this.#observers.set(shard, {
      member,
      sinceMs: before?.member === member ? before.sinceMs : nowMs,
      pulsedMs: nowMs,
    });
  }

  /**
   * For how long no process has observed a shard: since its observer was killed, until the first pulse after that. A
   * new observer publishes the whole shard before it pulses.
   */
  unobservedMs(shard: string): number {
    const observer = this.#observers.get(shard);
    const diedMs = this.diedMs(observer?.member ?? "");
    return observer === undefined || diedMs < observer.pulsedMs ? 0 : this.#world.clock.monotonicMs() - diedMs;
  }

  /**
   * From when to when what a shard's observer published may have been left out, on the world's wall clock; null for
   * never. One that restarts with its clock set back looks like a late message of its earlier run, until that has been
   * silent for a while. Only the next heartbeats show that some are missing (decision 1).
   */
  leftOut(shard: string): { readonly fromAt: number; readonly untilAt: number } | null {
    const { clock, swarm } = this.#world;
    const diedMs = this.diedMs(this.#observers.get(shard)?.member ?? "");
    if (!Number.isFinite(diedMs) || !swarm.faults.has("wrongClocks")) return null;
    const fromAt = clock.wallMs() - (clock.monotonicMs() - diedMs);
    return { fromAt, untilAt: fromAt + EPOCH_QUIET_MS };
  }

  /** A split kept heartbeats from a member. It misses those of the observer whose pulses it receives. */
  withheld(shard: string, from: string, member: string): void {
    const key = `${member} ${shard}`;
    if (this.#followed.get(key)?.member !== from || this.#withheldMs.has(key)) return;
    this.#withheldMs.set(key, this.#world.clock.monotonicMs());
  }

  /** Heartbeats reached a member: if it has missed any, it knows now. */
  heard(shard: string, member: string): void {
    this.#withheldMs.delete(`${member} ${shard}`);
  }

  /**
   * For how long a member may have missed heartbeats and not know: no pulse shows them, only the next heartbeats do
   * (decision 1). A view without a pulse for the timeout is not complete.
   */
  withheldMs(member: string, shard: string): number {
    const key = `${member} ${shard}`;
    const nowMs = this.#world.clock.monotonicMs();
    const pulse = this.#followed.get(key);
    const isWhole = pulse !== undefined && nowMs - pulse.atMs <= this.#world.swarm.profile.pulseTimeoutMs;
    return isWhole ? nowMs - (this.#withheldMs.get(key) ?? nowMs) : 0;
  }

  /** A split of the bus has ended. */
  rejoined(): void {
    this.#rejoinedMs = this.#world.clock.monotonicMs();
  }

  /**
   * For how long members may have missed the last messages of the other side: since a split ended, until the next pulse
   * of the observer that was there. The sender of a message cannot know which readers it reached. A reader that lacks a
   * message notices that at the next pulse, and then requests it (decision 1).
   */
  strandedMs(): number {
    const { pulsePeriodMs, resyncRetryMs } = this.#world.swarm.profile;
    const wholeMs = this.#world.clock.monotonicMs() - this.#rejoinedMs;
    return wholeMs <= pulsePeriodMs + resyncRetryMs ? wholeMs : 0;
  }

  /** A member's node service has gained a shard. */
  gained(shard: string, member: string): void {
    this.#gainsMs.set(`${member} ${shard}`, this.#world.clock.monotonicMs());
  }

  /**
   * A pulse reached a member. One that another observer sent after the member's last standstill brings that observer's
   * view: the member then knows what a new owner of the shard would know. A pulse that waited meanwhile brings nothing.
   */
  received(shard: string, member: string, payload: Uint8Array): void {
    const stoppedMs = this.#standstillOf(member);
    const pulse = this.#sent.get(payload);
    const key = `${member} ${shard}`;
    if (pulse === undefined) return;
    this.#followed.set(key, { member: pulse.member, atMs: this.#world.clock.monotonicMs() });
    if (stoppedMs === 0 || pulse.member === member || pulse.atMs < stoppedMs) return;
    const publisher = this.#processOf(pulse.member);
    if (publisher === undefined) return;
    const before = this.#received.get(key);
    const knownMs = before?.stoppedMs === stoppedMs ? before.sinceMs : stoppedMs;
    const sinceMs = Math.min(knownMs, Math.max(this.#blindnessOf(pulse.member), publisher.lastDeathMs));
    this.#received.set(key, { stoppedMs, sinceMs });
  }

  /**
   * The instant before which missing messages about a shard cannot count as a node's silence. Either the member itself
   * was suspended while it owned the shard, or the only observer that it received for `spanMs` observed nothing. If the
   * member gained the shard later, or another observer sent it a pulse later, it received what that observer had
   * observed meanwhile (seed 471582917).
   */
  viewSinceMs(member: string, shard: string, spanMs: number): number {
    const { pulseTimeoutMs } = this.#world.swarm.profile;
    const observer = this.#observers.get(shard);
    const nowMs = this.#world.clock.monotonicMs();
    const isAlone = observer !== undefined && nowMs - observer.sinceMs > spanMs + pulseTimeoutMs;
    const stoppedMs = this.#standstillOf(member);
    const hasGainedSince = (this.#gainsMs.get(`${member} ${shard}`) ?? 0) > stoppedMs;
    const received = this.#received.get(`${member} ${shard}`);
    const ownMs = received?.stoppedMs === stoppedMs ? received.sinceMs : stoppedMs;
    return Math.max(hasGainedSince ? 0 : ownMs, isAlone ? this.#blindnessOf(observer.member) : 0);
  }

  #standstillOf(member: string): number {
    const { watchBlindMs, pulsePeriodMs } = this.#world.swarm.profile;
    const stop = this.#processOf(member)?.lastStop;
    return stop && stop.lastedMs > watchBlindMs + pulsePeriodMs ? stop.endedMs : 0;
  }

  #blindnessOf(member: string): number {
    const process = this.#processOf(member);
    const silence = process?.lastSilence ?? null;
    const isNoticed = silence !== null && silence.lastedMs - suspendedMs(process, silence) > SILENCE_NOTICED_MS;
    return Math.max(this.#standstillOf(member), isNoticed ? silence.endedMs : 0);
  }

  /** When a member last died, on the monotonic clock; minus infinity if it never has. */
  diedMs(member: string): number {
    return this.#processOf(member)?.lastDeathMs ?? Number.NEGATIVE_INFINITY;
  }

  #processOf(member: string): ViewingProcess | undefined {
    return this.#processes().find(({ name }) => name === member);
  }
}

/** How much of a silence a process's own clock missed, because it was suspended with its machine. */
function suspendedMs(process: ViewingProcess | undefined, silence: Interruption): number {
  const pause = process?.lastPause ?? null;
  if (pause === null || pause === process?.lastStop) return 0;
  const beganMs = Math.max(pause.endedMs - pause.lastedMs, silence.endedMs - silence.lastedMs);
  return Math.max(0, Math.min(pause.endedMs, silence.endedMs) - beganMs);
}
