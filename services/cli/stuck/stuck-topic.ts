/** The source of `vigil get stuck`: the API server of the kubeconfig, because Vigil keeps no record of these pods. */
import type { KUBE_SETTINGS } from "../../platform/config/settings.ts";
import type { ValuesOf } from "../../platform/config/value.ts";
import { readOnlyKube } from "../../platform/kube/shadow/shadow-kube.ts";
import { connectApi } from "../connect/api-connection.ts";
import type { WatchAnswer } from "../get/watch.policy.ts";
import type { Host } from "../verb.ts";
import type { StuckPod } from "./stuck-pods.policy.ts";
import { readStuckPods, type StuckIo } from "./stuck-reader.ts";

type Wanted = Readonly<ValuesOf<typeof KUBE_SETTINGS>> & { readonly limit: number };

/** Connects to the API server. Every query lists and reads again; what cannot be read is reported once. */
export async function openStuckPods(wanted: Wanted, host: Host) {
  const { wire, clock, kube, close } = await connectApi(wanted, host);
  const reads = readOnlyKube(kube, (run) => clock.soon(run));
  return { read: stuckPodsSource({ wire, kube: reads, clock }, wanted.limit, host), close: async () => close() };
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
