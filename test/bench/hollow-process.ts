/** The process that the hollow bench measures: hollow nodes and nothing else, telling its parent what they cost. */
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { startHollowNodes } from "../../services/agent/hollow.service.ts";
import { realClock } from "../../services/runtime/clock.real.ts";
import { httpsWire } from "../../services/runtime/kube.https.ts";
import { createKube } from "../../services/runtime/kube.ts";
import { createLog } from "../../services/runtime/log.ts";
import { createMetrics } from "../../services/runtime/metrics.ts";
import { systemRandom } from "../../services/runtime/random.ts";

/** What the process tells, once all nodes are registered and once the time is over. */
export type HollowReport =
  | { readonly kind: "registered"; readonly afterMs: number; readonly cpuMs: number }
  | { readonly kind: "measured"; readonly cpuMs: number; readonly elapsedMs: number; readonly rssBytes: number };

const [server = "", nodes = "0", pods = "0", settleMs = "0", measureMs = "0"] = process.argv.slice(2);
const clock = realClock();
const log = createLog({ level: "error", format: "text" });
const wire = httpsWire({ server, authorize: () => Promise.resolve({ headers: {}, tls: {} }) });
const kube = createKube({
  wire,
  clock,
  random: systemRandom,
  log,
  metrics: createMetrics(),
  profile: STANDARD_PROFILE,
});

let rssBytes = 0;
setInterval(() => {
  rssBytes = Math.max(rssBytes, process.memoryUsage.rss());
}, 500).unref();

const startedMs = clock.monotonicMs();
const specs = Array.from({ length: Number(nodes) }, (_, index) => ({
  name: `n-${index}`,
  zone: `zone-${index % 10}`,
  pods: Number(pods),
}));
const hollow = startHollowNodes({ clock, kube, random: systemRandom, log, nodes: specs });
awaitRegistered();

function awaitRegistered(): void {
  const { registered, podsCreated, pods: wanted } = hollow.summary();
  if (registered < specs.length || podsCreated < wanted) {
    clock.after(100, awaitRegistered);
    return;
  }
  tell({ kind: "registered", afterMs: clock.monotonicMs() - startedMs, cpuMs: cpuMs() });
  clock.after(Number(settleMs), measure);
}

function measure(): void {
  const before = { cpuMs: cpuMs(), atMs: clock.monotonicMs() };
  clock.after(Number(measureMs), () => {
    const elapsedMs = clock.monotonicMs() - before.atMs;
    tell({ kind: "measured", cpuMs: cpuMs() - before.cpuMs, elapsedMs, rssBytes });
    hollow.shutdown();
    wire.close();
    process.disconnect();
  });
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function tell(report: HollowReport): void {
  process.send?.(report);
}
