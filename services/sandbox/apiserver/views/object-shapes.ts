/** The shapes in which the real server writes objects of each kind. Data for canonical.ts. */

import type { BuiltInStorage, Resource } from "../resources.ts";
import type { Shape } from "./canonical.ts";

/** Field names, several to a line. */
const words = (...lines: string[]): readonly string[] => lines.flatMap((line) => line.split(" "));

/** Metadata of every object. */
export const METADATA: Shape = {
  closed: true,
  order: words(
    "name generateName namespace uid resourceVersion generation creationTimestamp deletionTimestamp",
    "deletionGracePeriodSeconds labels annotations ownerReferences finalizers",
  ),
  omitEmpty: words("generateName namespace uid resourceVersion labels annotations ownerReferences finalizers"),
  types: {
    name: "text",
    namespace: "text",
    labels: "texts",
    annotations: "texts",
    ownerReferences: "list",
    finalizers: "list",
  },
};

const MAIN: Shape = {
  closed: true,
  order: ["kind", "apiVersion", "metadata", "spec", "status"],
  types: { metadata: "object", spec: "object", status: "object" },
};

/** A kind that always has a spec and a status, with the shapes of either. */
function withParts(fields: Shape["fields"] = {}): Shape {
  return { ...MAIN, always: { spec: {}, status: {} }, fields: { metadata: METADATA, ...fields } };
}

/** A condition of a node or a pod, which differ in their times. */
function conditionShape(times: readonly string[]): Shape {
  return {
    closed: true,
    order: ["type", "status", ...times, "reason", "message", "observedGeneration"],
    omitEmpty: ["reason", "message"],
    always: { type: "", status: "", ...Object.fromEntries(times.map((time) => [time, null])) },
    types: { type: "text", status: "text", reason: "text", message: "text" },
    times,
  };
}

const NODE_INFO = words(
  "machineID systemUUID bootID kernelVersion osImage containerRuntimeVersion kubeletVersion",
  "kubeProxyVersion operatingSystem architecture",
);

const node = withParts({
  spec: {
    closed: true,
    order: ["podCIDR", "podCIDRs", "providerID", "unschedulable", "taints", "configSource", "externalID"],
    omitEmpty: ["podCIDR", "podCIDRs", "providerID", "unschedulable", "taints"],
    types: { podCIDR: "text", podCIDRs: "list", providerID: "text", unschedulable: "boolean", taints: "list" },
    fields: {
      taints: {
        closed: true,
        order: ["key", "value", "effect", "timeAdded"],
        omitEmpty: ["value"],
        types: { key: "text", value: "text", effect: "text" },
        times: ["timeAdded"],
      },
    },
  },
  status: {
    order: ["capacity", "allocatable", "phase", "conditions", "addresses", "daemonEndpoints", "nodeInfo", "images"],
    omitEmpty: words("capacity allocatable phase conditions addresses images volumesInUse volumesAttached"),
    types: { conditions: "list", addresses: "list", capacity: "object", allocatable: "object", nodeInfo: "object" },
    quantities: ["capacity", "allocatable"],
    always: { daemonEndpoints: { kubeletEndpoint: { Port: 0 } }, nodeInfo: {} },
    fields: {
      conditions: conditionShape(["lastHeartbeatTime", "lastTransitionTime"]),
      addresses: { closed: true, order: ["type", "address"] },
      nodeInfo: { closed: true, order: NODE_INFO, always: Object.fromEntries(NODE_INFO.map((field) => [field, ""])) },
    },
  },
});

const containerState: Shape = {
  fields: {
    running: { always: { startedAt: null }, times: ["startedAt"] },
    terminated: { always: { startedAt: null, finishedAt: null }, times: ["startedAt", "finishedAt"] },
  },
};

const containerStatus: Shape = {
  order: ["name", "state", "lastState", "ready", "restartCount", "image", "imageID"],
  always: { state: {}, lastState: {}, ready: false, restartCount: 0, image: "", imageID: "" },
  fields: { state: containerState, lastState: containerState },
};

const container: Shape = { fields: { resources: { quantities: ["limits", "requests"] } } };

