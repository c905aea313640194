/** Defaults of a pod's spec and status. */
import { childList, childObject, type JsonObject, sameJson, textOf } from "../api-objects.ts";

/** Sets the defaults of a pod's spec, or of a template's; changes its argument. */
export function fillPodSpec(spec: JsonObject): void {
  spec.restartPolicy ??= "Always";
  spec.terminationGracePeriodSeconds ??= 30;
  spec.dnsPolicy ??= "ClusterFirst";
  spec.securityContext ??= {};
  spec.schedulerName ??= "default-scheduler";
  for (const container of [...childList(spec, "initContainers"), ...childList(spec, "containers")]) {
    container.terminationMessagePath ??= "/dev/termination-log";
    container.terminationMessagePolicy ??= "File";
    container.imagePullPolicy ??= isTagged(textOf(container, "image")) ? "IfNotPresent" : "Always";
    container.resources ??= {};
  }
}

/** Whether an image has a fixed tag or digest; `latest` and none may change. */
function isTagged(image: string): boolean {
  const tag = /[:@]([^/]+)$/.exec(image)?.[1];
  return tag !== undefined && tag !== "latest";
}

/** Guaranteed when every container's limits equal its requests, BestEffort when none names any, else Burstable. */
export function qosClass(spec: JsonObject): "Guaranteed" | "Burstable" | "BestEffort" {
  const amounts = childList(spec, "containers").map((container) => {
    const resources = childObject(container, "resources");
    return { limits: childObject(resources, "limits"), requests: childObject(resources, "requests") };
  });
  const isEmpty = (amount: JsonObject): boolean => Object.keys(amount).length === 0;
  if (amounts.every(({ limits, requests }) => isEmpty(limits) && isEmpty(requests))) return "BestEffort";
  const guaranteed = amounts.every(
    ({ limits, requests }) => "cpu" in limits && "memory" in limits && sameJson(limits, requests),
  );
  return guaranteed ? "Guaranteed" : "Burstable";
}
