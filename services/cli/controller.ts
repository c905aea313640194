/** One process of the controller: the chosen services, each on a bus of its own, on whatever ports it is given. */
import {
  type Clock,
  type Fleet,
  type Io,
  type Kube,
  type Log,
  type Random,
  SERVICE_NAMES,
  type Service,
  type ServiceName,
  type Stop,
  type Transport,
} from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import type { LedgerReader } from "../../protocols/status.ts";
import { startLedger } from "../ledger/ledger.service.ts";
import type { LedgerStore } from "../ledger/ledger.store.ts";
import { nodeService } from "../node/node.service.ts";
import { nodeWriterService } from "../node-writer/node-writer.service.ts";
import { observerService } from "../observer/observer.service.ts";
import { podWriterService } from "../pod-writer/pod-writer.service.ts";
import { typedBus } from "../runtime/bus.ts";
import { aloneFleet, type BusFleet, busFleet } from "../runtime/fleet.ts";
import { logWith } from "../runtime/log.ts";
import type { ReadableMetrics } from "../runtime/metrics.ts";
import { taintManagerService } from "../taint-manager/taint-manager.service.ts";
import { zoneService } from "../zone/zone.service.ts";

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
  readonly shared: boolean;
  /** The ledger's memory beyond the process; null for none. */
  readonly store: LedgerStore | null;
}

/** A running process of the controller. */
export interface Controller {
  /** What the ledger knows; null when this process runs none. */
  readonly ledger: LedgerReader | null;
  /** Ends the services that judge, so that no new ask is made; writes go on. */
  stopJudging(): void;
  /** Ends everything else and says goodbye to the fleet. */
  stop(): void;
}

/** Those that act on judgements: they are started first and stopped last, so that no ask is lost in between. */
const DOING: readonly ServiceName[] = ["node-writer", "pod-writer", "ledger"];

const SERVICES: Readonly<Record<Exclude<ServiceName, "ledger">, Service>> = {
  observer: observerService,
  node: nodeService,
  zone: zoneService,
  "taint-manager": taintManagerService,
  "node-writer": nodeWriterService,
  "pod-writer": podWriterService,
};

/** Starts the chosen services. */
export function startController(parts: ControllerParts): Controller {
  const { member, services, shared, clock, profile, log, metrics } = parts;
  const alone = aloneFleet(member);
  const fleet: BusFleet = shared
    ? busFleet({ bus: busOf(parts, "fleet"), clock, member, services, profile, log, metrics })
    : { ...alone, goodbye: () => {} };
  let ledger: LedgerReader | null = null;
  const startLedgerHere: Service = (io) => {
    const started = startLedger(io, parts.store);
    ledger = started.reader;
    return started.stop;
  };
  const start = (names: readonly ServiceName[]): Stop[] =>
    names
      .filter((name) => services.includes(name))
      .map((name) => (name === "ledger" ? startLedgerHere : SERVICES[name])(ioOf(parts, name, fleet)));
  const doing = start(DOING);
  const judging = start(SERVICE_NAMES.filter((name) => !DOING.includes(name)));
  const stopAll = (stops: Stop[]): void => {
    for (const stop of stops.splice(0)) stop();
  };
  return {
    ledger,
    stopJudging: () => stopAll(judging),
    stop: () => {
      stopAll(judging);
      stopAll(doing);
      fleet.goodbye();
    },
  };
}

function ioOf(parts: ControllerParts, service: ServiceName, fleet: Fleet): Io {
  const { clock, kube, random, log, metrics, profile } = parts;
  return { clock, kube, random, metrics, profile, fleet, log: logWith(log, { service }), bus: busOf(parts, service) };
}

function busOf({ transport, clock, cluster, member, log, metrics, profile }: ControllerParts, service: string) {
  const { mailboxMessagesMax } = profile;
  return typedBus({
    transport,
    clock,
    cluster,
    service,
    member,
    log: logWith(log, { service }),
    metrics,
    mailboxMessagesMax,
  });
}
