/**
 * A complete cluster on virtual time: the embedded API, kubelets, and processes of Vigil on a memory bus that can be
 * cut.
 */

import { inspect } from "node:util";
import { MESSAGES, type Message, type MessageType } from "../../protocols/messages.ts";
import { NO_POLICIES } from "../../protocols/policy-set.ts";
import type {
  Bus,
  Clock,
  Fleet,
  Io,
  Kube,
  Log,
  Metrics,
  Policies,
  Service,
  ServiceName,
  Stop,
  Transport,
  Wire,
} from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../services/platform/bus/memory.ts";
import { aloneFleet } from "../../services/platform/fleet/fleet.ts";
import { KubeLeases, UNCONTESTED_LEASES } from "../../services/platform/kube/election/kube-leases.ts";
import { ShadowKube } from "../../services/platform/kube/shadow/shadow-kube.ts";
import { ApiReachability, type ReachabilityIo } from "../../services/platform/kube/transport/reachability.ts";
import { ServerClock } from "../../services/platform/kube/transport/server-clock.ts";
import { fixedPolicies } from "../../services/platform/node-policies/policy-receiver.ts";
import { createMetrics, type ReadableMetrics } from "../../services/platform/process/metrics.ts";
import { supervise } from "../../services/platform/process/supervisor.ts";
import { cuttable } from "./cuttable-transport.ts";
import { recordingLog } from "./recording-log.ts";
import type { Standstill } from "./standstill.ts";
import { VirtualWorld, type VirtualWorldOptions } from "./virtual-world.ts";

/** The services of one process, by name. */
export type Services = Partial<Record<ServiceName, Service>>;

/** A received message, with its time on the monotonic clock. */
export type ReceivedMessage<T extends MessageType = MessageType> = Message<T> & { readonly atMs: number };

/** One process of Vigil. */
export interface VirtualProcess {
  readonly member: string;
  readonly log: ReturnType<typeof recordingLog>;
  readonly metrics: ReadableMetrics;
  /** Cuts the process off the bus until the returned function is called. */
  cutBus(): Stop;
  /** Ends the process without a goodbye, as a kill does. */
  kill: Stop;
}

/** How a process is started; by default it is alone in its fleet, is never suspended and has a correct clock. */
export interface StartOptions {
  readonly member?: string;
  readonly fleet?: Fleet;
  readonly standstill?: Standstill;
  /** How far its wall clock is ahead of the API server's, in milliseconds. */
  readonly wallAheadMs?: number;
  /** Whether it runs in shadow mode. */
  readonly isShadow?: boolean;
  /** Its clock, made from that of the world. */
  readonly clockOver?: (clock: Clock) => Clock;
  /** Its wire to the API, made from the API's own. */
  readonly wireOver?: (wire: Wire) => Wire;
  /** A bus of its own, separate from that of the other processes. */
  readonly transport?: Transport;
  /** The node policies; none by default. */
  readonly policies?: Policies;
  /** Settings that differ from those of the world. */
  readonly profile?: Partial<Profile>;
}

/** A component with its own bus. */
interface BusUser {
  readonly service: string;
  readonly member: string;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** The world with Vigil in it. */
export class VirtualCluster extends VirtualWorld {
  /** Every message on the bus. */
  readonly received: ReceivedMessage[] = [];
  /** The bus beneath all processes, for messages that no process would send. */
  readonly transport: Transport;
  readonly #processes = new Set<VirtualProcess>();
  #started = 0;

  constructor(options: VirtualWorldOptions = {}) {
    super(options);
    this.transport = memoryTransport(this.clock);
    this.#tap();
  }

  /** Advances time. Throws when a service failed, even if a restart repaired it. */
  override advance(ms: number): void {
    super.advance(ms);
    for (const { member, log } of this.#processes) {
      const problem = log.lines.find(({ level }) => level === "error");
      if (problem === undefined) continue;
      throw new Error(`${member}: ${problem.message}: ${inspect(problem.fields)}`);
    }
  }

