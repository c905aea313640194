/** The members of a fleet, known from the pulses on its bus, and the shards that each of them owns. */
import type { BodyOf } from "../../../protocols/messages.ts";
import { type Io, SERVICE_NAMES, type ServiceName, type Transport } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { SHARD_COUNT } from "../../../protocols/subjects.ts";
import { instantText } from "../../console/documents.ts";
import { spanText } from "../../domain/format.ts";
import { typedBus } from "../../platform/bus/bus.ts";
import { ownersOf } from "../../platform/fleet/ownership.policy.ts";
import { type ElectionReport, memberOf } from "../../platform/kube/election/election.policy.ts";
import type { createMetrics } from "../../platform/process/metrics.ts";
import { BoundedMap } from "../../structures/bounded-map.ts";
import { Failure, type Host, pause } from "../verb.ts";
import type { Table } from "./get-tables.ts";

/** One member as its pulses report it. */
export interface MemberReport {
  readonly member: string;
  readonly services: readonly string[];
  readonly since: number;
  readonly lagMs: number | null;
  /** The uid of namespace kube-system in its Kubernetes cluster; null when its pulses do not contain it. */
  readonly clusterUid: string | null;
  /** Since when its requests to the API server fail, on its wall clock; null while they succeed. */
  readonly unableSince: number | null;
  /** Services that it runs but leaves to others, because it cannot reach the API server or could not until recently. */
  readonly withheld: readonly string[];
  /** How many shards it owns, over all its services. */
  readonly shards: number;
  /** The leader of a process with standbys, itself or another; absent in a process without an election. */
  readonly leader?: { readonly isItself: boolean; readonly member: string | null };
}

/** Most members that are shown, far more than a fleet has: a holder of a NATS seed can invent any number. */
const MEMBERS_MAX = 256;

/** Why a question about the fleet has no answer when the process is stopped. */
export const INTERRUPTED = "interrupted before the members of the fleet were known";

/** Every member sends a pulse within this time. */
export const LISTEN_MS = 2 * STANDARD_PROFILE.memberPulseMs + 200;

/** The ports of a fleet listener. */
export interface FleetListenerIo extends Pick<Io, "clock" | "log"> {
  readonly metrics: ReturnType<typeof createMetrics>;
  readonly host: Pick<Host, "stopped">;
  readonly cluster: string;
  /** Names what the transport connects to. */
  readonly where: string;
  /** The name of the subscriber; `cli` by default. */
  readonly service?: string;
}

/** Subscribes on a transport; the result gives the members, as FleetListener does. */
export function fleetOn(
  transport: Transport,
  { host, where, service = "cli", ...io }: FleetListenerIo,
): () => Promise<MemberReport[]> {
  const { clock } = io;
  const received = new BoundedMap<string, { readonly report: Omit<MemberReport, "shards">; readonly atMs: number }>(
    MEMBERS_MAX,
  );
  const names = { service, member: service, mailboxMessagesMax: STANDARD_PROFILE.mailboxMessagesMax };
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
    if (host.stopped.aborted) throw new Failure(INTERRUPTED);
    if (!transport.connected()) throw new Failure(`${where} is lost`);
    const oldestMs = clock.monotonicMs() - STANDARD_PROFILE.memberTimeoutMs;
    for (const [member, { atMs }] of received.entries()) if (atMs < oldestMs) received.delete(member);
    return withShards([...received.values()].map(({ report }) => report));
  };
}

/** A process with a console that shows its fleet. */
interface FleetProcess extends Pick<FleetListenerIo, "clock" | "log" | "metrics" | "cluster"> {
  readonly transport: Transport;
  readonly isShared: boolean;
  readonly member: string;
  readonly services: readonly ServiceName[];
  /** The election that it takes part in; absent or null for none. */
  readonly election?: { report(): ElectionReport } | null;
}

/** The fleet of a process: the members whose pulses it receives, or itself where it shares its bus with no other. */
export function fleetOf(process: FleetProcess, host: Pick<Host, "stopped">): () => Promise<MemberReport[]> {
  const { transport, isShared, clock, log, metrics, cluster, member, services, election = null } = process;
  if (isShared) return fleetOn(transport, { clock, log, metrics, cluster, host, where: "NATS", service: "console" });
  const since = clock.wallMs();
  const alone = { member, services, since, lagMs: null, clusterUid: null, unableSince: null, withheld: [] };
  return async () =>
    withShards([alone]).map((report) => (election === null ? report : elected(report, election.report())));
}

