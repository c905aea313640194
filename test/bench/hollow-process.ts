/** Hollow nodes in a process of their own, against an existing API server, for the benchmark that forks it. */
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { loadKubeConfig } from "../../services/platform/kube/auth/kubeconfig.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { pipelinedKube } from "../../services/platform/kube/pipelined-kube.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { createLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { HollowNodes } from "../../services/sandbox/hollow/hollow.service.ts";
import { type LoadOrder, loadOptions, sendReport, specsOf } from "./load.ts";

const STATUS_REPORT_MS = 300_000;
const LOOK_MS = 200;

const { kubeconfig, leaseSeconds, ...size } = loadOptions();
const { wire, wireOptions } = await loadKubeConfig({ kubeconfig });
const parts = { clock: realClock(), random: systemRandom, log: createLog({ level: "error", format: "text" }) };
const ordinary = createKube({ ...parts, wire, metrics: createMetrics(), profile: STANDARD_PROFILE });
const { kube } = pipelinedKube(ordinary, wireOptions, parts.clock);
const times = { leaseSeconds, statusReportMs: STATUS_REPORT_MS };
const hollow = new HollowNodes({ ...parts, kube, times, nodes: specsOf(size) });

const waiting = setInterval(() => {
  const { nodes, registered, pods, podsCreated } = hollow.summary();
  if (registered < nodes || podsCreated < pods) return;
  clearInterval(waiting);
  sendReport({ kind: "filled", url: "", createMicros: {} });
}, LOOK_MS);
process.on("message", ({ order, selector }: LoadOrder) => {
  sendReport({ kind: "reached", nodes: order === "silence" ? hollow.stop(selector) : hollow.resume(selector) });
});
process.on("disconnect", () => process.exit());
