/**
 * The process of `vigil hollow`: starts the nodes, shows their progress, and carries out orders until it is stopped.
 */
import { TaintEffect } from "../../../protocols/names.ts";
import type { Clock, Stop } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { countSetting, switchSetting, textSetting } from "../../platform/config/setting-builders.ts";
import type { KUBE_SETTINGS, LOG_SETTINGS } from "../../platform/config/settings.ts";
import type { ValuesOf } from "../../platform/config/value.ts";
import { createKube } from "../../platform/kube/kube.ts";
import { pipelinedKube } from "../../platform/kube/pipelined-kube.ts";
import { realClock } from "../../platform/process/clock.real.ts";
import { drainable } from "../../platform/process/drain.ts";
import { answerLines } from "../../platform/process/line-socket.ts";
import { createLog } from "../../platform/process/log.ts";
import { createMetrics } from "../../platform/process/metrics.ts";
import { systemRandom } from "../../platform/process/random.ts";
import { obey } from "../../sandbox/hollow/control.ts";
import { HollowNodes } from "../../sandbox/hollow/hollow.service.ts";
import type { HollowNodeSpec } from "../../sandbox/hollow/hollow-stats.ts";
import { openCluster } from "../run/open-cluster.ts";
import { ExitCode, Failure, type Host, untilStopped } from "../verb.ts";
import { isComplete, progressLine, summaryLine } from "./progress.ts";

/** The label of every hollow node, and the key of its taint. */
const HOLLOW = "vigil.io/hollow";

/** The flags that define the nodes. */
export const HOLLOW_NODE_SETTINGS = {
  nodes: countSetting("nodes", 100, "Number of nodes.", 1),
  zones: countSetting("zones", 3, "Number of zones that the nodes are spread over; 0 for no zones."),
  podsPerNode: countSetting("pods-per-node", 0, "Number of pods on each node."),
  namePrefix: textSetting("name-prefix", "hollow", "Prefix of the nodes' names.", "hollow"),
  noSchedule: switchSetting(
    "no-schedule",
    false,
    `Register the nodes with the taint ${HOLLOW}:NoSchedule, so that no pod is scheduled to one by mistake.`,
  ),
  removeOnStop: switchSetting(
    "remove-on-stop",
    false,
    "Delete the nodes when the process ends; without it they stay and fall silent.",
  ),
} as const;

type NodeSettings = Readonly<ValuesOf<typeof HOLLOW_NODE_SETTINGS>>;
type Settings = NodeSettings &
  Readonly<ValuesOf<typeof KUBE_SETTINGS & typeof LOG_SETTINGS>> & { readonly socket: string };

const PROGRESS_MS = 250;
const REMOVE_MS_MAX = 60_000;

/** The nodes that the flags define. */
export function hollowSpecs({ nodes, zones, podsPerNode, namePrefix, noSchedule }: NodeSettings): HollowNodeSpec[] {
  return Array.from({ length: nodes }, (_, index) => ({
    name: `${namePrefix}-${index}`,
    pods: podsPerNode,
    labels: { [HOLLOW]: "true" },
    ...(noSchedule && { taints: [{ key: HOLLOW, value: "true", effect: TaintEffect.noSchedule }] }),
    ...(zones > 0 && { zone: `zone-${index % zones}` }),
  }));
}

/** Runs hollow nodes until the process is stopped. Throws a Failure. */
export async function runHollow(settings: Settings, host: Host): Promise<number> {
  const clock = realClock();
  const log = createLog({ level: settings.logLevel, format: settings.logFormat });
  const cluster = await openCluster(settings, { clock, log, host });
  if (cluster === null) return ExitCode.ok;
  const io = { wire: cluster.wire, clock, random: systemRandom, log };
  const kube = createKube({ ...io, metrics: createMetrics(), profile: STANDARD_PROFILE });
  const pipelined = pipelinedKube(kube, cluster.wireOptions, clock);
  const writes = drainable(pipelined.kube);
  const hollow = new HollowNodes({ ...io, kube: writes.kube, nodes: hollowSpecs(settings) });
  const socket = await answerLines(settings.socket, (line) => obey(hollow, line)).catch((error: Error) => {
    hollow.shutdown();
    throw new Failure(`--socket=${settings.socket}: ${error.message}`);
  });
  const stopShowing = showProgress(hollow, clock, host);
  await untilStopped(host);
  stopShowing();
  await socket.close();
  if (settings.removeOnStop) hollow.remove({});
  hollow.shutdown();
  if (settings.removeOnStop) {
    const late = new Promise<void>((resolve) => clock.after(REMOVE_MS_MAX, resolve));
    const gone = new Promise<void>((resolve) => hollow.whenRemoved(() => writes.whenIdle(resolve)));
    await Promise.race([gone, late]);
  }
  pipelined.close();
  cluster.wire.close();
  return ExitCode.ok;
}

/** Shows a progress bar on a terminal, elsewhere one line at the end. */
function showProgress(hollow: HollowNodes, clock: Clock, host: Host): Stop {
  const show = (): void => {
    const summary = hollow.summary();
    if (host.interactive) host.print(`\r${progressLine(summary)}`);
    if (isComplete(summary)) {
      host.print(`${host.interactive ? "\n" : ""}${summaryLine(summary)}; for orders see vigil hollow --help\n`);
    } else timer = clock.after(PROGRESS_MS, show);
  };
  let timer = clock.after(PROGRESS_MS, show);
  return () => timer.cancel();
}
