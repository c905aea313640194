/** The transport contract on the memory bus. */
import type { Transport } from "../../protocols/ports.ts";
import { memoryTransport } from "../../services/platform/bus/memory.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { type TransportWorld, transportContract } from "./bus.contract.ts";

transportContract("the memory transport", memoryWorld, false);

function memoryWorld(): Promise<TransportWorld> {
  const clock = new VirtualClock();
  const transport: Transport = memoryTransport(clock);
  return Promise.resolve({
    clock,
    connect: () => Promise.resolve(transport),
    settle: () => Promise.resolve(clock.advance(0)),
    close: () => Promise.resolve(),
  });
}