const podSpec: Shape = {
  types: {
    nodeName: "text",
    tolerations: "list",
    containers: "list",
    initContainers: "list",
    restartPolicy: "text",
    terminationGracePeriodSeconds: "integer",
  },
  fields: {
    containers: container,
    initContainers: container,
    tolerations: {
      closed: true,
      order: ["key", "operator", "value", "effect", "tolerationSeconds"],
      types: { key: "text", operator: "text", value: "text", effect: "text", tolerationSeconds: "integer" },
    },
  },
  omitEmpty: words("nodeName nodeSelector tolerations volumes initContainers hostNetwork serviceAccountName"),
};

const pod = withParts({
  spec: podSpec,
  status: {
    order: words("phase conditions message reason nominatedNodeName hostIP podIP podIPs startTime"),
    omitEmpty: ["phase", "conditions", "message", "reason", "nominatedNodeName", "hostIP", "podIP", "podIPs"],
    types: { phase: "text", reason: "text", conditions: "list" },
    times: ["startTime"],
    fields: {
      conditions: conditionShape(["lastProbeTime", "lastTransitionTime"]),
      initContainerStatuses: containerStatus,
      containerStatuses: containerStatus,
    },
  },
});

const lease: Shape = {
  ...MAIN,
  always: { spec: {} },
  fields: {
    metadata: METADATA,
    spec: {
      closed: true,
      order: ["holderIdentity", "leaseDurationSeconds", "acquireTime", "renewTime", "leaseTransitions"],
      types: { holderIdentity: "text", leaseDurationSeconds: "int32", leaseTransitions: "int32" },
      microTimes: ["acquireTime", "renewTime"],
    },
  },
};

const template: Shape = {
  order: ["metadata", "spec"],
  always: { metadata: {}, spec: {} },
  fields: { metadata: { ...METADATA, always: { creationTimestamp: null } }, spec: podSpec },
};

const daemonSet = withParts({
  spec: {
    order: ["selector", "template", "updateStrategy", "revisionHistoryLimit"],
    fields: { template },
  },
  status: {
    always: { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 },
    omitEmpty: ["observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable"],
  },
});

/** A Deployment or a ReplicaSet. */
const workload = withParts({
  spec: { order: ["replicas", "selector", "template"], types: { replicas: "int32" }, fields: { template } },
});

const disruptionBudget = withParts({
  spec: { closed: true, order: ["minAvailable", "selector", "maxUnavailable", "unhealthyPodEvictionPolicy"] },
});

const service = withParts({ spec: { order: ["ports", "selector", "clusterIP", "type"], types: { ports: "list" } } });

const event: Shape = {
  closed: true,
  order: words(
    "kind apiVersion metadata involvedObject reason message source firstTimestamp lastTimestamp count",
    "type eventTime series action related reportingComponent reportingInstance",
  ),
  omitEmpty: ["reason", "message", "count", "type", "action"],
  always: {
    source: {},
    firstTimestamp: null,
    lastTimestamp: null,
    eventTime: null,
    reportingComponent: "",
    reportingInstance: "",
  },
  types: { involvedObject: "object", reason: "text", message: "text", type: "text", count: "int32" },
  times: ["firstTimestamp", "lastTimestamp"],
  microTimes: ["eventTime"],
  fields: { metadata: METADATA, series: { microTimes: ["lastObservedTime"] } },
};

const configMap: Shape = {
  closed: true,
  order: ["kind", "apiVersion", "metadata", "immutable", "data", "binaryData"],
  omitEmpty: ["data", "binaryData"],
  types: { immutable: "boolean", data: "texts", binaryData: "texts" },
  fields: { metadata: METADATA },
};

const others: Shape = { order: ["kind", "apiVersion", "metadata"], fields: { metadata: METADATA } };

/** The shape of a resource's objects in the version they are stored in. */
export function shapeOf({ storage, custom }: Resource): Shape {
  return custom === null ? SHAPES[storage as BuiltInStorage] : others;
}

const SHAPES: Readonly<Record<BuiltInStorage, Shape>> = {
  configmaps: configMap,
  customresourcedefinitions: { ...MAIN, fields: { metadata: METADATA } },
  nodes: node,
  pods: pod,
  leases: lease,
  daemonsets: daemonSet,
  deployments: workload,
  poddisruptionbudgets: disruptionBudget,
  replicasets: workload,
  services: service,
  namespaces: withParts(),
  events: event,
  serviceaccounts: others,
};
