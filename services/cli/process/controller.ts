/** One process of the controller: starts the chosen services, each with its own bus, on the given ports. */
import type { LedgerReader } from "../../../protocols/ledger-reader.ts";
import { NO_POLICIES } from "../../../protocols/policy-set.ts";
import type {
  Bus,
  Fleet,
  Io,
  Kube,
  Leases,
  Log,
  Policies,
  Service,
  ServiceName,
  Stop,
  Transport,
} from "../../../protocols/ports.ts";
import type { ConfiguredPolicy } from "../../domain/node-policy.parse.ts";
import type { ZoneLabel } from "../../domain/zone-key.ts";
import { startLedger } from "../../ledger/ledger.service.ts";
import type { LedgerStore } from "../../ledger/record/ledger.store.ts";
import { nodeService } from "../../node/node.service.ts";
import { nodeWriterService } from "../../node-writer/node-writer.service.ts";
import { observerService } from "../../observer/observer.service.ts";
import { typedBus } from "../../platform/bus/bus.ts";
import { aloneFleet, BusFleet } from "../../platform/fleet/fleet.ts";
import type { ForeignMembers } from "../../platform/fleet/foreign-members.ts";
import { UNCONTESTED_LEASES } from "../../platform/kube/election/kube-leases.ts";
import { readOnlyKube, ShadowKube } from "../../platform/kube/shadow/shadow-kube.ts";
import type { ApiReachability } from "../../platform/kube/transport/reachability.ts";
import { fixedPolicies, PolicyReceiver } from "../../platform/node-policies/policy-receiver.ts";
import { logWith } from "../../platform/process/log.ts";
import type { ReadableMetrics } from "../../platform/process/metrics.ts";
import { supervise } from "../../platform/process/supervisor.ts";
import { podWriterService } from "../../pod-writer/pod-writer.service.ts";
import { policyService } from "../../policy/policy.service.ts";
import { taintManagerService } from "../../taint-manager/taint-manager.service.ts";
import { zoneService } from "../../zone/zone.service.ts";
import { CurrentLedger } from "./current-ledger.ts";

/**
 * The largest cluster in which every member that answers users reads all heartbeats. At this size they are about a
 * hundred a second.
 */
export const FOLLOWED_NODES_MAX = 1000;

/** What a process of the controller is made of. */
export interface ControllerParts extends Pick<Io, "clock" | "random" | "log" | "profile" | "kube"> {
  readonly metrics: ReadableMetrics;
  /** Whether nothing is written. The services then go on as if it had been. */
  readonly isShadow?: boolean;
  readonly transport: Transport;
  /** Name of the Kubernetes cluster in subjects. */
  readonly cluster: string;
  readonly member: string;
  readonly services: readonly ServiceName[];
  /** Whether other processes may be on the transport and share the shards. */
  readonly isShared: boolean;
  /** Where the ledger keeps its history beyond the process; null for nowhere. */
  readonly store?: LedgerStore | null;
  /** How metrics name a zone; readable by default. */
  readonly zoneLabel?: ZoneLabel;
  /** Where the ledger logs what happens to nodes, zones and pods; null for nowhere. */
  readonly activityLog?: Log | null;
  /** The largest cluster in which the ledger always follows the heartbeats of other members' nodes; 0 by default. */
  readonly followedNodesMax?: number;
  /** Recognizes members of another Kubernetes cluster on the transport; null where the own cluster is not known. */
  readonly foreignMembers?: ForeignMembers | null;
  /** Whether this process reaches the API server; null where that is not measured. */
  readonly reachability?: ApiReachability | null;
  /** The candidates for Leases, not used in a process that evicts no pod; absent where none is contested. */
  readonly leases?: Leases;
  /** The policies of --config; absent where the process uses no policies at all, not even custom resources. */
  readonly policies?: readonly ConfiguredPolicy[];
  /** The fleet that the process has joined; without it a shared controller joins one. */
  readonly fleet?: JoinedFleet | null;
  /** Called when a service fails too often: the process must end. */
  readonly fatal: (problem: string) => void;
}

/** A fleet that a process leaves when it ends. */
export type JoinedFleet = Fleet & Pick<BusFleet, "goodbye">;

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

