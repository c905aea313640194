/** The columns of kubectl's tables by kind, those of custom resources, and the cells of one object. */

import { parseJsonPath } from "../../../structures/json-path.ts";
import { type ApiObject, childList, childObject, isObject, type Json, textAt, textOf } from "../api-objects.ts";
import type { BuiltInStorage, PrinterColumn, Resource } from "../resources.ts";
import { age, ageOf, type Columns, column, count, NONE, UNKNOWN, wide } from "./column.ts";
import { podCells } from "./pod-columns.ts";
import { daemonSets, deployments, disruptionBudgets, replicaSets, services } from "./workload-columns.ts";

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

function sizeOf(entries: Json | undefined): number {
  return isObject(entries) ? Object.keys(entries).length : 0;
}

const named = (names: readonly string[], cell: (object: ApiObject) => Json): Columns => ({
  columns: names.map(column),
  cells: (object, wallMs) => [object.metadata.name, cell(object), age(object, wallMs)],
});

/** The columns of each built-in collection. */
export const COLUMNS: Readonly<Record<BuiltInStorage, Columns>> = {
  configmaps: named(["Name", "Data", "Age"], (map) => sizeOf(map.data) + sizeOf(map.binaryData)),
  customresourcedefinitions: {
    columns: ["Name", "Created At"].map(column),
    cells: ({ metadata }) => [metadata.name, metadata.creationTimestamp ?? UNKNOWN],
  },
  nodes,
  pods,
  events,
  daemonsets: daemonSets,
  deployments,
  poddisruptionbudgets: disruptionBudgets,
  replicasets: replicaSets,
  services,
  leases: named(["Name", "Holder", "Age"], (lease) => textAt(lease, "spec.holderIdentity")),
  namespaces: named(["Name", "Status", "Age"], (namespace) => textAt(namespace, "status.phase")),
  serviceaccounts: named(["Name", "Secrets", "Age"], (account) => childList(account, "secrets").length),
};

/** The columns of a resource. */
export function columnsOf({ storage, custom }: Resource): Columns {
  return custom === null ? COLUMNS[storage as BuiltInStorage] : printerColumns(custom.columns);
}

/** The columns of a custom resource: the name, then those of its definition. */
function printerColumns(columns: readonly PrinterColumn[]): Columns {
  return {
    columns: [{ name: "Name", type: "string", priority: 0 }, ...columns],
    cells: (object, wallMs) => [object.metadata.name, ...columns.map((column) => cellOf(object, column, wallMs))],
  };
}

/** The first value at a column's path, as its type is shown; null without one, or with one of another type. */
function cellOf(object: ApiObject, { type, jsonPath }: PrinterColumn, wallMs: number): Json {
  const [value] = (parseJsonPath(jsonPath)?.([object]) ?? []) as readonly Json[];
  if (value === undefined) return null;
  switch (type) {
    case "string":
      return textOfCell(value);
    case "date":
      return typeof value === "string" ? ageOf(value, wallMs) : null;
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    default:
      return typeof value === "boolean" ? value : null;
  }
}

function textOfCell(value: Json): string {
  return Array.isArray(value) || isObject(value) ? JSON.stringify(value) : String(value ?? "");
}
