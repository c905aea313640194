/** Validation of objects, as causes of a 422 with the real server's messages. */

import {
  type ApiObject,
  childList,
  childObject,
  isObject,
  type Json,
  type JsonObject,
  sameJson,
  textAt,
  textOf,
} from "../api-objects.ts";
import type { Resource, StorageName } from "../resources.ts";
import { definitionProblems } from "./definition-problems.ts";
import { metadataProblems } from "./object-metadata.ts";
import {
  configMapKeyProblems,
  dnsLabelProblems,
  dnsSubdomainProblems,
  labelValueProblems,
  qualifiedNameProblems,
} from "./object-names.ts";
import { podChangeProblems, TAINT_EFFECTS, tolerationProblems } from "./pod-problems.ts";
import { type FieldProblem, forbiddenValue, invalidField, required, unsupported } from "./problems.ts";
import { schemaProblems } from "./schema-problems.ts";

function nodeProblems(object: ApiObject): FieldProblem[] {
  const taints = childList(childObject(object, "spec"), "taints");
  // Upstream reports taints under metadata.
  return taints.flatMap((taint, index) => taintProblems(taint, `metadata.taints[${index}]`, taints.slice(0, index)));
}

function taintProblems(taint: JsonObject, at: string, earlier: readonly JsonObject[]): FieldProblem[] {
  const [key, value, effect] = [textOf(taint, "key"), textOf(taint, "value"), textOf(taint, "effect")];
  const keyProblems = qualifiedNameProblems(key).map((why) => invalidField(`${at}.key`, key, why));
  const valueProblems = labelValueProblems(value).map((why) => invalidField(`${at}.value`, value, why));
  if (effect === "") return [...keyProblems, ...valueProblems, required(`${at}.effect`)];
  if (!TAINT_EFFECTS.includes(effect)) {
    return [...keyProblems, ...valueProblems, unsupported(`${at}.effect`, effect, TAINT_EFFECTS)];
  }
  if (!earlier.some((other) => other.key === taint.key && other.effect === effect))
    return [...keyProblems, ...valueProblems];
  const message = `Duplicate value: ${JSON.stringify(taint)}: taints must be unique by key and effect pair`;
  return [...keyProblems, ...valueProblems, { type: "FieldValueDuplicate", field: at, message }];
}

/** `kept` are tolerations that a pod has already: an update never has to repair those of another version's server. */
function podSpecProblems(spec: JsonObject, at: string, kept: readonly JsonObject[] = []): FieldProblem[] {
  const containers = childList(spec, "containers");
  if (containers.length === 0) return [required(`${at}.containers`)];
  const restart = textOf(spec, "restartPolicy");
  const restartProblems = RESTART_POLICIES.includes(restart)
    ? []
    : [unsupported(`${at}.restartPolicy`, restart, RESTART_POLICIES)];
  const node = textOf(spec, "nodeName");
  const nodeNameProblems =
    node === "" ? [] : dnsSubdomainProblems(node).map((why) => invalidField(`${at}.nodeName`, node, why));
  const tolerations = childList(spec, "tolerations");
  return [
    ...containers.flatMap((one, index) =>
      containerProblems(one, `${at}.containers[${index}]`, containers.slice(0, index)),
    ),
    ...restartProblems,
    ...nodeNameProblems,
    ...tolerations.flatMap((one, index) =>
      kept.some((each) => sameJson(each, one)) ? [] : tolerationProblems(one, `${at}.tolerations[${index}]`),
    ),
  ];
}

const RESTART_POLICIES = ["Always", "OnFailure", "Never"];

function containerProblems(container: JsonObject, at: string, earlier: readonly JsonObject[]): FieldProblem[] {
  const name = textOf(container, "name");
  const nameProblems =
    name === "" ? [required(`${at}.name`)] : dnsLabelProblems(name).map((why) => invalidField(`${at}.name`, name, why));
  const twice = earlier.some((other) => other.name === name);
  const message = `Duplicate value: ${JSON.stringify(name)}`;
  return [
    ...nameProblems,
    ...(twice ? [{ type: "FieldValueDuplicate", field: `${at}.name`, message } as const] : []),
    ...(textOf(container, "image") === "" ? [required(`${at}.image`)] : []),
  ];
}

/** The problems of a kind with a template of pods. */
function templateProblems(object: ApiObject): FieldProblem[] {
  const spec = childObject(object, "spec");
  const template = childObject(spec, "template");
  const { matchLabels } = childObject(spec, "selector");
  const labels = childObject(childObject(template, "metadata"), "labels");
  const wanted = isObject(matchLabels) ? Object.entries(matchLabels) : [];
  const fits = wanted.length > 0 && wanted.every(([key, value]) => labels[key] === value);
  const why = "`selector` does not match template `labels`";
  const strays = fits ? [] : [invalidField("spec.template.metadata.labels", labels, why)];
  const negative = typeof spec.replicas === "number" && spec.replicas < 0;
  return [
    ...(negative ? [invalidField("spec.replicas", spec.replicas, "must be greater than or equal to 0")] : []),
    ...strays,
    ...podSpecProblems(childObject(template, "spec"), "spec.template.spec"),
  ];
}

