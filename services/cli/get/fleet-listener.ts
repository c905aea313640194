/** Listens to the pulses of a fleet over NATS. */
import type { Clock } from "../../../protocols/ports.ts";
import type { NATS_SETTINGS } from "../../platform/config/settings.ts";
import type { ValuesOf } from "../../platform/config/value.ts";
import { type ListenerHost, openListener } from "../listen/nats-listener.ts";
import { fleetOn, INTERRUPTED, type MemberReport } from "./fleet-members.ts";

type NatsValues = Readonly<ValuesOf<typeof NATS_SETTINGS>>;

/** A subscription to the pulses of a fleet. */
export interface FleetListener {
  /**
   * The present members, after the time in which each of them sends a pulse. Rejects with a Failure when NATS is lost,
   * when it denies the subscription, or when the process is stopped.
   */
  members(): Promise<MemberReport[]>;
  close(): Promise<void>;
}

/** Subscribes to a fleet. Throws a ConfigProblem for wrong flags, a Failure when NATS is unreachable or on a stop. */
export async function openFleetListener(
  values: NatsValues,
  { clock, host }: { readonly clock: Clock; readonly host: ListenerHost },
): Promise<FleetListener> {
  const listener = await openListener(values, { clock, host, verb: "get fleet", interrupted: INTERRUPTED });
  const { transport, where, log, metrics, checkRefusals } = listener;
  const listMembers = fleetOn(transport, { clock, log, metrics, host, cluster: values.cluster, where });
  return {
    members: async () => {
      const members = await listMembers();
      if (members.length === 0) checkRefusals();
      return members;
    },
    close: () => transport.close(),
  };
}
