/** One process of the controller: the chosen services, each on a bus of its own, on whatever ports it is given. */

import type { LedgerReader } from "../../protocols/ledger-reader.ts";
import type {
  Bus,
  Clock,
  Fleet,
  Io,
  Kube,
  Log,
  Random,
  Service,
  ServiceName,
  Transport,
} from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { startLedger } from "../ledger/ledger.service.ts";
import type { LedgerStore } from "../ledger/ledger.store.ts";
import { nodeService } from "../node/node.service.ts";
import { nodeWriterService } from "../node-writer/node-writer.service.ts";
import { observerService } from "../observer/observer.service.ts";
import { typedBus } from "../platform/bus/bus.ts";
import { aloneFleet, type BusFleet, busFleet } from "../platform/fleet/fleet.ts";
import type { ForeignMembers } from "../platform/fleet/foreign-members.ts";
import type { ApiReachability } from "../platform/kube/transport/reachability.ts";
import { logWith } from "../platform/process/log.ts";
import type { ReadableMetrics } from "../platform/process/metrics.ts";
import { supervise } from "../platform/process/supervisor.ts";
import { podWriterService } from "../pod-writer/pod-writer.service.ts";
import { taintManagerService } from "../taint-manager/taint-manager.service.ts";
import { zoneService } from "../zone/zone.service.ts";
import { CurrentLedger } from "./current-ledger.ts";

/** What a process of the controller is made of. */
export interface ControllerParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: ReadableMetrics;
  readonly profile: Profile;
  readonly kube: Kube;
  readonly transport: Transport;
  /** Name of the Kubernetes cluster in subjects. */
  readonly cluster: string;
  readonly member: string;
  readonly services: readonly ServiceName[];
  /** Whether other processes may be on the transport, so that shards are shared with them. */
  readonly isShared: boolean;
  /** The ledger's memory beyond the process; null for none. */
  readonly store?: LedgerStore | null;
  /** What tells processes of another Kubernetes cluster on the transport from ours; null when we do not know which. */
  readonly foreignMembers?: ForeignMembers | null;
  /** How this process stands to the API server; absent when it is not measured. */
  readonly reachability?: ApiReachability | null;
  /** The fleet that was joined already; when there is none, and others may be on the transport, one is joined. */
  readonly fleet?: BusFleet | null;
  /** Told of a service that fails again and again: the process should end. */
  readonly fatal: (problem: string) => void;
}

/** A running process of the controller. */
export interface Controller {
  /** What the ledger knows; null when this process runs none. */
  readonly ledger: LedgerReader | null;
  /**
   * Ends what judges and leaves the fleet, so that others take over at once. Calls `left` when nothing more is asked of
   * this process; its writers and ledger go on until `stop`, so that writes under way are finished and told.
   */
  leave(left: () => void): void;
  /** Ends all that still runs. */
  stop(): void;
}

const SERVICES: ReadonlyMap<ServiceName, Service> = new Map([
  ["observer", observerService],
  ["node", nodeService],
  ["zone", zoneService],
  ["taint-manager", taintManagerService],
  ["node-writer", nodeWriterService],
  ["pod-writer", podWriterService],
]);

/** Starts the chosen services. A process that stops without having left says goodbye all the same. */
export function startController(parts: ControllerParts): Controller {
  const { isShared, clock, log, metrics, services, store = null, fatal } = parts;
  const pulsing = parts.fleet ?? (isShared ? busFleet({ ...parts, bus: busOf(parts, "fleet") }) : null);
  const fleet = pulsing ?? aloneFleet(parts.member);
  let ledger: CurrentLedger | null = null;
  const ledgerService: Service = (io) => {
    const { reader, stop } = startLedger(io, store);
    if (ledger === null) ledger = new CurrentLedger(reader);
    else ledger.replace(reader);
    return stop;
  };
  const known = new Map(SERVICES).set("ledger", ledgerService);
  const supervisor = supervise({
    services: new Map([...known].filter(([name]) => services.includes(name))),
    ioOf: (name) => ioOf(parts, name, fleet),
    clock,
    log,
    metrics,
    fatal,
  });
  let hasLeft = false;
  return {
    ledger,
    leave(left) {
      hasLeft = true;
      supervisor.stopJudging();
      if (pulsing === null) left();
      else pulsing.goodbye(left);
    },
    stop() {
      supervisor.stop();
      if (!hasLeft) pulsing?.goodbye();
    },
  };
}

function ioOf(parts: ControllerParts, service: ServiceName, fleet: Fleet): Io {
  const { clock, kube, random, metrics, profile } = parts;
  const log = logWith(parts.log, { service });
  return { clock, kube, random, log, metrics, profile, fleet, bus: busOf({ ...parts, log }, service) };
}

/** A bus of its own for a service or for who listens beside them. */
export function busOf(parts: ControllerParts, service: string): Bus {
  const { foreignMembers } = parts;
  const isForeign = (source: string): boolean => foreignMembers?.sent(source) === true;
  return typedBus({ ...parts, service, isForeign, mailboxMessagesMax: parts.profile.mailboxMessagesMax });
}