function disruptionBudgetProblems(object: ApiObject): FieldProblem[] {
  const { minAvailable, maxUnavailable } = childObject(object, "spec");
  const why = "minAvailable and maxUnavailable cannot be both set";
  const both = minAvailable !== undefined && maxUnavailable !== undefined;
  return [
    ...(both ? [invalidField("spec", childObject(object, "spec"), why)] : []),
    ...amountProblems(minAvailable, "spec.minAvailable"),
    ...amountProblems(maxUnavailable, "spec.maxUnavailable"),
  ];
}

/** The problems of an amount, which is a number or a percentage. */
function amountProblems(amount: Json | undefined, at: string): FieldProblem[] {
  if (amount === undefined) return [];
  if (typeof amount === "number") {
    return amount < 0 ? [invalidField(at, amount, "must be greater than or equal to 0")] : [];
  }
  const why = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%')";
  return typeof amount === "string" && /^\d+%$/.test(amount) ? [] : [invalidField(at, amount, why)];
}

function serviceProblems(object: ApiObject): FieldProblem[] {
  const spec = childObject(object, "spec");
  const needsPorts = textOf(spec, "type") !== "ExternalName" && textOf(spec, "clusterIP") !== "None";
  return needsPorts && childList(spec, "ports").length === 0 ? [required("spec.ports")] : [];
}

function leaseProblems(object: ApiObject): FieldProblem[] {
  const { leaseDurationSeconds: seconds, leaseTransitions: transitions } = childObject(object, "spec");
  const short = typeof seconds === "number" && seconds <= 0;
  const negative = typeof transitions === "number" && transitions < 0;
  return [
    ...(short ? [invalidField("spec.leaseDurationSeconds", seconds, "must be greater than 0")] : []),
    ...(negative ? [invalidField("spec.leaseTransitions", transitions, "must to greater or equal than 0")] : []),
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
  return [invalidField("involvedObject.namespace", namespace, "does not match event.namespace")];
}

/** Keys are names of files; all values together have at most 1 MiB. */
function configMapProblems({ data, binaryData }: ApiObject): FieldProblem[] {
  const entries = [data, binaryData].flatMap((map) => (isObject(map) ? Object.entries(map) : []));
  const bytes = entries.reduce((sum, [, value]) => sum + Buffer.byteLength(String(value as string)), 0);
  const message = `Too long: must have at most ${CONFIG_MAP_BYTES_MAX} bytes`;
  return [
    ...entries.flatMap(([key]) => configMapKeyProblems(key).map((why) => invalidField(`data[${key}]`, key, why))),
    ...(bytes > CONFIG_MAP_BYTES_MAX ? [{ type: "FieldValueTooLong", field: "", message } as const] : []),
  ];
}

function configMapChangeProblems(object: ApiObject, before: ApiObject): FieldProblem[] {
  if (before.immutable !== true) return [];
  const why = "field is immutable when `immutable` is set";
  return ["immutable", "data", "binaryData"]
    .filter((field) => !sameJson(object[field], before[field]))
    .map((field) => forbiddenValue(field, why));
}

const CONFIG_MAP_BYTES_MAX = 1_048_576;

function podProblems(object: ApiObject, before: ApiObject | null): FieldProblem[] {
  const kept = before === null ? [] : childList(childObject(before, "spec"), "tolerations");
  return podSpecProblems(childObject(object, "spec"), "spec", kept);
}

type Problems = (object: ApiObject, before: ApiObject | null) => FieldProblem[];
const OF_KIND: Readonly<Partial<Record<StorageName, Problems>>> = {
  nodes: nodeProblems,
  pods: podProblems,
  configmaps: configMapProblems,
  customresourcedefinitions: definitionProblems,
  daemonsets: templateProblems,
  deployments: templateProblems,
  poddisruptionbudgets: disruptionBudgetProblems,
  replicasets: templateProblems,
  services: serviceProblems,
  leases: leaseProblems,
  events: eventProblems,
};

const CHANGE_OF_KIND: Readonly<Partial<Record<StorageName, (object: ApiObject, before: ApiObject) => FieldProblem[]>>> =
  { configmaps: configMapChangeProblems, pods: podChangeProblems };

/** The problems of an object, and of its change from `before` if there is one. */
export function problemsOf({ storage, custom }: Resource, object: ApiObject, before: ApiObject | null): FieldProblem[] {
  return [
    ...metadataProblems(storage, object),
    ...(before === null ? [] : (CHANGE_OF_KIND[storage]?.(object, before) ?? [])),
    ...(custom === null ? [] : schemaProblems(object, custom.schema)),
    ...(OF_KIND[storage]?.(object, before) ?? []),
  ];
}
