/** Opens the bus of a process: NATS when servers are given, else memory. */
import { memoryTransport } from "../../platform/bus/memory.ts";
import type { ProcessSettings } from "../../platform/config/settings.ts";
import type { BusIo, OpenBus } from "./process-bus.ts";

/**
 * Opens the bus; waits while NATS is unreachable. Throws a Failure when NATS rejects the connection. A process without
 * NATS does not load its client.
 */
export async function openBus(settings: ProcessSettings, io: BusIo): Promise<OpenBus> {
  if (settings.nats.length > 0) return (await import("./nats-bus.ts")).openNatsBus(settings, io);
  const lost = new Promise<string>(() => {});
  const transport = memoryTransport(io.clock);
  return { transport, isShared: false, openStore: () => null, lost, serve: () => {}, close: async () => {} };
}
