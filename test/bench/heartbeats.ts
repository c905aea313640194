/** Nodes that heartbeat into an observer without an API server: the test hands the watch events to it directly. */
import { NO_POLICIES } from "../../protocols/policy-set.ts";
import type {
  Clock,
  Io,
  Kube,
  Service,
  ServiceName,
  Stop,
  Transport,
  Watched,
  WatchSink,
} from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { aloneFleet } from "../../services/platform/fleet/fleet.ts";
import { UNCONTESTED_LEASES } from "../../services/platform/kube/election/kube-leases.ts";
import { fixedPolicies } from "../../services/platform/node-policies/policy-receiver.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { observedNode } from "../support/observed-objects.ts";
import { seededRandom } from "../support/random.seeded.ts";

/** The settings of a world of heartbeats. Each service has a bus of its own. */
export interface HeartbeatOptions {
  readonly clock: Clock;
  readonly transport: Transport;
  readonly services: Readonly<Partial<Record<ServiceName, Service>>>;
  readonly nodes: number;
}

type Sinks = { -readonly [K in keyof Watched]?: WatchSink<Watched[K]> };

/** A number of ready nodes whose leases are renewed on request. */
export class Heartbeats {
  readonly nodes: number;
  readonly #clock: Clock;
  readonly #sinks: Sinks = {};
  readonly #stops: readonly Stop[];

  constructor({ clock, transport, services, nodes }: HeartbeatOptions) {
    this.nodes = nodes;
    this.#clock = clock;
    const kube = watchesInto(this.#sinks);
    this.#stops = Object.entries(services).map(([name, service]) =>
      service(bareIo(name as ServiceName, { clock, transport, kube })),
    );
  }

  /** Delivers everything that the first lists would contain. */
  list(): void {
    const state = { synced: true, since: this.#clock.wallMs() };
    for (let index = 0; index < this.nodes; index++) this.#sinks.nodes?.changed(observedNode(`n-${index}`));
    this.#sinks.nodes?.state(state);
    this.renew(0, this.nodes);
    this.#sinks.leases?.state(state);
    this.#sinks.pods?.state(state);
  }

  /** Renews the leases of the nodes from one number up to another. */
  renew(from: number, to: number): void {
    const renewedAt = this.#clock.wallMs();
    for (let index = from; index < to; index++) this.#sinks.leases?.changed({ node: `n-${index}`, renewedAt });
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }
}

/** The ports of a single service, without a log or metrics. */
export function bareIo(
  service: ServiceName,
  { clock, transport, kube }: { readonly clock: Clock; readonly transport: Transport; readonly kube: Kube },
): Io {
  const metrics = createMetrics();
  const parts = { transport, clock, cluster: "bench", service, member: "bench", log: silentLog, metrics };
  const bus = typedBus({ ...parts, mailboxMessagesMax: 1e6 });
  const io = { clock, bus, kube, random: seededRandom(1), log: silentLog, metrics };
  const fixed = { policies: fixedPolicies(NO_POLICIES), leases: UNCONTESTED_LEASES };
  return { ...io, ...fixed, profile: STANDARD_PROFILE, fleet: aloneFleet("bench") };
}

/** An API that only has watches; reads and writes are never answered. */
export function watchesInto(sinks: Sinks): Kube {
  return {
    watch: (what, sink) => {
      Object.assign(sinks, { [what]: sink });
      const state = { synced: true, since: 0 };
      const nothing = () => {};
      return {
        state: () => state,
        confirmedAt: () => null,
        version: () => null,
        held: () => null,
        relist: nothing,
        refresh: nothing,
        stop: nothing,
      };
    },
    read: () => {},
    readShown: () => {},
    write: () => {},
    minorVersion: () => {},
    leaseHistory: () => {},
    componentLeases: () => {},
  };
}
