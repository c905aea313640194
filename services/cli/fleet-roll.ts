/** The members of a fleet, heard on its bus for a moment, and the shards each of them minds. */
import { type Log, SERVICE_NAMES, type ServiceName } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { SHARD_COUNT } from "../../protocols/subjects.ts";
import { spanText } from "../ledger/words.ts";
import { connectNats } from "../runtime/bus.nats.ts";
import { typedBus } from "../runtime/bus.ts";
import { realClock } from "../runtime/clock.real.ts";
import type { NATS_SETTINGS } from "../runtime/config.settings.ts";
import { ConfigProblem, type ValuesOf } from "../runtime/config.value.ts";
import { ownersOf } from "../runtime/fleet.policy.ts";
import { silentLog } from "../runtime/log.ts";
import { createMetrics } from "../runtime/metrics.ts";
import { checkNatsFiles } from "./nats-files.ts";
import { natsOptionsOf } from "./nats-options.ts";
import { tableText } from "./table.ts";
import { Failure, type Host, untilStopped } from "./verb.ts";

/** One member as its pulses tell. */
export interface MemberReport {
  readonly member: string;
  readonly services: readonly string[];
  readonly since: number;
  readonly lagMs: number | null;
  /** How many shards it minds, over all its services. */
  readonly shards: number;
}

/** Every member is heard within two pulses. */
const LISTEN_MS = 2 * STANDARD_PROFILE.memberPulseMs + 200;

/**
 * Listens to the pulses of a fleet. Throws a ConfigProblem when the flags do not say how, a Failure when NATS cannot be
 * reached, or does not let us listen, or the process is asked to end.
 */
export async function hearFleet(
  values: Readonly<ValuesOf<typeof NATS_SETTINGS>>,
  host: Pick<Host, "stopped" | "readFile">,
): Promise<MemberReport[]> {
  if (values.nats.length === 0) throw new ConfigProblem("get fleet: name the NATS it talks on, with --nats");
  checkNatsFiles(values, host);
  const interrupted = untilStopped(host).then(() => {
    throw new Failure("interrupted before the fleet was heard");
  });
  return Promise.race([interrupted, heardOn(values)]);
}

async function heardOn(values: Readonly<ValuesOf<typeof NATS_SETTINGS>>): Promise<MemberReport[]> {
  const refusals: string[] = [];
  const log: Log = { ...silentLog, warn: (refusal) => refusals.push(refusal) };
  const io = { clock: realClock(), log, metrics: createMetrics() };
  const transport = await connectNats({ ...natsOptionsOf(values), ...io, name: "vigil get fleet" }).catch(
    (error: Error) => {
      throw new Failure(error.message);
    },
  );
  const heard = new Map<string, Omit<MemberReport, "shards">>();
  const names = { service: "cli", member: "cli", cluster: values.cluster };
  const bus = typedBus({ ...io, ...names, transport, mailboxMessagesMax: STANDARD_PROFILE.mailboxMessagesMax });
  bus.subscribe("pulse.member", "all", ({ body: { member, services, since, leaving, lagMs = null } }) => {
    if (leaving) heard.delete(member);
    else heard.set(member, { member, services, since, lagMs });
  });
  await new Promise<void>((resolve) => io.clock.after(LISTEN_MS, resolve));
  await transport.close();
  if (heard.size === 0 && refusals[0] !== undefined) {
    throw new Failure(`${refusals[0]}: give it the key of a process of the fleet, with --nats-nkey`);
  }
  return withShards([...heard.values()]);
}

/** The same with how many shards each minds, by the rule that the members themselves go by. */
export function withShards(members: readonly Omit<MemberReport, "shards">[]): MemberReport[] {
  const minded = SERVICE_NAMES.flatMap((service: ServiceName) =>
    ownersOf(
      service,
      new Set(members.filter(({ services }) => services.includes(service)).map(({ member }) => member)),
    ),
  );
  return members
    .map((report) => ({ ...report, shards: minded.filter((owner) => owner === report.member).length }))
    .sort((left, right) => left.member.localeCompare(right.member));
}

/** The members as a table. */
export function fleetTable(members: readonly MemberReport[], nowMs: number): string {
  return tableText(
    ["MEMBER", "UP", "SHARDS", "LAG", "SERVICES"],
    members.map(({ member, since, shards, lagMs, services }) => [
      member,
      spanText(nowMs - since),
      `${shards} of ${SHARD_COUNT * services.length}`,
      lagMs === null ? "" : spanText(lagMs),
      services.length === SERVICE_NAMES.length ? "all" : services.join(","),
    ]),
  );
}
