/** Validation of objects, as causes of a 422 with the real server's messages. */

import { type ApiObject, childList, childObject, isObject, type JsonObject, textAt, textOf } from "../api-objects.ts";
import type { StorageName } from "../resources.ts";
import { metadataProblems } from "./object-metadata.ts";
import { dnsLabelProblems, dnsSubdomainProblems, labelValueProblems, qualifiedNameProblems } from "./object-names.ts";
import { podChangeProblems } from "./pod-changes.ts";
import { TAINT_EFFECTS, tolerationProblems } from "./pod-tolerations.ts";
import { type FieldProblem, required, unsupported, wrong } from "./problems.ts";

function nodeProblems(object: ApiObject): FieldProblem[] {
  const taints = childList(childObject(object, "spec"), "taints");
  // Upstream reports taints under metadata.
  return taints.flatMap((taint, index) => taintProblems(taint, `metadata.taints[${index}]`, taints.slice(0, index)));
}

function taintProblems(taint: JsonObject, at: string, earlier: readonly JsonObject[]): FieldProblem[] {
  const [key, value, effect] = [textOf(taint, "key"), textOf(taint, "value"), textOf(taint, "effect")];
  const ofKey = qualifiedNameProblems(key).map((why) => wrong(`${at}.key`, key, why));
  const ofValue = labelValueProblems(value).map((why) => wrong(`${at}.value`, value, why));
  if (effect === "") return [...ofKey, ...ofValue, required(`${at}.effect`)];
  if (!TAINT_EFFECTS.includes(effect)) {
    return [...ofKey, ...ofValue, unsupported(`${at}.effect`, effect, TAINT_EFFECTS)];
  }
  if (!earlier.some((other) => other.key === taint.key && other.effect === effect)) return [...ofKey, ...ofValue];
  const message = `Duplicate value: ${JSON.stringify(taint)}: taints must be unique by key and effect pair`;
  return [...ofKey, ...ofValue, { type: "FieldValueDuplicate", field: at, message }];
}

function podSpecProblems(spec: JsonObject, at: string): FieldProblem[] {
  const containers = childList(spec, "containers");
  if (containers.length === 0) return [required(`${at}.containers`)];
  const restart = textOf(spec, "restartPolicy");
  const ofRestart = RESTART_POLICIES.includes(restart)
    ? []
    : [unsupported(`${at}.restartPolicy`, restart, RESTART_POLICIES)];
  const node = textOf(spec, "nodeName");
  const ofNode = node === "" ? [] : dnsSubdomainProblems(node).map((why) => wrong(`${at}.nodeName`, node, why));
  const tolerations = childList(spec, "tolerations");
  return [
    ...containers.flatMap((one, index) =>
      containerProblems(one, `${at}.containers[${index}]`, containers.slice(0, index)),
    ),
    ...ofRestart,
    ...ofNode,
    ...tolerations.flatMap((one, index) => tolerationProblems(one, `${at}.tolerations[${index}]`)),
  ];
}

const RESTART_POLICIES = ["Always", "OnFailure", "Never"];

function containerProblems(container: JsonObject, at: string, earlier: readonly JsonObject[]): FieldProblem[] {
  const name = textOf(container, "name");
  const ofName =
    name === "" ? [required(`${at}.name`)] : dnsLabelProblems(name).map((why) => wrong(`${at}.name`, name, why));
  const twice = earlier.some((other) => other.name === name);
  const message = `Duplicate value: ${JSON.stringify(name)}`;
  return [
    ...ofName,
    ...(twice ? [{ type: "FieldValueDuplicate", field: `${at}.name`, message } as const] : []),
    ...(textOf(container, "image") === "" ? [required(`${at}.image`)] : []),
  ];
}

function daemonSetProblems(object: ApiObject): FieldProblem[] {
  const spec = childObject(object, "spec");
  const template = childObject(spec, "template");
  const { matchLabels } = childObject(spec, "selector");
  const labels = childObject(childObject(template, "metadata"), "labels");
  const wanted = isObject(matchLabels) ? Object.entries(matchLabels) : [];
  const fits = wanted.length > 0 && wanted.every(([key, value]) => labels[key] === value);
  const why = "`selector` does not match template `labels`";
  const strays = fits ? [] : [wrong("spec.template.metadata.labels", labels, why)];
  return [...strays, ...podSpecProblems(childObject(template, "spec"), "spec.template.spec")];
}

function leaseProblems(object: ApiObject): FieldProblem[] {
  const { leaseDurationSeconds: seconds, leaseTransitions: transitions } = childObject(object, "spec");
  const short = typeof seconds === "number" && seconds <= 0;
  const negative = typeof transitions === "number" && transitions < 0;
  return [
    ...(short ? [wrong("spec.leaseDurationSeconds", seconds, "must be greater than 0")] : []),
    ...(negative ? [wrong("spec.leaseTransitions", transitions, "must to greater or equal than 0")] : []),
  ];
}

/**
 * An Event is in the namespace of its object. About an object without one it is in `default`, or in `kube-system` if it
 * is a new one, with an eventTime.
 */
function eventProblems({ eventTime = null, ...event }: ApiObject): FieldProblem[] {
  const namespace = textAt(event, "involvedObject.namespace");
  const expected = namespace === "" && eventTime === null ? "default" : namespace || "kube-system";
  if (event.metadata.namespace === expected) return [];
  return [wrong("involvedObject.namespace", namespace, "does not match event.namespace")];
}

const OF_KIND: Readonly<Partial<Record<StorageName, (object: ApiObject) => FieldProblem[]>>> = {
  nodes: nodeProblems,
  pods: (object) => podSpecProblems(childObject(object, "spec"), "spec"),
  daemonsets: daemonSetProblems,
  leases: leaseProblems,
  events: eventProblems,
};

/** The problems of an object, and of its change from `before` if there is one. */
export function problemsOf(storage: StorageName, object: ApiObject, before: ApiObject | null): FieldProblem[] {
  return [
    ...metadataProblems(storage, object),
    ...(before === null || storage !== "pods" ? [] : podChangeProblems(object, before)),
    ...(OF_KIND[storage]?.(object) ?? []),
  ];
}
