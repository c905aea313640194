/**
 * A cluster of two zones with Vigil processes that can be suspended, and a record of what they publish. It asserts
 * nothing.
 */
import type { MessageType } from "../../protocols/messages.ts";
import type { Fleet, ServiceName, Stop } from "../../protocols/ports.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { BusFleet } from "../../services/platform/fleet/fleet.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { ProcessClock } from "../sim/process-clock.ts";
import { EVICTING, EvictionWorld } from "./eviction-world.ts";
import { recordingLog } from "./recording-log.ts";
import { Standstill } from "./standstill.ts";
import type { ReceivedMessage, Services } from "./virtual-cluster.ts";

const SECOND = 1000;

/** How long after a process stopped a node dies. */
const DEATH_AFTER_MS = 5 * SECOND;

/**
 * What a process's clocks do during a standstill: continue, as under SIGSTOP; or stop with it, as in a paused virtual
 * machine or a suspended machine, where the wall clock may be corrected afterwards.
 */
export type ClocksMeanwhile = "run" | "stop" | "stop, wall is set";

/** A process that can be suspended. */
interface Stoppable {
  readonly clocks: ClocksMeanwhile;
  readonly clock: ProcessClock;
  readonly standstill: Standstill;
}

/** The options of a process: alone in its fleet, unless it is shared. */
export interface StandstillOptions {
  readonly clocks?: ClocksMeanwhile | undefined;
  /** Whether it shares the shards with the other shared processes. */
  readonly isShared?: boolean;
}

/** Six nodes in two zones. `a-0` can be dead and tainted for long. */
export class StandstillWorld extends EvictionWorld {
  readonly #stoppable = new Map<string, Stoppable>();
  #receivedBefore = 0;
  #healedBefore = 0;

  constructor() {
    super({ pulsePeriodMs: SECOND, pulseTimeoutMs: 4 * SECOND });
    this.addZone("a", 3);
    this.addZone("b", 3);
  }

  /** Starts a process that can be suspended; by default it runs every service that evicts. */
  add(member: string, { clocks = "run", isShared }: StandstillOptions = {}, ...names: readonly ServiceName[]): void {
    const clock = new ProcessClock(this.clock, { rate: 1, wallOffsetMs: 0 });
    const standstill = new Standstill(clock);
    const services = Object.entries(EVICTING).filter(
      ([name]) => names.length === 0 || names.some((each) => each === name),
    );
    this.#stoppable.set(member, { clocks, clock, standstill });
    const fleet = isShared === true ? { fleet: this.#fleet(member, services, standstill) } : {};
    this.start(Object.fromEntries(services) as Services, { member, standstill, ...fleet });
  }

  /** Lets `a-0` die and be tainted; only later messages count. */
  settle(): void {
    this.advance(10 * SECOND);
    this.silence(["a-0"]);
    this.advance(80 * SECOND);
    this.#receivedBefore = this.received.length;
    this.#healedBefore = this.healed.length;
  }

  /** Suspends processes for a while, in which nodes may die. */
  stopFor(members: readonly string[], ms: number, ...dying: readonly string[]): void {
    const resumes = members.map((member) => this.stopProcess(member));
    this.advance(DEATH_AFTER_MS);
    this.silence(dying);
    this.advance(ms - DEATH_AFTER_MS);
    for (const resume of resumes) resume();
  }

  /** Suspends a process until the returned function is called. */
  stopProcess(member: string): Stop {
    const stopped = this.#stoppable.get(member);
    if (stopped === undefined) throw new Error(`there is no process ${member}`);
    const { clocks, clock, standstill } = stopped;
    const sinceMs = this.clock.monotonicMs();
    standstill.begin();
    const resumeClock = clocks === "run" ? () => {} : clock.suspend();
    return () => {
      resumeClock();
      if (clocks === "stop") clock.stepWall(sinceMs - this.clock.monotonicMs());
      standstill.end();
    };
  }

  /** Nodes other than `a-0` that were judged Unknown or requested to be marked so, whatever the outcome. */
  get foundUnknown(): string[] {
    const judged = this.receivedSince("judged.node").filter(({ body }) => body.ready === "Unknown");
    const requested = this.receivedSince("asked.condition").filter(({ body }) => body.conditions.length > 0);
    const names = new Set([...judged, ...requested].map(({ body }) => body.node));
    return [...names].filter((name) => name !== "a-0").toSorted();
  }

  /** Every announced state of a zone. */
  get zoneStates(): string[] {
    const states = this.receivedSince("judged.zone").map(({ body }) =>
      body.halted ? `${body.state}, halted` : body.state,
    );
    return [...new Set(states)].toSorted();
  }

  /** Nodes that lost their NoExecute taint. */
  get freed(): string[] {
    return this.healed.slice(this.#healedBefore).map(({ name }) => name);
  }

  /** The messages of one type since `settle`. */
  receivedSince<T extends MessageType>(type: T): ReceivedMessage<T>[] {
    return this.received
      .slice(this.#receivedBefore)
      .filter((message): message is ReceivedMessage<T> => message.type === type);
  }

  #fleet(member: string, services: readonly [string, unknown][], { clock }: Standstill): Fleet {
    const identity = { clock, member, log: recordingLog(), metrics: createMetrics() };
    const { profile, transport } = this;
    const { mailboxMessagesMax } = profile;
    const bus = typedBus({ ...identity, transport, cluster: "test", service: "fleet", mailboxMessagesMax });
    return new BusFleet({ ...identity, bus, profile, services: services.map(([name]) => name as ServiceName) });
  }
}
