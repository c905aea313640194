/** The shape in which the real server writes objects of each kind. Data for canonical.ts; no behaviour. */
import type { Shape } from "./canonical.ts";
import type { StorageName } from "./resources.ts";

/** Metadata of every object. */
export const METADATA: Shape = {
  order: [
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
  ],
  omitEmpty: [
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
  ],
};

const MAIN: Shape = { order: ["kind", "apiVersion", "metadata", "spec", "status"] };

const NODE_INFO = [
  "machineID",
  "systemUUID",
  "bootID",
  "kernelVersion",
  "osImage",
  "containerRuntimeVersion",
  "kubeletVersion",
  "kubeProxyVersion",
  "operatingSystem",
  "architecture",
];

const node: Shape = {
  ...MAIN,
  always: { spec: {}, status: {} },
  fields: {
    metadata: METADATA,
    spec: {
      order: ["podCIDR", "podCIDRs", "providerID", "unschedulable", "taints"],
      omitEmpty: ["podCIDR", "podCIDRs", "providerID", "unschedulable", "taints"],
      fields: {
        taints: { order: ["key", "value", "effect", "timeAdded"], omitEmpty: ["value"], times: ["timeAdded"] },
      },
    },
    status: {
      order: ["capacity", "allocatable", "phase", "conditions", "addresses", "daemonEndpoints", "nodeInfo", "images"],
      omitEmpty: [
        "capacity",
        "allocatable",
        "phase",
        "conditions",
        "addresses",
        "images",
        "volumesInUse",
        "volumesAttached",
      ],
      always: { daemonEndpoints: { kubeletEndpoint: { Port: 0 } }, nodeInfo: {} },
      fields: {
        conditions: {
          order: ["type", "status", "lastHeartbeatTime", "lastTransitionTime", "reason", "message"],
          omitEmpty: ["reason", "message"],
          always: { type: "", status: "", lastHeartbeatTime: null, lastTransitionTime: null },
          times: ["lastHeartbeatTime", "lastTransitionTime"],
        },
        nodeInfo: { order: NODE_INFO, always: Object.fromEntries(NODE_INFO.map((field) => [field, ""])) },
      },
    },
  },
};

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

const podSpec: Shape = {
  omitEmpty: [
    "nodeName",
    "nodeSelector",
    "tolerations",
    "volumes",
    "initContainers",
    "hostNetwork",
    "serviceAccountName",
  ],
};

const pod: Shape = {
  ...MAIN,
  always: { spec: {}, status: {} },
  fields: {
    metadata: METADATA,
    spec: podSpec,
    status: {
      order: [
        "phase",
        "conditions",
        "message",
        "reason",
        "nominatedNodeName",
        "hostIP",
        "podIP",
        "podIPs",
        "startTime",
      ],
      omitEmpty: ["phase", "conditions", "message", "reason", "nominatedNodeName", "hostIP", "podIP", "podIPs"],
      times: ["startTime"],
      fields: {
        conditions: {
          order: ["type", "status", "lastProbeTime", "lastTransitionTime", "reason", "message"],
          omitEmpty: ["reason", "message"],
          always: { type: "", status: "", lastProbeTime: null, lastTransitionTime: null },
          times: ["lastProbeTime", "lastTransitionTime"],
        },
        initContainerStatuses: containerStatus,
        containerStatuses: containerStatus,
      },
    },
  },
};

const lease: Shape = {
  ...MAIN,
  always: { spec: {} },
  fields: {
    metadata: METADATA,
    spec: {
      order: ["holderIdentity", "leaseDurationSeconds", "acquireTime", "renewTime", "leaseTransitions"],
      microTimes: ["acquireTime", "renewTime"],
    },
  },
};

const daemonSet: Shape = {
  ...MAIN,
  always: { spec: {}, status: {} },
  fields: {
    metadata: METADATA,
    spec: {
      order: ["selector", "template", "updateStrategy", "revisionHistoryLimit"],
      fields: {
        template: {
          order: ["metadata", "spec"],
          always: { metadata: {}, spec: {} },
          fields: { metadata: { ...METADATA, always: { creationTimestamp: null } }, spec: podSpec },
        },
      },
    },
    status: {
      always: { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 },
      omitEmpty: ["observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable"],
    },
  },
};

const event: Shape = {
  order: [
    "kind",
    "apiVersion",
    "metadata",
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "series",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
  ],
  omitEmpty: ["reason", "message", "count", "type", "action"],
  always: {
    source: {},
    firstTimestamp: null,
    lastTimestamp: null,
    eventTime: null,
    reportingComponent: "",
    reportingInstance: "",
  },
  times: ["firstTimestamp", "lastTimestamp"],
  microTimes: ["eventTime"],
  fields: { metadata: METADATA, series: { microTimes: ["lastObservedTime"] } },
};

const namespace: Shape = { ...MAIN, always: { spec: {}, status: {} }, fields: { metadata: METADATA } };

const others: Shape = { order: ["kind", "apiVersion", "metadata"], fields: { metadata: METADATA } };

/** The shape of each collection's objects in the version they are stored in. */
export const SHAPES: Readonly<Record<StorageName, Shape>> = {
  nodes: node,
  pods: pod,
  leases: lease,
  daemonsets: daemonSet,
  namespaces: namespace,
  events: event,
  serviceaccounts: others,
};
