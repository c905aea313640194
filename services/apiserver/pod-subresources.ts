/** The two things that can be posted to a pod: its binding to a node and its eviction. */
import { apiTime } from "../runtime/api-time.ts";
import { jsonBody } from "./bodies.ts";
import { type ApiObject, childList, childObject, type JsonObject, textOf } from "./objects.ts";
import type { Place, Registry } from "./registry.ts";
import { badRequest, conflict, forbidden } from "./status.ts";

/** Binds a pod to the node that the binding names, as the scheduler does. */
export function bindPod(registry: Registry, place: Place, body: string | null, wallMs: number): void {
  const binding = jsonBody(body);
  const target = textOf(childObject(binding, "target"), "name");
  if (target === "") throw badRequest("target.name: Required value");
  const unbound = (before: ApiObject): ApiObject => {
    const spec = childObject(before, "spec");
    const bound = textOf(spec, "nodeName");
    if (bound !== "")
      throw conflict(place.resource, place.name, `pod ${place.name} is already assigned to node "${bound}"`);
    if (before.metadata.deletionTimestamp !== undefined) {
      throw conflict(place.resource, place.name, `pod ${place.name} is being deleted, cannot be assigned to a host`);
    }
    return before;
  };
  registry.update(place, "main", (before) => {
    const pod = unbound(before);
    return { ...pod, spec: { ...childObject(pod, "spec"), nodeName: target } };
  });
  registry.update(place, "status", (pod) => ({ ...pod, status: scheduled(childObject(pod, "status"), wallMs) }));
}

function scheduled(status: JsonObject, wallMs: number): JsonObject {
  const others = childList(status, "conditions").filter((condition) => condition.type !== "PodScheduled");
  const condition = { type: "PodScheduled", status: "True", lastProbeTime: null, lastTransitionTime: apiTime(wallMs) };
  return { ...status, conditions: [...others, condition] };
}

/** Deletes a pod as an eviction; there are no disruption budgets here. */
export function evictPod(registry: Registry, place: Place, body: string | null): void {
  const options = childObject(jsonBody(body), "deleteOptions");
  const { uid, resourceVersion } = childObject(options, "preconditions");
  const { gracePeriodSeconds } = options;
  if (textOf(childObject(jsonBody(body), "metadata"), "name") !== place.name) {
    throw forbidden(place.resource, place.name, "name in URL does not match name in Eviction object");
  }
  registry.delete(place, {
    uid: typeof uid === "string" ? uid : null,
    resourceVersion: typeof resourceVersion === "string" ? resourceVersion : null,
    gracePeriodSeconds: typeof gracePeriodSeconds === "number" ? gracePeriodSeconds : null,
  });
}
