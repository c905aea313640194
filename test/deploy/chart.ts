/** The Helm chart as helm renders it, and its objects in a form that compares with those of kustomize. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { helm } from "../support/helm.ts";
import { Manifests } from "./manifests.ts";

/** The chart's folder. */
export const CHART = join(import.meta.dirname, "../../deploy/helm/vigil");

/** Labels of every object of a chart; kustomize sets none. */
const CHART_LABELS = [
  "app.kubernetes.io/managed-by",
  "app.kubernetes.io/instance",
  "app.kubernetes.io/version",
  "helm.sh/chart",
];
/** kustomize names a ConfigMap after its content; the chart's pods have an annotation instead. */
const CONFIG_NAME = /\bnats-config-[a-z0-9]{10}\b/g;
const CONFIG_ANNOTATION = "checksum/nats-config";

/** Renders the chart with values as a user installs it. Rejects with helm's message. */
export function renderChart(values: object, ...flags: string[]): Promise<Manifests> {
  return renderChartAt(CHART, values, ...flags);
}

/** Renders a chart in a folder or in an archive. */
export async function renderChartAt(chart: string, values: object, ...flags: string[]): Promise<Manifests> {
  const folder = mkdtempSync(join(tmpdir(), "vigil-chart-"));
  const file = join(folder, "values.json");
  writeFileSync(file, JSON.stringify(values));
  try {
    return new Manifests(
      await helm("template", "vigil", chart, "--namespace=vigil-system", "--values", file, ...flags),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface Comparable {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** The objects of a rendering by kind, namespace and name, without what only helm or only kustomize adds. */
export function objectsOf({ text }: Manifests): Record<string, unknown> {
  const documents = parseAllDocuments(text.replaceAll(CONFIG_NAME, "nats-config"));
  const objects = documents.map((document) => document.toJS() as Comparable | null).filter((object) => object !== null);
  return Object.fromEntries(
    objects.map((object) => [
      `${object.kind} ${object.metadata.namespace ?? ""}/${object.metadata.name}`,
      JSON.parse(JSON.stringify(object), (key, value) => {
        if (isAdded(key) || isEmptyMap(key, value)) return undefined;
        return key === "rules" && object.kind.endsWith("Role") ? inOneOrder(value as unknown[]) : value;
      }),
    ]),
  );
}

/** The rules of a role, whose order means nothing. */
function inOneOrder(rules: readonly unknown[]): unknown[] {
  return rules.toSorted((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other)));
}

function isAdded(key: string): boolean {
  return CHART_LABELS.includes(key) || key === CONFIG_ANNOTATION;
}

/** Labels and annotations of which nothing is left. */
function isEmptyMap(key: string, value: unknown): boolean {
  return (key === "labels" || key === "annotations") && Object.keys(value as object).length === 0;
}
