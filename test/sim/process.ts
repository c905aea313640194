/**
 * One simulated process of Vigil: the real services on clocks, links and wires that can fail. It can be killed and
 * started again.
 */

import type { LedgerReader } from "../../protocols/ledger-reader.ts";
import type { Log, Random, ServiceName, Stop, Wire } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { type Controller, startController } from "../../services/cli/process/controller.ts";
import { PULSE_PROBLEMS } from "../../services/platform/fleet/pulse-alarms.ts";
import { KubeLeases } from "../../services/platform/kube/election/kube-leases.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { ApiReachability } from "../../services/platform/kube/transport/reachability.ts";
import { ServerClock } from "../../services/platform/kube/transport/server-clock.ts";
import { type DrainableKube, drainable } from "../../services/platform/process/drain.ts";
import type { ReadableMetrics } from "../../services/platform/process/metrics.ts";
import type { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import type { VirtualClock } from "../support/clock.virtual.ts";
import { Standstill } from "../support/standstill.ts";
import { ApiPath, type Interruption } from "./api-path.ts";
import { CALM_WIRE, FaultyWire, type WireFaults } from "./faulty-wire.ts";
import type { Link, Network } from "./network.ts";
import { type ClockSkew, ProcessClock } from "./process-clock.ts";
import type { Swarm } from "./swarm.ts";
import { NO_WALL_ERROR, type WallError, wallErrorAt } from "./wall-error.ts";
import type { Absence } from "./watch-views.ts";

/** A log that keeps this process's errors, and each warning once; a refused pulse is another member's fault. */
function errorLog(errors: string[], warnings: Set<string>): Log {
  const drop = (): void => {};
  return {
    debug: drop,
    info: drop,
    warn: (message) => warnings.add(message),
    error: (message, { error } = {}) => {
      if (PULSE_PROBLEMS.includes(message)) return;
      errors.push(`${message} ${error instanceof Error ? error.stack : ""}`);
    },
  };
}

/** Sends the first read of a process. Its services start after the answer, so they have the API server's time. */
function sendFirstRead(wire: Wire): void {
  const ignored = { response: () => {}, data: () => {}, end: () => {}, failed: () => {} };
  wire.send({ method: "GET", path: "/version", headers: {}, body: null }, ignored);
}

/** A read that is older than this has timed out before its answer is used. */
const READ_TIMEOUT_MS = 10_000;

/** How far apart the wall clocks of drifting processes are at first. */
const WALL_OFFSET_SPREAD_MS = 10_000;

/** The parts of a world that a process needs. */
export interface ProcessWorld {
  readonly clock: VirtualClock;
  readonly network: Network;
  readonly api: ApiServer;
  readonly profile: Profile;
  /** Whether the processes follow node policies. */
  readonly hasPolicies?: boolean;
  /** Counts a situation that the run is meant to reach. */
  readonly count: (situation: string) => void;
  /** Called for each death, and for each start but the first. */
  readonly disturbed: (what: "start" | "death", services: readonly ServiceName[]) => void;
  /** A stream of chance for a purpose. */
  readonly chance: (purpose: string) => Random;
  /** The registry of a process that starts. */
  readonly createMetrics: () => ReadableMetrics;
}

/** How a process is stopped. */
export interface StopOptions {
  /** Whether its monotonic clock stops too, as that of a suspended machine does. */
  readonly clockStops: boolean;
  /** Whether its wall clock is behind by the length of the stop afterwards, as one that is not synchronized. */
  readonly fallsBehind: boolean;
  /** After how long its peers break their connections to it, in milliseconds; infinite for never. */
  readonly peersWaitMs: number;
}

interface Life {
  readonly clock: ProcessClock;
  readonly standstill: Standstill;
  readonly link: Link;
  readonly wire: FaultyWire;
  readonly controller: Controller;
  readonly writes: DrainableKube;
  readonly leases: KubeLeases;
  readonly errors: readonly string[];
}

/** How long a process may need to end, in milliseconds, before it is killed. */
const END_MS = 20_000;

/** A process that can be killed and started again, any number of times. */
export class SimulatedProcess {
  readonly name: string;
  readonly services: readonly ServiceName[];
  readonly #world: ProcessWorld;
  readonly #skew: ClockSkew;
  /** Its connection to the API server, in whichever life. */
  readonly apiPath: ApiPath;
  /** What it has warned of, in whichever life. */
  readonly warnings = new Set<string>();
  #life: Life | null = null;
  #lives = 0;
  /** How long its clock was suspended in its earlier runs. */
  #suspendedBeforeMs = 0;
  #stoppedUntilMs = Number.NEGATIVE_INFINITY;
  /** Its last stop in which its clock continued; null before. */
  lastStop: Interruption | null = null;
  /** Its last stop, whether its clock continued or not; null before. */
  lastPause: Interruption | null = null;
  /** When it was killed last, on the world's monotonic clock. */
  lastDeathMs = Number.NEGATIVE_INFINITY;
  /** Its last absence, dead or stopped; null before. */
  lastAbsence: Absence | null = null;
  #wireFaults: WireFaults = CALM_WIRE;
  /** The error of its machine's wall clock. */
  wallError: WallError = NO_WALL_ERROR;

  constructor(name: string, services: readonly ServiceName[], world: ProcessWorld, skew: ClockSkew) {
    this.name = name;
    this.services = services;
    this.#world = world;
    this.#skew = skew;
    const { clock, count, chance } = world;
    this.apiPath = new ApiPath({ clock, count, random: chance(`path/${name}`) });
  }

  /** The last interval in which its watches delivered nothing, because its path was cut; null before. */
  get lastSilence(): Interruption | null {
    return this.apiPath.lastSilence;
  }

  /** Whether it runs with an undisturbed path to the API server. */
  get isFree(): boolean {
    return this.#life !== null && !this.#life.standstill.isStill && this.apiPath.cut === null;
  }

  /** Whether its machine is suspended, and its clock with it. */
  get isAsleep(): boolean {
    return this.#life?.clock.isSuspended === true;
  }

  /** What its ledger knows; null while it is dead, and where it runs none. */
  get ledger(): LedgerReader | null {
    return this.#life?.controller.ledger ?? null;
  }

  get running(): boolean {
    return this.#life !== null;
  }

  /** The link of the present life; null while it is dead. */
  get link(): Link | null {
    return this.#life?.link ?? null;
  }

  get clock(): ProcessClock | null {
    return this.#life?.clock ?? null;
  }

  /**
   * The world's monotonic time minus the time in which its own clock was suspended, over all its runs: it cannot know
   * that any time passed then.
   */
  get ownMs(): number {
    return this.#world.clock.monotonicMs() - this.#suspendedBeforeMs - (this.#life?.clock.suspendedMs ?? 0);
  }

  /** How far the wall clock of its machine is ahead now, in milliseconds. */
  get wallErrorMs(): number {
    return wallErrorAt(this.wallError, this.#world.clock);
  }

  /** Errors it has logged in the present life: a service failed. */
  get errors(): readonly string[] {
    return this.#life?.errors ?? [];
  }

  /** Makes its connection to the API server fail. */
  set wireFaults(faults: WireFaults) {
    this.#wireFaults = faults;
    if (this.#life !== null) this.#life.wire.faults = faults;
  }

  start(): void {
    if (this.#life !== null) return;
    this.#lives += 1;
    this.#returns();
    const { network, api, profile, chance, createMetrics } = this.#world;
    const life = `${this.name}/${this.#lives}`;
    const clock = new ProcessClock(this.#world.clock, this.#skew, () => this.wallErrorMs);
    const standstill = new Standstill(clock);
    const link = network.link({ name: life, member: this.name, read: (take) => standstill.read(take) });
    const random = chance(`wire/${life}`);
    // The network continues while the process is suspended.
    const networkClock = new ProcessClock(this.#world.clock, this.#skew);
    const { count } = this.#world;
    const wire = new FaultyWire({ wire: api.wire, clock: networkClock, random, writer: this.name, count });
    if (this.#lives > 1) this.#world.disturbed("start", this.services);
    wire.faults = this.#wireFaults;
    const errors: string[] = [];
    const [log, metrics] = [errorLog(errors, this.warnings), createMetrics()];
    const time = new ServerClock(standstill.clock, log);
    sendFirstRead(time.over(api.wire));
    const io = { clock: time, wire: time.over(standstill.wire(this.apiPath.over(wire))) };
    const reachability = new ApiReachability({ ...io, log, metrics, profile });
    const measured = { ...io, wire: reachability.wire, reachability };
    const machineWallMs = (): number => time.machineWallMs();
    const sending = { ...measured, machineWallMs, random: chance(`kube/${life}`), log, metrics, profile };
    const writes = drainable(createKube(sending));
    const candidate = { ...measured, log, metrics, member: this.name, watchBlindMs: profile.watchBlindMs };
    const leases = new KubeLeases({ ...candidate, random: chance(`leases/${life}`) });
    const controller = startController({
      clock: io.clock,
      random: chance(`services/${life}`),
      log,
      metrics,
      profile,
      kube: writes.kube,
      reachability,
      leases,
      transport: link,
      cluster: "sim",
      member: this.name,
      services: this.services,
      isShared: true,
      store: null,
      ...(this.#world.hasPolicies === true && { policies: [] }),
      // A crash loop ends the process; the world starts it again, as a cluster would.
      fatal: () => this.kill(),
    });
    this.#life = { clock, standstill, link, wire, controller, writes, leases, errors };
  }

  /**
   * Stops it, as SIGSTOP does: timers do not fire, and input waits unread. The returned function continues it, once.
   * Null where it is dead or stopped already.
   */
  suspend({ clockStops, fallsBehind, peersWaitMs }: StopOptions): Stop | null {
    const life = this.#life;
    if (life === null || life.standstill.isStill) return null;
    const { clock: world, network, count } = this.#world;
    const sinceMs = world.monotonicMs();
    life.standstill.begin();
    this.#leaves();
    const resumeClock = clockStops ? life.clock.suspend() : () => {};
    let reconnect: Stop = () => {};
    const timer = Number.isFinite(peersWaitMs)
      ? world.after(peersWaitMs, () => {
          this.apiPath.breakConnections();
          reconnect = network.cut(life.link, { up: true, down: true });
        })
      : null;
    let isOver = false;
    return () => {
      timer?.cancel();
      // A plot and the end of the faults may both continue it, and another stop may have begun between them.
      if (isOver || this.#life !== life) return;
      isOver = true;
      const stoppedMs = world.monotonicMs() - sinceMs;
      count("process stopped");
      if (stoppedMs > 60_000) count("process stopped for more than a minute");
      if (stoppedMs > 300_000) count("process stopped for more than five minutes");
      if (clockStops) count("process stopped together with its clock");
      this.#stoppedUntilMs = world.monotonicMs();
      this.#returns();
      this.lastPause = { endedMs: this.#stoppedUntilMs, lastedMs: stoppedMs };
      if (!clockStops) this.lastStop = this.lastPause;
      const { offsetMs, drift } = this.wallError;
      if (fallsBehind) this.wallError = { offsetMs: offsetMs - stoppedMs, drift };
      resumeClock();
      life.standstill.end();
      reconnect();
    };
  }

  /**
   * How old, beyond the usual, a read from the API may have been when a write rested on it: paths delay requests, and a
   * stopped process reads late.
   */
  get delayMaxMs(): number {
    const nowMs = this.#world.clock.monotonicMs();
    const isFresh = nowMs - this.#stoppedUntilMs < READ_TIMEOUT_MS;
    return this.apiPath.delayMaxMs(nowMs) + (isFresh ? READ_TIMEOUT_MS : 0);
  }

  /**
   * Ends it as SIGTERM does: it leaves the fleet, finishes its writes and releases its Leases. One that needs too long
   * is killed. Calls `ended` when it has ended.
   */
  end(ended: Stop): void {
    const life = this.#life;
    if (life === null) {
      ended();
      return;
    }
    let isOver = false;
    const die = (): void => {
      if (isOver) return;
      isOver = true;
      if (this.#life === life) this.kill();
      ended();
    };
    this.#world.clock.after(END_MS, die);
    life.controller.leave(() =>
      life.writes.whenIdle(() => {
        life.controller.stop();
        life.leases.whenReleased(die);
      }),
    );
  }

  /** Ends it without a goodbye. */
  kill(): void {
    const life = this.#life;
    if (life === null) return;
    this.#life = null;
    this.lastDeathMs = this.#world.clock.monotonicMs();
    this.#leaves();
    this.#suspendedBeforeMs += life.clock.suspendedMs;
    this.#world.disturbed("death", this.services);
    life.clock.kill();
    life.standstill.kill();
    this.apiPath.closeConnections();
    life.link.close();
    life.wire.kill();
  }

  /** A stopped process that is killed has been away since the stop. */
  #leaves(): void {
    if (this.lastAbsence?.untilMs === Number.POSITIVE_INFINITY) return;
    this.lastAbsence = { fromMs: this.#world.clock.monotonicMs(), untilMs: Number.POSITIVE_INFINITY };
  }

  #returns(): void {
    if (this.lastAbsence !== null) this.lastAbsence = { ...this.lastAbsence, untilMs: this.#world.clock.monotonicMs() };
  }
}

/** The processes of a run, with clocks that drift where that is one of its faults. */
export function processesOf({ processes, faults }: Swarm, world: ProcessWorld): SimulatedProcess[] {
  return processes.map((services, index) => {
    const name = `p${index + 1}`;
    const chance = world.chance(`skew/${name}`);
    const skew = faults.has("clockDrift")
      ? { rate: 1 + (chance() - 0.5) * 0.001, wallOffsetMs: (chance() - 0.5) * WALL_OFFSET_SPREAD_MS }
      : { rate: 1, wallOffsetMs: 0 };
    return new SimulatedProcess(name, services, world, skew);
  });
}
