/** The typed bus over the memory transport: what handlers get to see, and what is dropped and counted. */
import { expect, test } from "vitest";
import { memoryTransport } from "../../services/runtime/bus.memory.ts";
import { typedBus } from "../../services/runtime/bus.ts";
import { VirtualClock } from "../../services/runtime/clock.virtual.ts";
import { silentLog } from "../../services/runtime/log.ts";
import { createMetrics } from "../../services/runtime/metrics.ts";

test("smoke", async () => {
  const clock = new VirtualClock();
  const metrics = createMetrics();
  const transport = memoryTransport(clock);
  const make = (service: string) =>
    typedBus({ transport, clock, cluster: "c", service, member: "m", log: silentLog, metrics, mailboxMessagesMax: 10 });
  const observer = make("observer");
  const node = make("node");
  const seen: string[] = [];
  node.subscribe("observed.gone", "all", (message) => seen.push(message.body.node));
  observer.publish("observed.gone", { node: "a.b", uid: "1" }, null);
  expect(seen).toEqual([]);
  clock.advance(0);
  expect(seen).toEqual(["a.b"]);
  expect(await metrics.text()).toContain("vigil_bus_received_total");
});
