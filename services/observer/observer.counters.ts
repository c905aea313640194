/** The observer's metrics. */
import type { ContestedLease } from "../../protocols/observed.ts";
import type { Metrics } from "../../protocols/ports.ts";

/** Declares the metrics; each function of the result updates one. */
export function observerCounters(metrics: Metrics) {
  const synced = metrics.gauge({
    name: "vigil_watch_synced",
    help: "1 while the watch is synced.",
    labels: ["watch"],
  });
  const resyncs = metrics.counter({
    name: "vigil_resyncs_total",
    help: "Shards that the observer published again from the beginning.",
  });
  const stale = metrics.counter({
    name: "vigil_stale_lease_watches_total",
    help: "Lease watches that a live read showed to be stale.",
  });
  const unpublished = metrics.gauge({
    name: "vigil_unpublished_objects",
    help: "Nodes and pods too large for a message, so that nothing is decided about them.",
    labels: ["kind"],
  });
  const leasePath = metrics.gauge({
    name: "vigil_lease_path_broken",
    help: "1 while no lease of any node is renewed though statuses still arrive.",
  });
  const contested = metrics.gauge({
    name: "vigil_nodes_lease_contested",
    help: "Nodes whose lease belongs to another node object (owner), or is renewed by two machines in turn (holder).",
    labels: ["reason"],
  });
  return {
    contested: (leases: readonly ContestedLease[]) => {
      contested.set(leases.filter(({ ownerUid }) => ownerUid !== undefined).length, "owner");
      contested.set(leases.filter(({ holders }) => holders !== undefined).length, "holder");
    },
    leasePath: (isBroken: boolean) => leasePath.set(isBroken ? 1 : 0),
    synced: (watch: string, isSynced: boolean) => synced.set(isSynced ? 1 : 0, watch),
    resync: () => resyncs.add(1),
    stale: () => stale.add(1),
    unpublished: (nodes: number, pods: number) => {
      unpublished.set(nodes, "Node");
      unpublished.set(pods, "Pod");
    },
  };
}
