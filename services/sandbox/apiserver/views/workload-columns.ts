/** The columns of the kinds that run, expose and protect pods. */
import { type ApiObject, childList, childObject, type Json, type JsonObject, textOf } from "../api-objects.ts";
import { age, type Columns, column, count, NONE, wide } from "./column.ts";

/** DaemonSets. */
export const daemonSets: Columns = {
  columns: [
    column("Name"),
    ...["Desired", "Current", "Ready", "Up-to-date", "Available"].map(count),
    ...["Node Selector", "Age"].map(column),
    ...["Containers", "Images", "Selector"].map(wide),
  ],
  cells: (set, wallMs) => {
    const podSpec = childObject(childObject(childObject(set, "spec"), "template"), "spec");
    const status = childObject(set, "status");
    const counts = ["desired", "current"].map((which) => `${which}NumberScheduled`);
    return [
      set.metadata.name,
      ...[...counts, "numberReady", "updatedNumberScheduled", "numberAvailable"].map((field) => status[field] ?? 0),
      pairs(childObject(podSpec, "nodeSelector")),
      age(set, wallMs),
      ...templateCells(set),
    ];
  },
};

function pairs(labels: JsonObject): string {
  const found = Object.keys(labels).map((label) => `${label}=${textOf(labels, label)}`);
  return found.length === 0 ? NONE : found.sort().join(",");
}

/** Containers, images and selector of a kind with a template of pods. */
function templateCells(object: ApiObject): string[] {
  const spec = childObject(object, "spec");
  const containers = childList(childObject(childObject(spec, "template"), "spec"), "containers");
  return [
    containers.map((container) => textOf(container, "name")).join(","),
    containers.map((container) => textOf(container, "image")).join(","),
    pairs(childObject(childObject(spec, "selector"), "matchLabels")),
  ];
}

const TEMPLATE_COLUMNS = ["Containers", "Images", "Selector"].map(wide);

/** Deployments. */
export const deployments: Columns = {
  columns: [
    column("Name"),
    column("Ready"),
    ...["Up-to-date", "Available"].map(count),
    column("Age"),
    ...TEMPLATE_COLUMNS,
  ],
  cells: (deployment, wallMs) => {
    const status = childObject(deployment, "status");
    const of = (field: string): number => Number(status[field] ?? 0);
    const wanted = Number(childObject(deployment, "spec").replicas ?? 0);
    const counts = [`${of("readyReplicas")}/${wanted}`, of("updatedReplicas"), of("availableReplicas")];
    return [deployment.metadata.name, ...counts, age(deployment, wallMs), ...templateCells(deployment)];
  },
};

/** ReplicaSets. */
export const replicaSets: Columns = {
  columns: [column("Name"), ...["Desired", "Current", "Ready"].map(count), column("Age"), ...TEMPLATE_COLUMNS],
  cells: (set, wallMs) => {
    const { replicas = 0, readyReplicas = 0 } = childObject(set, "status");
    const desired = childObject(set, "spec").replicas ?? 0;
    return [set.metadata.name, desired, replicas, readyReplicas, age(set, wallMs), ...templateCells(set)];
  },
};

/** PodDisruptionBudgets. */
export const disruptionBudgets: Columns = {
  columns: [...["Name", "Min Available", "Max Unavailable"].map(column), count("Allowed Disruptions"), column("Age")],
  cells: (budget, wallMs) => {
    const { minAvailable = "N/A", maxUnavailable = "N/A" } = childObject(budget, "spec");
    const allowed = childObject(budget, "status").disruptionsAllowed ?? 0;
    return [
      budget.metadata.name,
      String(minAvailable as string),
      String(maxUnavailable as string),
      allowed,
      age(budget, wallMs),
    ];
  },
};

/** Services. */
export const services: Columns = {
  columns: [...["Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age"].map(column), wide("Selector")],
  cells: (service, wallMs): Json[] => {
    const spec = childObject(service, "spec");
    const ports = childList(spec, "ports").map(
      ({ port = 0, protocol = "TCP" }) => `${Number(port)}/${String(protocol as string)}`,
    );
    const external = textOf(spec, "externalName") || NONE;
    const address = textOf(spec, "clusterIP") || NONE;
    const shown = [textOf(spec, "type"), address, external, ports.join(",") || NONE, age(service, wallMs)];
    return [service.metadata.name, ...shown, pairs(childObject(spec, "selector"))];
  },
};
