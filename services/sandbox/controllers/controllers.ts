/**
 * The part of kube-controller-manager and kube-scheduler that a cluster needs to be played with, on an embedded API:
 * namespaces end, Deployments have pods, pods have nodes, and disruption budgets are counted. Vigil does the rest.
 */
import type { Clock, Stop } from "../../../protocols/ports.ts";
import type { ApiServer } from "../apiserver/apiserver.ts";
import { Cluster } from "./cluster.ts";
import { startDeployments } from "./deployments.ts";
import { startDisruptionBudgets } from "./disruption-budgets.ts";
import { startNamespaces } from "./namespaces.ts";
import { startGarbageCollector } from "./owners.ts";
import { startReplicaSets } from "./replica-sets.ts";
import { startScheduler } from "./scheduler.ts";

/** Starts every controller on an embedded API. They act on what changes from now on. */
export function startControllers(api: ApiServer, clock: Clock): Stop {
  const cluster = new Cluster(api, clock);
  startNamespaces(cluster);
  startGarbageCollector(cluster);
  startDeployments(cluster);
  startReplicaSets(cluster);
  startScheduler(cluster);
  startDisruptionBudgets(cluster);
  return () => cluster.stop();
}
