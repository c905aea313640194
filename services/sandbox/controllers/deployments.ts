/** Gives each Deployment a ReplicaSet of its template, and retires the earlier ones as its pods become ready. */
import { fnv1a } from "../../../protocols/subjects.ts";
import { apiTime } from "../../domain/api-time.ts";
import { type ApiObject, childList, childObject, type JsonObject, textOf } from "../apiserver/api-objects.ts";
import { storedAs } from "../apiserver/resources.ts";
import type { Cluster } from "./cluster.ts";
import { controlledBy, controllerReference, reconcileOwners } from "./owners.ts";

const SETS = storedAs("replicasets");
const HASH_LABEL = "pod-template-hash";
const REVISION = "deployment.kubernetes.io/revision";

/** Follows the Deployments of a cluster and their ReplicaSets. */
export function startDeployments(cluster: Cluster): void {
  const owners = { owner: "deployments", kind: "Deployment", owned: "replicasets" } as const;
  reconcileOwners(cluster, owners, (object) => reconcile(cluster, object));
}

function reconcile(cluster: Cluster, deployment: ApiObject): void {
  const wanted = numberOf(childObject(deployment, "spec"), "replicas");
  const sets = controlledBy(cluster, "replicasets", deployment);
  const name = `${deployment.metadata.name}-${hashOf(deployment)}`;
  const present = sets.find(({ metadata }) => metadata.name === name);
  const earlier = sets.filter((set) => set !== present);
  if (present === undefined) {
    const revision = 1 + Math.max(0, ...sets.map(revisionOf));
    cluster.registry.create(SETS, deployment.metadata.namespace ?? "", setOf(deployment, name, wanted, revision));
    return;
  }
  scale(cluster, present, wanted);
  // One earlier pod is removed for each new one that is ready. Example: of 3 replicas 1 new pod is ready, so 2 earlier
  // pods stay.
  let surplus = wanted - Math.min(wanted, statusOf(present, "readyReplicas"));
  for (const set of earlier) {
    const kept = Math.min(surplus, numberOf(childObject(set, "spec"), "replicas"));
    surplus -= kept;
    scale(cluster, set, kept);
  }
  cluster.report("deployments", deployment, reported(deployment, present, sets, apiTime(cluster.clock.wallMs())));
}

function scale(cluster: Cluster, set: ApiObject, replicas: number): void {
  if (numberOf(childObject(set, "spec"), "replicas") === replicas) return;
  const { namespace = "", name } = set.metadata;
  const change = (before: ApiObject): ApiObject => ({
    ...before,
    spec: { ...childObject(before, "spec"), replicas },
  });
  cluster.registry.update({ resource: SETS, namespace, name }, "main", change);
}

function setOf(deployment: ApiObject, name: string, replicas: number, revision: number): ApiObject {
  const { selector, template } = structuredClone(childObject(deployment, "spec"));
  const hash = { [HASH_LABEL]: hashOf(deployment) };
  const own = template as JsonObject;
  const metadata = childObject(own, "metadata");
  const labels = { ...childObject(metadata, "labels"), ...hash };
  const matchLabels = { ...childObject((selector ?? {}) as JsonObject, "matchLabels"), ...hash };
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name,
      labels,
      annotations: { [REVISION]: String(revision) },
      ownerReferences: [controllerReference(deployment)],
    },
    spec: {
      replicas,
      selector: { ...(selector as JsonObject), matchLabels },
      template: { ...own, metadata: { ...metadata, labels } },
    },
  };
}

function hashOf(deployment: ApiObject): string {
  return fnv1a(JSON.stringify(childObject(deployment, "spec").template)).toString(36);
}

function revisionOf({ metadata }: ApiObject): number {
  return Number(textOf(childObject(metadata, "annotations"), REVISION)) || 0;
}

/** The status by which `kubectl rollout status` sees how far a Deployment is. */
function reported(deployment: ApiObject, present: ApiObject, sets: readonly ApiObject[], now: string): JsonObject {
  const sum = (field: string): number => sets.reduce((total, set) => total + statusOf(set, field), 0);
  const wanted = numberOf(childObject(deployment, "spec"), "replicas");
  const [available, updated] = [sum("availableReplicas"), statusOf(present, "replicas")];
  const isAvailable = available >= wanted;
  const known = childList(childObject(deployment, "status"), "conditions");
  const condition = (type: string, status: string, reason: string): JsonObject => {
    const before = known.find((one) => one.type === type && one.status === status && one.reason === reason);
    return before ?? { type, status, reason, message: "", lastUpdateTime: now, lastTransitionTime: now };
  };
  return {
    observedGeneration: deployment.metadata.generation ?? 0,
    replicas: sum("replicas"),
    updatedReplicas: updated,
    readyReplicas: sum("readyReplicas"),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, wanted - available),
    conditions: [
      isAvailable
        ? condition("Available", "True", "MinimumReplicasAvailable")
        : condition("Available", "False", "MinimumReplicasUnavailable"),
      isAvailable && updated === wanted
        ? condition("Progressing", "True", "NewReplicaSetAvailable")
        : condition("Progressing", "True", "ReplicaSetUpdated"),
    ],
  };
}

function statusOf(object: ApiObject, field: string): number {
  return numberOf(childObject(object, "status"), field);
}

function numberOf(parent: JsonObject, field: string): number {
  const value = parent[field];
  return typeof value === "number" ? value : 0;
}
