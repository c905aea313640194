/** Keeps as many pods of each ReplicaSet as its spec requires: an evicted pod is created again elsewhere. */
import { type ApiObject, childObject, type JsonObject, textAt, textOf } from "../apiserver/api-objects.ts";
import { storedAs } from "../apiserver/resources.ts";
import { isReady } from "../apiserver/store/eviction.ts";
import { type Cluster, PLAIN_DELETE } from "./cluster.ts";
import { controlledBy, controllerReference, reconcileOwners } from "./owners.ts";

const PODS = storedAs("pods");

/** Follows the ReplicaSets of a cluster and their pods. */
export function startReplicaSets(cluster: Cluster): void {
  const owners = { owner: "replicasets", kind: "ReplicaSet", owned: "pods" } as const;
  reconcileOwners(cluster, owners, (object) => reconcile(cluster, object));
}

function reconcile(cluster: Cluster, set: ApiObject): void {
  const wanted = Number(childObject(set, "spec").replicas ?? 0);
  const pods = controlledBy(cluster, "pods", set).filter(isActive);
  for (let missing = wanted - pods.length; missing > 0; missing--) {
    cluster.registry.create(PODS, set.metadata.namespace ?? "", podOf(set));
  }
  for (const { metadata } of pods.sort(byWorth).slice(0, Math.max(0, pods.length - wanted))) {
    const place = { resource: PODS, namespace: metadata.namespace ?? "", name: metadata.name };
    cluster.registry.delete(place, PLAIN_DELETE);
  }
  const ready = pods.filter(isReady).length;
  cluster.report("replicasets", set, {
    replicas: pods.length,
    fullyLabeledReplicas: pods.length,
    readyReplicas: ready,
    availableReplicas: ready,
    observedGeneration: set.metadata.generation ?? 0,
  });
}

function isActive({ metadata, status }: ApiObject): boolean {
  const hasEnded = ["Succeeded", "Failed"].includes(textOf(status as JsonObject, "phase"));
  return metadata.deletionTimestamp === undefined && !hasEnded;
}

/** Pods that are on no node come first, then those that are not ready. */
function byWorth(left: ApiObject, right: ApiObject): number {
  const worth = (pod: ApiObject): number => Number(textAt(pod, "spec.nodeName") !== "") + Number(isReady(pod));
  return worth(left) - worth(right);
}

function podOf(set: ApiObject): ApiObject {
  const template = childObject(childObject(set, "spec"), "template");
  const { labels = {}, annotations = {} } = childObject(template, "metadata");
  const { name } = set.metadata;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "",
      generateName: `${name}-`,
      labels: structuredClone(labels),
      annotations: structuredClone(annotations),
      ownerReferences: [controllerReference(set)],
    },
    spec: structuredClone(childObject(template, "spec")),
  };
}
