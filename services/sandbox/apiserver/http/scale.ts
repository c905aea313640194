/** The scale of Deployments and ReplicaSets: how many replicas there should be, as an object of its own. */
import { type ApiObject, childObject, type JsonObject } from "../api-objects.ts";
import { badRequest } from "../api-status.ts";
import type { Resource } from "../resources.ts";

const SCALABLE: readonly string[] = ["deployments", "replicasets"];

/** Whether a resource has a scale. */
export function isScalable({ storage }: Resource): boolean {
  return SCALABLE.includes(storage);
}

/** The scale of an object. */
export function scaleOf(object: ApiObject): JsonObject {
  const { name, namespace = "", uid = "", resourceVersion = "", creationTimestamp = null } = object.metadata;
  const selector = Object.entries(childObject(childObject(object, "spec"), "selector").matchLabels ?? {});
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: childObject(object, "spec").replicas ?? 0 },
    status: {
      replicas: childObject(object, "status").replicas ?? 0,
      selector: selector.map(([label, value]) => `${label}=${String(value)}`).join(","),
    },
  };
}

/** The replicas that a scale asks for. Throws a 400. */
export function replicasIn(scale: JsonObject): number {
  const { replicas = 0 } = childObject(scale, "spec");
  if (typeof replicas === "number" && Number.isInteger(replicas) && replicas >= 0) return replicas;
  throw badRequest(`spec.replicas: ${JSON.stringify(replicas)}: must be a whole number of 0 or more`);
}