/** The services that watch, decide and write, in the order in which they start. */
export const ACTING_SERVICES: ReadonlyMap<ServiceName, Service> = new Map([
  ["observer", observerService],
  ["node", nodeService],
  ["zone", zoneService],
  ["taint-manager", taintManagerService],
  ["node-writer", nodeWriterService],
  ["pod-writer", podWriterService],
]);

/** The services that watch the API or write to it. */
const API_SERVICES: ReadonlySet<ServiceName> = new Set(["observer", "node-writer", "pod-writer"]);

/** Starts the chosen services. A `stop` without `leave` sends the goodbye too. */
export function startController(parts: ControllerParts): Controller {
  const { isShared, clock, log, metrics, services, store = null, fatal } = parts;
  const joined = parts.fleet ?? (isShared ? new BusFleet({ ...parts, bus: busOf(parts, "fleet") }) : null);
  const fleet = joined ?? aloneFleet(parts.member);
  let ledger: CurrentLedger | null = null;
  const ledgerService: Service = (io) => {
    const { reader, stop } = startLedger(io, { ...parts, store, isShadow: parts.isShadow === true });
    if (ledger === null) ledger = new CurrentLedger(reader);
    else ledger.replace(reader);
    return stop;
  };
  const policies = policiesOf(parts);
  const kubes = kubesOf(parts);
  const known = new Map(ACTING_SERVICES).set("ledger", ledgerService);
  if (parts.policies !== undefined) known.set("policy", policyService(parts.policies));
  const supervisor = supervise({
    services: new Map([...known].filter(([name]) => services.includes(name))),
    ioOf: (name) => ioOf(parts, { name, fleet, policies, kube: name === "ledger" ? kubes.ledger : kubes.actors }),
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
      if (joined === null) left();
      else joined.goodbye(left);
    },
    stop() {
      supervisor.stop();
      policies.stop();
      kubes.stop();
      if (!hasLeft) joined?.goodbye();
    },
  };
}

/** The ports of the services. The ledger explains what exists, so it reads the API as it is, in shadow mode too. */
function kubesOf(parts: ControllerParts): { readonly actors: Kube; readonly ledger: Kube; readonly stop: Stop } {
  const { kube, clock } = parts;
  if (parts.isShadow !== true) return { actors: kube, ledger: kube, stop: () => {} };
  const readOnly = readOnlyKube(kube, (run) => clock.soon(run));
  // Others neither observe nor write, and their NATS roles may not read what the port follows.
  if (!parts.services.some((name) => API_SERVICES.has(name)))
    return { actors: readOnly, ledger: readOnly, stop: () => {} };
  const shadow = new ShadowKube({ ...parts, bus: busOf(parts, "shadow") });
  return { actors: shadow, ledger: readOnly, stop: () => shadow.stop() };
}

/** The policies in force; none in a process that uses no policies, or that is alone and does not run their service. */
function policiesOf(parts: ControllerParts): Policies & { readonly stop: Stop } {
  const isServed = parts.isShared || parts.services.includes("policy");
  if (parts.policies === undefined || !isServed) return { ...fixedPolicies(NO_POLICIES), stop: () => {} };
  // Only a process without NATS is elected, and gets its fleet with its parts.
  const elected = parts.isShared ? null : (parts.fleet ?? null);
  return new PolicyReceiver({ ...parts, bus: busOf(parts, "policies"), elected });
}

function ioOf(
  parts: ControllerParts,
  {
    name: service,
    ...ports
  }: { readonly name: ServiceName; readonly fleet: Fleet; readonly policies: Policies; readonly kube: Kube },
): Io {
  const { clock, random, metrics, profile, isShadow } = parts;
  const log = logWith(parts.log, { service });
  const evicts = isShadow !== true && profile.upstream === "replace";
  const leases = (evicts ? parts.leases : undefined) ?? UNCONTESTED_LEASES;
  return { clock, random, log, metrics, profile, leases, ...ports, bus: busOf({ ...parts, log }, service) };
}

/** A bus for one service or for another subscriber in this process. */
export function busOf(parts: ControllerParts, service: string): Bus {
  const { foreignMembers } = parts;
  const isForeign = (source: string): boolean => foreignMembers?.sent(source) === true;
  return typedBus({ ...parts, service, isForeign, mailboxMessagesMax: parts.profile.mailboxMessagesMax });
}
