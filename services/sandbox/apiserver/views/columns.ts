/** The columns of kubectl's tables by kind, and the cells of one object. */

import {
  type ApiObject,
  childList,
  childObject,
  isObject,
  type Json,
  type JsonObject,
  textAt,
  textOf,
} from "../api-objects.ts";
import type { StorageName } from "../resources.ts";
import { ageOf } from "./age.ts";
import { podCells } from "./pod-columns.ts";

/** One column; `-o wide` alone shows priority 1. */
export interface Column {
  readonly name: string;
  readonly type: "string" | "integer";
  readonly priority: 0 | 1;
}

/** The columns of a kind and the cells of an object. */
export interface Columns {
  readonly columns: readonly Column[];
  cells(object: ApiObject, wallMs: number): Json[];
}

const column = (name: string): Column => ({ name, type: "string", priority: 0 });
const wide = (name: string): Column => ({ name, type: "string", priority: 1 });
const count = (name: string): Column => ({ name, type: "integer", priority: 0 });

/** The text of an empty cell. */
const NONE = "<none>";
const UNKNOWN = "<unknown>";

function age(object: ApiObject, wallMs: number): string {
  return ageOf(object.metadata.creationTimestamp, wallMs);
}

const nodes: Columns = {
  columns: [
    ...["Name", "Status", "Roles", "Age", "Version"].map(column),
    ...["Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"].map(wide),
  ],
  cells: (node, wallMs) => [
    node.metadata.name,
    nodeStatus(node),
    nodeRoles(node),
    age(node, wallMs),
    textAt(node, "status.nodeInfo.kubeletVersion"),
    nodeAddress(node, "InternalIP"),
    nodeAddress(node, "ExternalIP"),
    textAt(node, "status.nodeInfo.osImage") || UNKNOWN,
    textAt(node, "status.nodeInfo.kernelVersion") || UNKNOWN,
    textAt(node, "status.nodeInfo.containerRuntimeVersion") || UNKNOWN,
  ],
};

function nodeStatus(node: ApiObject): string {
  const conditions = childList(childObject(node, "status"), "conditions");
  const ready = conditions.findLast((condition) => condition.type === "Ready");
  const known = ready?.status === "True" ? "Ready" : "NotReady";
  const cordoned = childObject(node, "spec").unschedulable === true ? ",SchedulingDisabled" : "";
  return (ready === undefined ? "Unknown" : known) + cordoned;
}

const ROLE_PREFIX = "node-role.kubernetes.io/";

function nodeRoles(node: ApiObject): string {
  const labels = childObject(node.metadata, "labels");
  const roles = Object.keys(labels).map((label) => {
    if (label.startsWith(ROLE_PREFIX)) return label.slice(ROLE_PREFIX.length);
    return label === "kubernetes.io/role" ? textOf(labels, label) : "";
  });
  const named = [...new Set(roles.filter((role) => role !== ""))].sort();
  return named.length === 0 ? NONE : named.join(",");
}

function nodeAddress(node: ApiObject, type: string): string {
  const addresses = childList(childObject(node, "status"), "addresses");
  const found = addresses.find((address) => address.type === type);
  return found === undefined ? NONE : textOf(found, "address");
}

const pods: Columns = {
  columns: [
    ...["Name", "Ready", "Status"].map(column),
    count("Restarts"),
    column("Age"),
    ...["IP", "Node", "Nominated Node", "Readiness Gates"].map(wide),
  ],
  cells: (pod, wallMs) => {
    const { ready, status, restarts, ip, readinessGates } = podCells(pod);
    const places = [ip, textAt(pod, "spec.nodeName"), textAt(pod, "status.nominatedNodeName"), readinessGates];
    return [pod.metadata.name, ready, status, restarts, age(pod, wallMs), ...places.map((place) => place || NONE)];
  },
};

const events: Columns = {
  columns: [
    ...["Last Seen", "Type", "Reason", "Object"].map(column),
    ...["Subobject", "Source"].map(wide),
    column("Message"),
    ...["First Seen", "Count", "Name"].map(wide),
  ],
  cells: (event, wallMs) => {
    const { first, last, times } = eventTimes(event, wallMs);
    const regarded = childObject(event, "involvedObject");
    const name = textOf(regarded, "name");
    return [
      last,
      textOf(event, "type"),
      textOf(event, "reason"),
      textOf(regarded, "kind").toLowerCase() + (name === "" ? "" : `/${name}`),
      textOf(regarded, "fieldPath"),
      eventSource(event),
      textOf(event, "message").trim(),
      first,
      times,
      event.metadata.name,
    ];
  },
};

function eventTimes(event: ApiObject, wallMs: number): { first: string; last: string; times: number } {
  const first = ageOf(event.firstTimestamp ?? event.eventTime, wallMs);
  const counted = typeof event.count === "number" && event.count > 0 ? event.count : 1;
  if (!isObject(event.series)) {
    return { first, last: event.lastTimestamp ? ageOf(event.lastTimestamp, wallMs) : first, times: counted };
  }
  // A series counts the repetitions after the first event.
  const { count: more, lastObservedTime } = event.series;
  return { first, last: ageOf(lastObservedTime, wallMs), times: typeof more === "number" ? more + 1 : counted };
}

function eventSource(event: ApiObject): string {
  const source = childObject(event, "source");
  const parts =
    textOf(source, "component") === ""
      ? [textOf(event, "reportingComponent"), textOf(event, "reportingInstance")]
      : [textOf(source, "component"), textOf(source, "host")];
  return parts.filter((part) => part !== "").join(", ");
}

const daemonSets: Columns = {
  columns: [
    column("Name"),
    ...["Desired", "Current", "Ready", "Up-to-date", "Available"].map(count),
    ...["Node Selector", "Age"].map(column),
    ...["Containers", "Images", "Selector"].map(wide),
  ],
  cells: (set, wallMs) => {
    const spec = childObject(set, "spec");
    const podSpec = childObject(childObject(spec, "template"), "spec");
    const containers = childList(podSpec, "containers");
    const status = childObject(set, "status");
    const counts = ["desired", "current"].map((which) => `${which}NumberScheduled`);
    return [
      set.metadata.name,
      ...[...counts, "numberReady", "updatedNumberScheduled", "numberAvailable"].map((field) => status[field] ?? 0),
      pairs(childObject(podSpec, "nodeSelector")),
      age(set, wallMs),
      containers.map((container) => textOf(container, "name")).join(","),
      containers.map((container) => textOf(container, "image")).join(","),
      pairs(childObject(childObject(spec, "selector"), "matchLabels")),
    ];
  },
};

function pairs(labels: JsonObject): string {
  const found = Object.keys(labels).map((label) => `${label}=${textOf(labels, label)}`);
  return found.length === 0 ? NONE : found.sort().join(",");
}

const named = (names: readonly string[], cell: (object: ApiObject) => Json): Columns => ({
  columns: names.map(column),
  cells: (object, wallMs) => [object.metadata.name, cell(object), age(object, wallMs)],
});

/** The columns of each collection. */
export const COLUMNS: Readonly<Record<StorageName, Columns>> = {
  nodes,
  pods,
  events,
  daemonsets: daemonSets,
  leases: named(["Name", "Holder", "Age"], (lease) => textAt(lease, "spec.holderIdentity")),
  namespaces: named(["Name", "Status", "Age"], (namespace) => textAt(namespace, "status.phase")),
  serviceaccounts: named(["Name", "Secrets", "Age"], (account) => childList(account, "secrets").length),
};
