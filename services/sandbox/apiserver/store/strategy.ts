/** The behaviour of each kind on create, update and delete: what the server sets, keeps and defaults. */

import {
  type ApiObject,
  childList,
  childObject,
  isObject,
  type Json,
  type JsonObject,
  sameJson,
  textOf,
} from "../api-objects.ts";
import type { BuiltInStorage, Resource } from "../resources.ts";
import { defaultTolerations, fillPodSpec, notReadyTaint, qosClass } from "./admission.ts";

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
  /** The part of an object whose changes metadata.generation counts; null when the kind has no generation. */
  readonly desired: ((object: ApiObject) => Json) | null;
  /** Sets the defaults of a new or replaced object; changes its argument. */
  setDefaults(object: ApiObject): void;
  /** Prepares a new object; changes its argument. */
  prepareCreate(object: ApiObject): void;
  /** Restores from `before` what this part may not write; changes `object`. */
  prepareUpdate(object: ApiObject, before: ApiObject, part: Part): void;
  /** Marks an object that is being deleted, besides its timestamp; changes its argument. */
  prepareDelete(object: ApiObject): void;
  /** Grace period of a deletion in seconds; null when this kind is deleted at once. */
  graceSeconds(object: ApiObject, asked: number | null): number | null;
}

const plain: Strategy = {
  createsOnUpdate: false,
  updatesUnconditionally: true,
  returnsDeleted: false,
  desired: null,
  setDefaults: () => undefined,
  prepareCreate: () => undefined,
  prepareUpdate: () => undefined,
  prepareDelete: () => undefined,
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

function specOf(object: ApiObject): Json {
  return object.spec ?? null;
}

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
  setDefaults: nodeDefaults,
  prepareCreate(object) {
    const spec = ownChild(object, "spec");
    spec.taints = notReadyTaint(childList(spec, "taints"));
  },
};