  /** Starts a process with these services, alone in its fleet unless another one is given. */
  start(services: Services, options: StartOptions = {}): VirtualProcess {
    this.#started += 1;
    const { member, fleet } = options;
    const name = member ?? `process-${this.#started}`;
    const log = recordingLog();
    const metrics = createMetrics();
    const { transport, cut } = cuttable(options.transport ?? this.transport);
    const { clock, wire } = this.#contextOf(options, log);
    const api = this.createKube(`${name}/${this.#started}`, log, metrics, {
      clock,
      wire,
      machineWallMs: () => clock.machineWallMs(),
    });
    const profile = { ...this.profile, ...options.profile };
    const reachability = options.wallAheadMs === undefined ? null : this.#reach({ wire, clock, log, metrics }, api);
    const { policies = fixedPolicies(NO_POLICIES) } = options;
    const busOf = (service: string): Bus => this.#createBus(transport, { service, member: name, log, metrics, clock });
    const shadow = options.isShadow ? new ShadowKube({ kube: api, clock, log, bus: busOf("shadow") }) : null;
    const kube = shadow ?? api;
    let isKilled = false;
    const living: Wire = {
      send: (request, exchange) => (isKilled ? { abort: () => {} } : wire.send(request, exchange)),
    };
    const candidate = { clock, log, metrics, wire: living, member: name, reachability };
    const leases = options.isShadow
      ? UNCONTESTED_LEASES
      : new KubeLeases({
          ...candidate,
          watchBlindMs: profile.watchBlindMs,
          random: this.random(`${name}/${this.#started}/leases`),
        });
    const shared = { clock, profile, kube, log, metrics, fleet: fleet ?? aloneFleet(name), policies, leases };
    const supervisor = supervise({
      services: new Map(Object.entries(services) as [ServiceName, Service][]),
      ioOf: (service): Io => {
        return { ...shared, bus: busOf(service), random: this.random(`${name}/${service}`) };
      },
      clock,
      log,
      metrics,
      fatal: (problem) => log.error(problem),
    });
    const process: VirtualProcess = {
      member: name,
      log,
      metrics,
      cutBus: cut,
      kill: () => {
        isKilled = true;
        cut();
        reachability?.stop();
        supervisor.stop();
        shadow?.stop();
        this.#processes.delete(process);
      },
    };
    this.#processes.add(process);
    return process;
  }

  /** A bus for messages that no process sends, as of a service of this member. */
  busOf(service: ServiceName | "policies", member: string): Bus {
    const shared = { log: recordingLog(), metrics: createMetrics(), clock: this.clock };
    return this.#createBus(this.transport, { service, member, ...shared });
  }

  /** Ends every process. */
  stop(): void {
    for (const process of this.#processes) process.kill();
  }

  /** The messages of one type, in order. */
  published<T extends MessageType>(type: T): ReceivedMessage<T>[] {
    return this.received.filter((message): message is ReceivedMessage<T> => message.type === type);
  }

  /** The clock and the wire of a process, as in `vigil run`. */
  #contextOf(
    { standstill, wallAheadMs = 0, clockOver = (clock) => clock, wireOver = (wire) => wire }: StartOptions,
    log: Log,
  ): { readonly clock: ServerClock; readonly wire: Wire } {
    const own = clockOver(standstill?.clock ?? this.clock);
    const clock = new ServerClock(
      {
        monotonicMs: () => own.monotonicMs(),
        wallMs: () => own.wallMs() + wallAheadMs,
        after: (delayMs, fire) => own.after(delayMs, fire),
        soon: (run) => own.soon(run),
      },
      log,
    );
    const wire = wireOver(this.api.wire);
    return { clock, wire: clock.over(standstill?.wire(wire) ?? wire) };
  }

  /** Lets a process connect to the API server before and beside its services, as one that shares its bus does. */
  #reach(io: Omit<ReachabilityIo, "profile">, kube: Kube): ApiReachability {
    const { profile } = this;
    kube.read({ kind: "Namespace", namespace: "", name: "kube-system" }, () => {});
    this.advance(0);
    return new ApiReachability({ ...io, profile });
  }

  #createBus(transport: Transport, user: BusUser): Bus {
    const { mailboxMessagesMax } = this.profile;
    return typedBus({ transport, cluster: "test", mailboxMessagesMax, ...user });
  }

  #tap(): void {
    const bus = this.#createBus(this.transport, {
      service: "tap",
      member: "test",
      log: recordingLog(),
      metrics: createMetrics(),
      clock: this.clock,
    });
    for (const type of Object.keys(MESSAGES) as MessageType[]) {
      bus.subscribe(type, "all", (message) => {
        freeze(message.body);
        this.received.push({ ...message, atMs: this.clock.monotonicMs() });
      });
    }
  }
}

/** Services of a process share the contents of a message: one that changes it fails from now on. */
function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  Object.freeze(value);
  Object.values(value).forEach(freeze);
}
