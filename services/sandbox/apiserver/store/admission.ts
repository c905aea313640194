/**
 * What the server adds to new objects: the taint of a node, the tolerations of a pod, and the defaults of its spec and
 * status. Pure, except that `fillPodSpec` changes its argument.
 */

import { TaintEffect, TaintKey } from "../../../../protocols/names.ts";
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

/** Default toleration of not-ready and unreachable, in seconds (upstream's flag default). */
const DEFAULT_TOLERATION_SECONDS = 300;

/** The taints of a new node, with not-ready:NoSchedule added unless present, without timeAdded (R4.22). */
export function notReadyTaint(taints: readonly JsonObject[]): JsonObject[] {
  const present = taints.some((taint) => taint.key === TaintKey.notReady && taint.effect === TaintEffect.noSchedule);
  return present ? [...taints] : [...taints, { key: TaintKey.notReady, effect: TaintEffect.noSchedule }];
}

/**
 * The tolerations of a pod on create and update, with the defaults for each of the two taints that it does not mention.
 */
export function defaultTolerations(tolerations: readonly JsonObject[]): JsonObject[] {
  const added = [TaintKey.notReady, TaintKey.unreachable].filter((key) => !tolerations.some(hasKey(key)));
  return [
    ...tolerations,
    ...added.map((key) => ({
      key,
      operator: "Exists",
      effect: TaintEffect.noExecute,
      tolerationSeconds: DEFAULT_TOLERATION_SECONDS,
    })),
  ];
}

/**
 * Whether a toleration mentions the taint: its key or none, and the effect or none. Operator, value and seconds do not
 * count.
 */
function hasKey(key: string): (toleration: JsonObject) => boolean {
  return (toleration) =>
    ["", key].includes(textOf(toleration, "key")) && ["", TaintEffect.noExecute].includes(textOf(toleration, "effect"));
}
