/** The two subresources to post to a pod: its binding and its eviction. */
import { apiTime } from "../../../domain/api-time.ts";
import { type ApiObject, childList, childObject, type JsonObject, textOf } from "../api-objects.ts";
import { badRequest, conflict } from "../api-status.ts";
import type { Place, Registry } from "../store/registry.ts";
import { deleteOptionsOf, objectBody } from "./bodies.ts";

/** Binds a pod to the node in the binding, as the scheduler does. */
export function bindPod(registry: Registry, place: Place, body: string | null, wallMs: number): void {
  const target = textOf(childObject(objectBody(body, "Binding"), "target"), "name");
  if (target === "") throw badRequest("target.name: Required value");
  const change = (pod: ApiObject): ApiObject => {
    checkUnbound(place, pod);
    const spec = { ...childObject(pod, "spec"), nodeName: target };
    return { ...pod, spec, status: scheduled(childObject(pod, "status"), wallMs) };
  };
  registry.update(place, "binding", change);
}

function checkUnbound({ resource, name }: Place, pod: ApiObject): void {
  const binding = { ...resource, plural: "pods/binding" };
  const bound = textOf(childObject(pod, "spec"), "nodeName");
  if (bound !== "") throw conflict(binding, name, `pod ${name} is already assigned to node "${bound}"`);
  if (pod.metadata.deletionTimestamp !== undefined) {
    throw conflict(binding, name, `pod ${name} is being deleted, cannot be assigned to a host`);
  }
}

function scheduled(status: JsonObject, wallMs: number): JsonObject {
  const others = childList(status, "conditions").filter((condition) => condition.type !== "PodScheduled");
  const condition = { type: "PodScheduled", status: "True", lastProbeTime: null, lastTransitionTime: apiTime(wallMs) };
  return { ...status, conditions: [...others, condition] };
}

/** Deletes a pod as an eviction; there are no disruption budgets. */
export function evictPod(registry: Registry, place: Place, body: string | null): void {
  const eviction = objectBody(body, "Eviction");
  if (textOf(childObject(eviction, "metadata"), "name") !== place.name) {
    throw badRequest("name in URL does not match name in Eviction object");
  }
  const options = deleteOptionsOf(childObject(eviction, "deleteOptions"));
  (options.dryRun ? registry.dry() : registry).delete(place, options);
}