/** A member with its place in an election: a standby owns the observer alone. */
function elected(report: MemberReport, { leads, holder }: ElectionReport): MemberReport {
  const leader = { isItself: leads, member: holder === null ? null : memberOf(holder) };
  const standbyShards = report.services.includes("observer") ? SHARD_COUNT : 0;
  return { ...report, leader, shards: leads ? report.shards : standbyShards };
}

function reportOf(pulse: BodyOf<"pulse.member">): Omit<MemberReport, "shards"> {
  const { member, services, since, lagMs = null, clusterUid = null, unable, withheld = [] } = pulse;
  return { member, services, since, lagMs, clusterUid, unableSince: unable?.since ?? null, withheld };
}

/**
 * The members with their numbers of shards, by the rule that the members follow: a member that knows its Kubernetes
 * cluster shares with members that report the same one or none (decision 18).
 */
export function withShards(members: readonly Omit<MemberReport, "shards">[]): MemberReport[] {
  const uids = new Set(members.map(({ clusterUid }) => clusterUid));
  const reports = [...uids].flatMap((uid) => {
    const sharing = members.filter(({ clusterUid }) => uid === null || clusterUid === null || clusterUid === uid);
    const owners = SERVICE_NAMES.flatMap((service) => ownersOf(service, runningOf(service, sharing)));
    const own = members.filter(({ clusterUid }) => clusterUid === uid);
    return own.map((report) => ({ ...report, shards: owners.filter((owner) => owner === report.member).length }));
  });
  return reports.sort((left, right) => keyOf(left).localeCompare(keyOf(right), "en"));
}

/** A remark about the entire fleet, in one line; null for none. */
export function remarkOn(members: readonly MemberReport[]): string | null {
  if (members.length < MEMBERS_MAX) return clustersLine(members);
  return `only ${MEMBERS_MAX} members are shown: check which holder of a NATS seed publishes under invented names`;
}

/** The members of each Kubernetes cluster, in one line; null where there is only one cluster. */
function clustersLine(members: readonly MemberReport[]): string | null {
  const byUid = Map.groupBy(members, ({ clusterUid }) => clusterUid);
  byUid.delete(null);
  if (byUid.size < 2) return null;
  const names = [...byUid].map(([uid, of], index) => {
    const text = index === 0 ? `kube-system has uid ${uid}` : uid;
    return `${of.map(({ member }) => member).join(", ")} (${text})`;
  });
  return `members of ${byUid.size} Kubernetes clusters share this NATS and --cluster: ${names.join("; ")}`;
}

function runningOf(service: ServiceName, members: readonly Omit<MemberReport, "shards">[]): ReadonlySet<string> {
  return new Set(members.filter(({ services }) => services.includes(service)).map(({ member }) => member));
}

function keyOf({ member, clusterUid }: Pick<MemberReport, "member" | "clusterUid">): string {
  return `${member} ${clusterUid ?? ""}`;
}

function leaderText({ isItself, member }: NonNullable<MemberReport["leader"]>): string {
  if (isItself) return "leads";
  return member === null ? "standby; no process leads" : `standby; ${member} leads`;
}

/** The table of members. */
export const MEMBERS: Table<MemberReport> = {
  kind: "member",
  nameOf: ({ member }) => member,
  document: (report) => ({
    ...report,
    since: instantText(report.since),
    unableSince: report.unableSince === null ? null : instantText(report.unableSince),
  }),
  heading: ["MEMBER", "UP", "SHARDS", "LAG", "CLUSTER", "API", "SERVICES"],
  cells: ({ member, since, shards, lagMs, clusterUid, services, unableSince, withheld, leader }, nowMs) => [
    member,
    spanText(nowMs - since),
    `${shards} of ${SHARD_COUNT * services.length}`,
    lagMs === null ? "" : spanText(lagMs),
    // The first part of a uid distinguishes two clusters.
    clusterUid?.split("-")[0] ?? "",
    unableSince === null ? "ok" : `unreachable for ${spanText(nowMs - unableSince)}`,
    (services.length === SERVICE_NAMES.length ? "all" : services.join()) +
      (withheld.length === 0 ? "" : ` (not ${withheld.join()})`) +
      (leader === undefined ? "" : ` (${leaderText(leader)})`),
  ],
  state: "UP",
  key: keyOf,
  ignoredChanges: ["lagMs"],
};
