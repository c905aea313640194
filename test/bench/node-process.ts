/** A process with the node service alone, on NATS, for the benchmark that forks it. It reads and writes no API. */
import { nodeService } from "../../services/node/node.service.ts";
import { connectNats } from "../../services/platform/bus/nats.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { bareIo, watchesInto } from "./heartbeats.ts";

const clock = realClock();
const servers = [process.argv[2] ?? ""];
const transport = await connectNats({ servers, name: "node", clock, log: silentLog, metrics: createMetrics() });
nodeService(bareIo("node", { clock, transport, kube: watchesInto({}) }));
process.send?.("running");
process.on("disconnect", () => process.exit());
