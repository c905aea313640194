/** One process of the controller: starts the chosen services, each with its own bus, on the given ports. */
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
  /** Whether other processes may be on the transport and share the shards. */
  readonly isShared: boolean;
  /** Where the ledger keeps its history beyond the process; null for nowhere. */
  readonly store?: LedgerStore | null;
  /** Recognizes members of another Kubernetes cluster on the transport; null where the own cluster is not known. */
  readonly foreignMembers?: ForeignMembers | null;
  /** Whether this process reaches the API server; null where that is not measured. */
  readonly reachability?: ApiReachability | null;
  /** The fleet that the process has joined; without it a shared controller joins one. */
  readonly fleet?: BusFleet | null;
  /** Called when a service fails too often: the process must end. */
  readonly fatal: (problem: string) => void;
}

/** A running process of the controller. */
export interface Controller {
  /** Null when this process runs no ledger. */
  readonly ledger: LedgerReader | null;
  /**
   * Stops the judging services and leaves the fleet, so that other members take over at once. Calls `left` when no more
   * requests arrive. Writers and ledger run until `stop`, so that writes in progress are finished and published.
   */
  leave(left: () => void): void;
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

/** Starts the chosen services. A `stop` without `leave` sends the goodbye too. */
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

/** A bus for one service or for another subscriber in this process. */
export function busOf(parts: ControllerParts, service: string): Bus {
  const { foreignMembers } = parts;
  const isForeign = (source: string): boolean => foreignMembers?.sent(source) === true;
  return typedBus({ ...parts, service, isForeign, mailboxMessagesMax: parts.profile.mailboxMessagesMax });
}
