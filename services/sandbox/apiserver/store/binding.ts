/** Bindings of pods to nodes. */
import { apiTime } from "../../../domain/api-time.ts";
import { type ApiObject, childList, childObject, type JsonObject, textOf } from "../api-objects.ts";
import { badRequest, conflict } from "../api-status.ts";
import type { Place } from "../resources.ts";
import type { Registry } from "./registry.ts";

/** Binds a pod to a node, as the scheduler does. */
export function bindPod(registry: Registry, place: Place, target: string, wallMs: number): void {
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
