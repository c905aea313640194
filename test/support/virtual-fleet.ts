/**
 * A fleet of complete processes on virtual time on one working bus. Each has its own network path to the API server,
 * which can be cut.
 */
import type { Message, MessageType } from "../../protocols/messages.ts";
import {
  type Clock,
  type Fleet,
  SERVICE_NAMES,
  type ServiceName,
  type Stop,
  type Transport,
} from "../../protocols/ports.ts";
import { startController } from "../../services/cli/process/controller.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../services/platform/bus/memory.ts";
import { BusFleet } from "../../services/platform/fleet/fleet.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { ApiReachability } from "../../services/platform/kube/transport/reachability.ts";
import { createMetrics, type ReadableMetrics } from "../../services/platform/process/metrics.ts";
import { ApiPath } from "../sim/api-path.ts";
import { cuttable } from "./cuttable-transport.ts";
import { recordingLog } from "./recording-log.ts";
import { VirtualWorld } from "./virtual-world.ts";

const MAILBOX = { mailboxMessagesMax: 100_000 };

/** One process of the fleet. */
export interface FleetMember {
  readonly name: string;
  readonly path: ApiPath;
  readonly log: ReturnType<typeof recordingLog>;
  readonly metrics: ReadableMetrics;
  readonly reachability: ApiReachability;
  readonly fleet: BusFleet;
  /** The instants at which it gained or lost shards of a service. */
  readonly movedMs: (service: ServiceName) => readonly number[];
  /** Cuts it off the bus; the returned function restores the link. */
  readonly cutBus: () => Stop;
  /** Ends it without a goodbye. */
  readonly kill: Stop;
}

/** A message with the instant of its publication on the monotonic clock. */
export type PublishedMessage<T extends MessageType> = Message<T> & { readonly atMs: number };

/** The world with a fleet in it. */
export class VirtualFleet extends VirtualWorld {
  readonly members = new Map<string, FleetMember>();
  readonly #transport: Transport = memoryTransport(this.clock);

  /** Starts a process with these services, by default all of them. */
  join(name: string, services: readonly ServiceName[] = SERVICE_NAMES): FleetMember {
    const { clock, profile } = this;
    const path = new ApiPath({ clock, random: this.random(`path/${name}`), count: () => {} });
    const [log, metrics] = [recordingLog(), createMetrics()];
    const reachability = new ApiReachability({ wire: path.over(this.api.wire), clock, log, metrics, profile });
    const ports = { clock, log, metrics, profile, wire: reachability.wire, reachability };
    const kube = createKube({ ...ports, random: this.random(`kube/${name}`) });
    const { transport, cut } = cuttable(this.#transport);
    const identity = { transport, member: name, cluster: "test", services };
    const bus = typedBus({ ...ports, ...identity, ...MAILBOX, service: "fleet" });
    const fleet = new BusFleet({ ...ports, ...identity, bus });
    const moves = movesOf(fleet, services, clock);
    const controller = startController({
      ...ports,
      ...identity,
      kube,
      fleet,
      random: this.random(name),
      isShared: true,
      store: null,
      fatal: (problem) => log.error(problem),
    });
    const member: FleetMember = {
      name,
      path,
      log,
      metrics,
      reachability,
      fleet,
      movedMs: (service) => moves.get(service) ?? [],
      cutBus: cut,
      kill: () => {
        cut();
        reachability.stop();
        controller.stop();
        this.members.delete(name);
      },
    };
    this.members.set(name, member);
    return member;
  }

  /** The members that own a shard of a service. */
  ownersOf(service: ServiceName, shard: number): string[] {
    return [...this.members.values()].filter(({ fleet }) => fleet.owns(service, shard)).map(({ name }) => name);
  }

  /** The one member that observes. Throws unless there is exactly one. */
  observing(): FleetMember {
    const [name = "nobody", ...others] = this.ownersOf("observer", 0);
    const member = this.members.get(name);
    if (member === undefined || others.length > 0) throw new Error(`${[name, ...others].join()} observe`);
    return member;
  }

  /** Keeps the messages of a type that are published from now on. */
  received<T extends MessageType>(type: T): PublishedMessage<T>[] {
    const published: PublishedMessage<T>[] = [];
    const [log, metrics] = [recordingLog(), createMetrics()];
    const identity = { transport: this.#transport, member: "test", cluster: "test", service: "tap" };
    const bus = typedBus({ ...identity, ...MAILBOX, clock: this.clock, log, metrics });
    bus.subscribe(type, "all", (message) => published.push({ ...message, atMs: this.clock.monotonicMs() }));
    return published;
  }
}

function movesOf(fleet: Fleet, services: readonly ServiceName[], clock: Clock): ReadonlyMap<ServiceName, number[]> {
  const moves = new Map(services.map((service) => [service, [] as number[]]));
  for (const [service, movedMs] of moves) {
    const note = (): void => {
      if (movedMs.at(-1) !== clock.monotonicMs()) movedMs.push(clock.monotonicMs());
    };
    fleet.follow(service, { gained: note, lost: note });
  }
  return moves;
}
