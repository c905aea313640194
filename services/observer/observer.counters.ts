/** What the observer counts. */
import type { Metrics } from "../../protocols/ports.ts";

/** The observer's metrics. */
export interface ObserverCounters {
  /** A watch came into sight or went out of it. */
  synced(watch: string, isSynced: boolean): void;
  /** A shard was told again. */
  resync(): void;
  /** The lease watch was found stale. */
  stale(): void;
  /** So many objects of each shard exceed a message. */
  unpublished(shards: readonly { readonly nodes: number; readonly pods: number }[]): void;
}

/** Declares the metrics. */
export function observerCounters(metrics: Metrics): ObserverCounters {
  const synced = metrics.gauge({
    name: "vigil_watch_synced",
    help: "Whether a watch can be trusted now, 1 or 0.",
    labels: ["watch"],
  });
  const resyncs = metrics.counter({ name: "vigil_resyncs_total", help: "Shards told again from the beginning." });
  const stale = metrics.counter({
    name: "vigil_stale_lease_watches_total",
    help: "Lease watches that a live read showed to be stale.",
  });
  const unpublished = metrics.gauge({
    name: "vigil_unpublished_objects",
    help: "Nodes and pods that exceed a message, so that nothing is decided about them.",
    labels: ["kind"],
  });
  return {
    synced: (watch, isSynced) => synced.set(isSynced ? 1 : 0, watch),
    resync: () => resyncs.add(1),
    stale: () => stale.add(1),
    unpublished: (shards) => {
      unpublished.set(
        shards.reduce((sum, { nodes }) => sum + nodes, 0),
        "Node",
      );
      unpublished.set(
        shards.reduce((sum, { pods }) => sum + pods, 0),
        "Pod",
      );
    },
  };
}
