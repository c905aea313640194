/** The behaviour of each kind on create, update and delete: what the server sets, keeps and defaults. */

import { type ApiObject, childList, childObject, isObject, type JsonObject, sameJson, textOf } from "../api-objects.ts";
import type { StorageName } from "../resources.ts";
import { defaultTolerations, notReadyTaint } from "./admission.ts";
import { fillPodSpec, qosClass } from "./pod-defaults.ts";

/** The part of an object that a request writes. A binding writes the scheduler's part and is not validated. */
export type Part = "main" | "status" | "binding";

/** The behaviour of a kind. */
export interface Strategy {
  /** Whether a PUT to a name that does not exist creates the object. */
  readonly createsOnUpdate: boolean;
  /** Whether a PUT may come without a resourceVersion. */
  readonly updatesUnconditionally: boolean;
  /** Whether a DELETE responds with the deleted object instead of a Status. */
  readonly returnsDeleted: boolean;
  /** Whether metadata.generation counts the changes of the spec. */
  readonly countsGenerations: boolean;
  /** Prepares a new object; changes its argument. */
  prepareCreate(object: ApiObject): void;
  /** Restores from `before` what this part may not write; changes `object`. */
  prepareUpdate(object: ApiObject, before: ApiObject, part: Part): void;
  /** Grace period of a deletion in seconds; null when this kind is deleted at once. */
  graceSeconds(object: ApiObject, asked: number | null): number | null;
}

const plain: Strategy = {
  createsOnUpdate: false,
  updatesUnconditionally: true,
  returnsDeleted: false,
  countsGenerations: false,
  prepareCreate: () => undefined,
  prepareUpdate: () => undefined,
  graceSeconds: () => null,
};

/** The status can be written only through the status subresource, all else only through the main resource. */
function keepOtherPart(object: ApiObject, before: ApiObject, part: Part): void {
  if (part === "binding") return;
  for (const field of new Set([...Object.keys(object), ...Object.keys(before)])) {
    const kept = part === "main" ? field === "status" : field !== "status" && field !== "metadata";
    if (!kept) continue;
    const value = before[field];
    if (value === undefined) delete object[field];
    else object[field] = value;
  }
}

const withStatus: Strategy = { ...plain, prepareUpdate: keepOtherPart };

/** The object in a field of `parent`, created if missing. */
function ownChild(parent: JsonObject, field: string): JsonObject {
  const present = parent[field];
  if (isObject(present)) return present;
  const made: JsonObject = {};
  parent[field] = made;
  return made;
}

function nodeDefaults(object: ApiObject): void {
  const spec = ownChild(object, "spec");
  if (textOf(spec, "podCIDR") !== "") spec.podCIDRs ??= [textOf(spec, "podCIDR")];
  const status = ownChild(object, "status");
  if (status.capacity !== undefined) status.allocatable ??= status.capacity;
}

const node: Strategy = {
  ...withStatus,
  prepareCreate(object) {
    nodeDefaults(object);
    const spec = ownChild(object, "spec");
    spec.taints = notReadyTaint(childList(spec, "taints"));
  },
  prepareUpdate(object, before, part) {
    keepOtherPart(object, before, part);
    nodeDefaults(object);
  },
};

const pod: Strategy = {
  ...withStatus,
  returnsDeleted: true,
  prepareCreate(object) {
    const spec = ownChild(object, "spec");
    fillPodSpec(spec);
    spec.enableServiceLinks ??= true;
    spec.preemptionPolicy ??= "PreemptLowerPriority";
    spec.priority ??= 0;
    spec.tolerations = defaultTolerations(childList(spec, "tolerations"));
    object.status = { phase: "Pending", qosClass: qosClass(spec) };
  },
  prepareUpdate(object, before, part) {
    keepOtherPart(object, before, part);
    if (part === "binding") return;
    if (part === "main") {
      const spec = ownChild(object, "spec");
      spec.tolerations = defaultTolerations(childList(spec, "tolerations"));
      return;
    }
    const status = ownChild(object, "status");
    if (textOf(status, "podIP") !== "") status.podIPs ??= [{ ip: textOf(status, "podIP") }];
    const owners = before.metadata.ownerReferences;
    if (owners === undefined) delete object.metadata.ownerReferences;
    else object.metadata.ownerReferences = owners;
  },
  graceSeconds(object, asked) {
    const spec = childObject(object, "spec");
    const own = spec.terminationGracePeriodSeconds;
    const phase = textOf(childObject(object, "status"), "phase");
    if (textOf(spec, "nodeName") === "" || phase === "Failed" || phase === "Succeeded") return 0;
    return asked ?? (typeof own === "number" ? own : 0);
  },
};

/** The annotation that keeps a template's generation from a removed API version. */
const TEMPLATE_GENERATION = "deprecated.daemonset.template.generation";

function setTemplateGeneration(object: ApiObject, generation: number): void {
  object.metadata.annotations = {
    ...childObject(object.metadata, "annotations"),
    [TEMPLATE_GENERATION]: String(generation),
  };
}

const daemonSet: Strategy = {
  ...withStatus,
  countsGenerations: true,
  prepareCreate(object) {
    const spec = ownChild(object, "spec");
    spec.updateStrategy ??= { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1 } };
    spec.revisionHistoryLimit ??= 10;
    fillPodSpec(ownChild(ownChild(spec, "template"), "spec"));
    object.status = { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 };
    setTemplateGeneration(object, 1);
  },
  prepareUpdate(object, before, part) {
    keepOtherPart(object, before, part);
    const generation = Number(textOf(childObject(before.metadata, "annotations"), TEMPLATE_GENERATION)) || 1;
    const [is, was] = [object, before].map((one) => childObject(one, "spec").template);
    setTemplateGeneration(object, sameJson(is, was) ? generation : generation + 1);
  },
};

const namespace: Strategy = {
  ...withStatus,
  prepareCreate(object) {
    object.spec = { finalizers: ["kubernetes"] };
    object.status = { phase: "Active" };
  },
};

const lease: Strategy = { ...plain, createsOnUpdate: true, updatesUnconditionally: false };

/** The strategy of each collection. */
export const STRATEGIES: Readonly<Record<StorageName, Strategy>> = {
  nodes: node,
  pods: pod,
  leases: lease,
  daemonsets: daemonSet,
  namespaces: namespace,
  events: { ...plain, createsOnUpdate: true },
  serviceaccounts: { ...plain, returnsDeleted: true },
};