const pod: Strategy = {
  ...withStatus,
  returnsDeleted: true,
  setDefaults(object) {
    const spec = ownChild(object, "spec");
    fillPodSpec(spec);
    spec.enableServiceLinks ??= true;
    spec.preemptionPolicy ??= "PreemptLowerPriority";
    spec.priority ??= 0;
    spec.tolerations = defaultTolerations(childList(spec, "tolerations"));
  },
  prepareCreate(object) {
    object.status = { phase: "Pending", qosClass: qosClass(ownChild(object, "spec")) };
  },
  prepareUpdate(object, before, part) {
    keepOtherPart(object, before, part);
    if (part !== "status") return;
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
  desired: specOf,
  setDefaults(object) {
    const spec = ownChild(object, "spec");
    spec.updateStrategy ??= { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1 } };
    spec.revisionHistoryLimit ??= 10;
    fillPodSpec(ownChild(ownChild(spec, "template"), "spec"));
  },
  prepareCreate(object) {
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
  prepareDelete(object) {
    object.status = { ...childObject(object, "status"), phase: "Terminating" };
  },
};

const lease: Strategy = { ...plain, createsOnUpdate: true, updatesUnconditionally: false };

const replicaSet: Strategy = {
  ...withStatus,
  desired: specOf,
  setDefaults(object) {
    const spec = ownChild(object, "spec");
    spec.replicas ??= 1;
    fillPodSpec(ownChild(ownChild(spec, "template"), "spec"));
  },
  prepareCreate(object) {
    object.status = { replicas: 0 };
  },
};

const deployment: Strategy = {
  ...replicaSet,
  setDefaults(object) {
    replicaSet.setDefaults(object);
    const spec = ownChild(object, "spec");
    spec.strategy ??= { type: "RollingUpdate" };
    const { strategy } = spec;
    if (isObject(strategy) && strategy.type === "RollingUpdate") {
      strategy.rollingUpdate = { maxUnavailable: "25%", maxSurge: "25%", ...childObject(strategy, "rollingUpdate") };
    }
    spec.revisionHistoryLimit ??= 10;
    spec.progressDeadlineSeconds ??= 600;
  },
  prepareCreate(object) {
    object.status = {};
  },
};

const disruptionBudget: Strategy = {
  ...withStatus,
  desired: specOf,
  prepareCreate(object) {
    object.status = { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 };
  },
};

const service: Strategy = {
  ...withStatus,
  setDefaults(object) {
    const spec = ownChild(object, "spec");
    spec.type ??= "ClusterIP";
    spec.sessionAffinity ??= "None";
    for (const port of childList(spec, "ports")) {
      port.protocol ??= "TCP";
      port.targetPort ??= port.port ?? 0;
    }
    if (spec.type !== "ExternalName") spec.clusterIP ??= addressOf(object.metadata.uid ?? "");
  },
  prepareCreate(object) {
    object.status = { loadBalancer: {} };
  },
  prepareUpdate(object, before, part) {
    keepOtherPart(object, before, part);
    const address = childObject(before, "spec").clusterIP;
    if (part === "main" && address !== undefined) ownChild(object, "spec").clusterIP ??= address;
  },
};

/** The address of a service in 10.96.0.0/12, from its uid; nothing listens there. */
function addressOf(uid: string): string {
  const [second = 0, third = 0, fourth = 0] = [0, 2, 4].map((at) => Number.parseInt(uid.slice(at, at + 2), 16));
  return `10.${96 + (second & 15)}.${third}.${fourth}`;
}

/** The finalizer of a definition, which keeps it until its objects are gone. */
export const CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io";

const definition: Strategy = {
  ...withStatus,
  desired: specOf,
  setDefaults: definitionDefaults,
  prepareCreate(object) {
    const stored = childList(childObject(object, "spec"), "versions").filter(({ storage }) => storage === true);
    const storedVersions = stored.map((version) => textOf(version, "name"));
    object.status = { conditions: [], acceptedNames: { kind: "", plural: "" }, storedVersions };
  },
  prepareDelete({ metadata }) {
    const finalizers = Array.isArray(metadata.finalizers) ? metadata.finalizers : [];
    metadata.finalizers = [...finalizers.filter((one) => one !== CLEANUP_FINALIZER), CLEANUP_FINALIZER];
  },
};

function definitionDefaults(object: ApiObject): void {
  const spec = ownChild(object, "spec");
  spec.conversion ??= { strategy: "None" };
  const names = ownChild(spec, "names");
  const kind = textOf(names, "kind");
  names.singular ??= kind.toLowerCase();
  names.listKind ??= `${kind}List`;
}

/** The strategies of custom resources, with and without a status. */
const custom: Strategy = {
  ...plain,
  updatesUnconditionally: false,
  desired: ({ metadata: _metadata, apiVersion: _apiVersion, ...rest }) => rest,
};
const customWithStatus: Strategy = {
  ...custom,
  desired: ({ metadata: _metadata, apiVersion: _apiVersion, status: _status, ...rest }) => rest,
  prepareCreate(object) {
    delete object.status;
  },
  prepareUpdate(object, before, part) {
    keepOtherPart(object, before, part);
    if (part === "status") object.metadata = structuredClone(before.metadata);
  },
};

/** The strategy of a resource. */
export function strategyOf({ storage, custom: version, hasStatus }: Resource): Strategy {
  if (version !== null) return hasStatus ? customWithStatus : custom;
  return STRATEGIES[storage as BuiltInStorage];
}

const STRATEGIES: Readonly<Record<BuiltInStorage, Strategy>> = {
  configmaps: plain,
  customresourcedefinitions: definition,
  nodes: node,
  pods: pod,
  leases: lease,
  daemonsets: daemonSet,
  deployments: deployment,
  poddisruptionbudgets: disruptionBudget,
  replicasets: replicaSet,
  services: service,
  namespaces: namespace,
  events: { ...plain, createsOnUpdate: true },
  serviceaccounts: { ...plain, returnsDeleted: true },
};
