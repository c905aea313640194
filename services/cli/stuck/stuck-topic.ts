/** The source of `vigil get stuck`: the API server of the kubeconfig, because Vigil keeps no record of these pods. */
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import type { KUBE_SETTINGS } from "../../platform/config/settings.ts";
import type { ValuesOf } from "../../platform/config/value.ts";
import { createKube } from "../../platform/kube/kube.ts";
import { readOnlyKube } from "../../platform/kube/shadow/shadow-kube.ts";
import { ServerClock } from "../../platform/kube/transport/server-clock.ts";
import { realClock } from "../../platform/process/clock.real.ts";
import { createLog } from "../../platform/process/log.ts";
import { createMetrics } from "../../platform/process/metrics.ts";
import { systemRandom } from "../../platform/process/random.ts";
import type { WatchAnswer } from "../get/watch.policy.ts";
import { openCluster } from "../run/open-cluster.ts";
import { Failure, type Host } from "../verb.ts";
import type { StuckPod } from "./stuck-pods.policy.ts";
import { readStuckPods, type StuckIo } from "./stuck-reader.ts";

type Wanted = Readonly<ValuesOf<typeof KUBE_SETTINGS>> & { readonly limit: number };

/** Connects to the API server. Every query lists and reads again; what cannot be read is reported once. */
export async function openStuckPods(wanted: Wanted, host: Host) {
  const own = realClock();
  const log = createLog({ level: "warn", format: "auto" });
  const clock = new ServerClock(own, log);
  const cluster = await openCluster(wanted, { clock, serverClock: clock, log, host });
  if (cluster === null) throw new Failure("interrupted before the API server answered");
  const wire = clock.over(cluster.wire);
  const io = { wire, clock, random: systemRandom, log, metrics: createMetrics() };
  const kube = readOnlyKube(createKube({ ...io, profile: STANDARD_PROFILE }), (run) => clock.soon(run));
  return { ask: stuckPodsSource({ wire, kube, clock }, wanted.limit, host), close: async () => cluster.wire.close() };
}

/** Answers with the stuck pods as they are at each call. */
export function stuckPodsSource(
  io: StuckIo,
  limit: number,
  { warn }: Pick<Host, "warn">,
): () => Promise<WatchAnswer<StuckPod>> {
  const warned = new Set<string>();
  return async () => {
    const { pods, total, unread } = await readStuckPods(io, limit);
    for (const line of unread) if (!warned.has(line)) warn(`vigil: ${line}\n`);
    for (const line of unread) warned.add(line);
    return { rows: pods, total, blind: null };
  };
}
