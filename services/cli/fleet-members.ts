/** The members of a fleet, heard on its bus, and the shards each of them minds. */
import type { BodyOf } from "../../protocols/messages.ts";
import { type Clock, type Log, SERVICE_NAMES, type ServiceName, type Transport } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { SHARD_COUNT } from "../../protocols/subjects.ts";
import { spanText } from "../domain/format.ts";
import { typedBus } from "../platform/bus/bus.ts";
import { readNatsAddresses } from "../platform/bus/nats.address.ts";
import { connectNats } from "../platform/bus/nats.ts";
import type { NATS_SETTINGS } from "../platform/config/settings.ts";
import { ConfigProblem, type ValuesOf } from "../platform/config/value.ts";
import { ownersOf } from "../platform/fleet/ownership.policy.ts";
import { silentLog } from "../platform/process/log.ts";
import { createMetrics } from "../platform/process/metrics.ts";
import { BoundedMap } from "../platform/structures/bounded-map.ts";
import type { Table } from "./get-tables.ts";
import { checkNatsFiles } from "./nats-files.ts";
import { natsOptionsOf } from "./nats-options.ts";
import { Failure, type Host, pause, untilStopped } from "./verb.ts";

type NatsValues = Readonly<ValuesOf<typeof NATS_SETTINGS>>;

/** One member as its pulses tell. */
export interface MemberReport {
  readonly member: string;
  readonly services: readonly string[];
  readonly since: number;
  readonly lagMs: number | null;
  /** Which Kubernetes cluster it is for, by the uid of namespace kube-system there; null when it does not say. */
  readonly clusterUid: string | null;
  /** Since when its requests to the API server fail, on its wall clock; null while they are answered. */
  readonly unableSince: number | null;
  /** What it runs and leaves to others for now, because it is unable or was a short while ago. */
  readonly withheld: readonly string[];
  /** How many shards it minds, over all its services. */
  readonly shards: number;
}

/** Someone who listens to a fleet. */
export interface FleetListener {
  /**
   * The members that are heard at present, as soon as each of them has had the time to speak. Rejects with a Failure
   * when NATS is lost, or does not let us listen, or the process is asked to end.
   */
  members(): Promise<MemberReport[]>;
  close(): Promise<void>;
}

/** Most members that are shown, far more than a fleet has: a holder of a seed may invent some without end. */
const MEMBERS_MAX = 256;

/** Every member is heard within two pulses. */
export const LISTEN_MS = 2 * STANDARD_PROFILE.memberPulseMs + 200;

/**
 * Begins to listen to a fleet. Throws a ConfigProblem when the flags do not say how, a Failure when NATS cannot be
 * reached or the process is asked to end.
 */
export async function openFleetListener(
  values: NatsValues,
  {
    clock,
    host,
  }: { readonly clock: Clock; readonly host: Pick<Host, "stopped" | "readFile" | "readableByAll" | "warn"> },
): Promise<FleetListener> {
  if (values.nats.length === 0) throw new ConfigProblem("get fleet: name the NATS it talks on, with --nats");
  checkNatsFiles(values, host);
  const refusals: string[] = [];
  const log: Log = { ...silentLog, warn: (refusal) => refusals.push(refusal) };
  const io = { clock, log, metrics: createMetrics() };
  const connecting = connectNats({ ...natsOptionsOf(values), ...io, name: "vigil get fleet" }).catch((error: Error) => {
    throw new Failure(error.message);
  });
  const transport = await Promise.race([connecting, interrupted(host)]);
  // What was refused on a connection that is gone says nothing of the next one.
  transport.onConnection(() => refusals.splice(0));
  const where = `NATS at ${readNatsAddresses(values.nats).servers.join()}`;
  const listMembers = fleetOn(transport, { ...io, host, cluster: values.cluster, where });
  return {
    members: async () => {
      const members = await listMembers();
      if (members.length > 0 || refusals[0] === undefined) return members;
      throw new Failure(`${refusals[0]}: give it the key of the inspector, with --nats-nkey`);
    },
    close: () => transport.close(),
  };
}

/** What listening on a transport takes. */
export interface FleetListenerIo {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: ReturnType<typeof createMetrics>;
  readonly host: Pick<Host, "stopped">;
  readonly cluster: string;
  /** Names what the transport connects to. */
  readonly where: string;
}

