/** A process of `vigil hollow`: starts the nodes, shows how far they are, takes orders until it is asked to end. */
import type { Clock, Stop } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import type { KUBE_SETTINGS, LOG_SETTINGS } from "../../platform/config/settings.ts";
import type { Setting, ValuesOf } from "../../platform/config/value.ts";
import { createKube } from "../../platform/kube/kube.ts";
import { realClock } from "../../platform/process/clock.real.ts";
import { drainable } from "../../platform/process/drain.ts";
import { answerLines } from "../../platform/process/line-socket.ts";
import { createLog } from "../../platform/process/log.ts";
import { createMetrics } from "../../platform/process/metrics.ts";
import { systemRandom } from "../../platform/process/random.ts";
import { obey } from "../../sandbox/hollow/control.ts";
import { type HollowNodes, startHollowNodes } from "../../sandbox/hollow/hollow.service.ts";
import type { HollowNodeSpec } from "../../sandbox/hollow/hollow-stats.ts";
import { ExitCode } from "../exit-code.ts";
import { openCluster } from "../run/open-cluster.ts";
import { Failure, type Host, untilStopped } from "../verb.ts";
import { isComplete, progressLine, summaryLine } from "./progress.ts";

const count = (flag: string, standard: number, meaning: string, least = 0): Setting<number> => ({
  unit: "count",
  flag,
  standard,
  meaning,
  least,
});

/** Which nodes to run. */
export const HOLLOW_NODE_SETTINGS = {
  nodes: count("nodes", 100, "How many nodes to run.", 1),
  zones: count("zones", 3, "How many zones they are spread over; 0 gives them none."),
  podsPerNode: count("pods-per-node", 0, "How many pods are put on each of them."),
  namePrefix: {
    unit: "text",
    flag: "name-prefix",
    standard: "hollow",
    meaning: "What the names of the nodes begin with.",
    example: "hollow",
  } as Setting<string>,
  removeOnStop: {
    unit: "switch",
    flag: "remove-on-stop",
    standard: false,
    meaning: "Delete the nodes when the process ends; without it they fall silent and stay.",
  } as Setting<boolean>,
} as const;

type NodeSettings = Readonly<ValuesOf<typeof HOLLOW_NODE_SETTINGS>>;
type Settings = NodeSettings &
  Readonly<ValuesOf<typeof KUBE_SETTINGS & typeof LOG_SETTINGS>> & { readonly socket: string };

const PROGRESS_MS = 250;
const REMOVE_MS_MAX = 60_000;

/** The nodes that the settings ask for. */
export function hollowSpecs({ nodes, zones, podsPerNode, namePrefix }: NodeSettings): HollowNodeSpec[] {
  return Array.from({ length: nodes }, (_, index) => ({
    name: `${namePrefix}-${index}`,
    pods: podsPerNode,
    ...(zones > 0 && { zone: `zone-${index % zones}` }),
  }));
}

/** Runs hollow nodes until the process is asked to end. Throws a Failure. */
export async function runHollow(settings: Settings, host: Host): Promise<number> {
  const clock = realClock();
  const log = createLog({ level: settings.logLevel, format: settings.logFormat });
  const cluster = await openCluster(settings, { clock, log, host });
  if (cluster === null) return ExitCode.ok;
  const io = { wire: cluster.wire, clock, random: systemRandom, log };
  const writes = drainable(createKube({ ...io, metrics: createMetrics(), profile: STANDARD_PROFILE }));
  const hollow = startHollowNodes({ ...io, kube: writes.kube, nodes: hollowSpecs(settings) });
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
  cluster.wire.close();
  return ExitCode.ok;
}

/** On a terminal a bar that fills, elsewhere one line at the end. */
function showProgress(hollow: HollowNodes, clock: Clock, host: Host): Stop {
  const look = (): void => {
    const summary = hollow.summary();
    if (host.interactive) host.print(`\r${progressLine(summary)}`);
    if (isComplete(summary)) {
      host.print(`${host.interactive ? "\n" : ""}${summaryLine(summary)}; for orders see vigil hollow --help\n`);
    } else timer = clock.after(PROGRESS_MS, look);
  };
  let timer = clock.after(PROGRESS_MS, look);
  return () => timer.cancel();
}