/** Listens on a transport from now on; gives what tells the members. */
export function fleetOn(transport: Transport, { host, where, ...io }: FleetListenerIo): () => Promise<MemberReport[]> {
  const { clock } = io;
  const received = new BoundedMap<string, { readonly report: Omit<MemberReport, "shards">; readonly atMs: number }>(
    MEMBERS_MAX,
  );
  const names = { service: "cli", member: "cli", mailboxMessagesMax: STANDARD_PROFILE.mailboxMessagesMax };
  typedBus({ ...io, ...names, transport }).subscribe("pulse.member", "all", ({ body }) => {
    const report = reportOf(body);
    const key = keyOf(report);
    if (body.leaving) received.delete(key);
    else received.set(key, { report, atMs: clock.monotonicMs() });
  });
  let listensSinceMs = clock.monotonicMs();
  transport.onConnection(() => {
    listensSinceMs = clock.monotonicMs();
  });
  return async () => {
    const restMs = listensSinceMs + LISTEN_MS - clock.monotonicMs();
    if (restMs > 0 && transport.connected()) await pause(restMs, clock, host);
    if (host.stopped.aborted) throw new Failure("interrupted before the fleet was heard");
    if (!transport.connected()) throw new Failure(`${where} is lost`);
    const oldestMs = clock.monotonicMs() - STANDARD_PROFILE.memberTimeoutMs;
    for (const [member, { atMs }] of received.entries()) if (atMs < oldestMs) received.delete(member);
    return withShards([...received.values()].map(({ report }) => report));
  };
}

function reportOf(pulse: BodyOf<"pulse.member">): Omit<MemberReport, "shards"> {
  const { member, services, since, lagMs = null, clusterUid = null, unable, withheld = [] } = pulse;
  return { member, services, since, lagMs, clusterUid, unableSince: unable?.since ?? null, withheld };
}

function interrupted(host: Pick<Host, "stopped">): Promise<never> {
  return untilStopped(host).then(() => {
    throw new Failure("interrupted before the fleet was heard");
  });
}

/**
 * The same with how many shards each minds, by the rule that the members themselves go by: one that knows its
 * Kubernetes cluster shares with those that name the same one or none (decision 13).
 */
export function withShards(members: readonly Omit<MemberReport, "shards">[]): MemberReport[] {
  const uids = new Set(members.map(({ clusterUid }) => clusterUid));
  const reports = [...uids].flatMap((uid) => {
    const heard = members.filter(({ clusterUid }) => uid === null || clusterUid === null || clusterUid === uid);
    const owners = SERVICE_NAMES.flatMap((service) => ownersOf(service, runningOf(service, heard)));
    const own = members.filter(({ clusterUid }) => clusterUid === uid);
    return own.map((report) => ({ ...report, shards: owners.filter((owner) => owner === report.member).length }));
  });
  return reports.sort((left, right) => keyOf(left).localeCompare(keyOf(right), "en"));
}

/** What the members together show that no row says, in one line; null when nothing. */
export function remarkOn(members: readonly MemberReport[]): string | null {
  if (members.length < MEMBERS_MAX) return clustersLine(members);
  return `${MEMBERS_MAX} members are heard, and any others are left out: find who holds a seed and invents them`;
}

/** Which members are of which Kubernetes cluster, in one line; null where all are of one. */
function clustersLine(members: readonly MemberReport[]): string | null {
  const byUid = Map.groupBy(members, ({ clusterUid }) => clusterUid);
  byUid.delete(null);
  if (byUid.size < 2) return null;
  const names = [...byUid].map(([uid, of], index) => {
    const text = index === 0 ? `kube-system has uid ${uid}` : uid;
    return `${of.map(({ member }) => member).join(", ")} (${text})`;
  });
  return `members of ${byUid.size} Kubernetes clusters are heard, and counted apart: ${names.join("; ")}`;
}

function runningOf(service: ServiceName, members: readonly Omit<MemberReport, "shards">[]): ReadonlySet<string> {
  return new Set(members.filter(({ services }) => services.includes(service)).map(({ member }) => member));
}

function keyOf({ member, clusterUid }: Pick<MemberReport, "member" | "clusterUid">): string {
  return `${member} ${clusterUid ?? ""}`;
}

/** The members. */
export const MEMBERS: Table<MemberReport> = {
  heading: ["MEMBER", "UP", "SHARDS", "LAG", "CLUSTER", "API", "SERVICES"],
  cells: ({ member, since, shards, lagMs, clusterUid, services, unableSince, withheld }, nowMs) => [
    member,
    spanText(nowMs - since),
    `${shards} of ${SHARD_COUNT * services.length}`,
    lagMs === null ? "" : spanText(lagMs),
    // The first part of a uid is enough to tell two apart.
    clusterUid?.split("-")[0] ?? "",
    unableSince === null ? "ok" : `unreachable for ${spanText(nowMs - unableSince)}`,
    `${servicesText(services)}${withheld.length === 0 ? "" : ` (not ${withheld.join()})`}`,
  ],
  state: "UP",
  key: keyOf,
  ignoredChanges: ["lagMs"],
};

function servicesText(services: readonly string[]): string {
  return services.length === SERVICE_NAMES.length ? "all" : services.join();
}
