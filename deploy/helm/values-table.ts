/** Generates the names of settings in the chart's schema, and the table of values in its README. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parse } from "yaml";
import { runVerb } from "../../services/cli/verbs/run.ts";

const CHART = join(import.meta.dirname, "vigil");
const OPENS = "<!-- values: written by npm run fix -->";
const CLOSES = "<!-- end of values -->";

/** Flags of `vigil run` that the chart sets by other values, or that have no use in a pod. */
const NOT_SETTINGS: ReadonlySet<string> = new Set([
  "services",
  "nats",
  "nats-nkey",
  "nats-history-nkey",
  "member",
  "listen",
  "shadow",
  "upstream",
  "listen-authentication",
  "listen-tls-cert",
  "listen-tls-key",
  "leader-elect",
  "leader-elect-resource-name",
  "leader-elect-resource-namespace",
  "kubeconfig",
  "context",
  "config",
  "print-config",
]);

/** What is read of a JSON schema. */
interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** A value of the chart: its path, such as `image.tag`, and its default as JSON. */
export interface ChartValue {
  readonly path: string;
  readonly description: string;
  readonly standard: string;
}

/** Every value that has a description or a default, in the order of the schema. */
export function chartValues(): ChartValue[] {
  const schema: Schema = JSON.parse(readFileSync(join(CHART, "values.schema.json"), "utf8"));
  return valuesOf(schema, parse(readFileSync(join(CHART, "values.yaml"), "utf8")), "");
}

/** The schema of the values, in which `settings` has the flags of `vigil run` and no other. */
export function withSettingNames(text: string): string {
  const schema = JSON.parse(text);
  const flags = runVerb.sections.flatMap(({ settings }) => Object.values(settings).map(({ flag }) => flag));
  const names = [...flags, ...runVerb.aliases.keys()].filter((flag) => !NOT_SETTINGS.has(flag));
  const propertyNames = { enum: [...new Set(names)].toSorted() };
  if (isDeepStrictEqual(schema.properties.settings.propertyNames, propertyNames)) return text;
  schema.properties.settings.propertyNames = propertyNames;
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/** Replaces the table between the two markers of a page. Throws an Error when a marker is missing. */
export function withValuesTable(page: string): string {
  const from = page.indexOf(OPENS);
  const to = page.indexOf(CLOSES);
  if (from < 0 || to < from) throw new Error(`the page needs ${OPENS} and, after it, ${CLOSES}`);
  const rows = chartValues().map(
    ({ path, description, standard }) => `| \`${path}\` | \`${standard}\` | ${description} |`,
  );
  const table = ["| value | default | meaning |", "|---|---|---|", ...rows].join("\n");
  return `${page.slice(0, from + OPENS.length)}\n\n${table}\n\n${page.slice(to)}`;
}

/** Throws an Error for a default that the schema does not name, and for a value without a description. */
function valuesOf({ description, properties }: Schema, standard: unknown, path: string): ChartValue[] {
  if (properties === undefined) {
    if (description === undefined) throw new Error(`values.schema.json: ${path} has no description`);
    return [{ path, description, standard: JSON.stringify(standard) }];
  }
  const standards = standard as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(standards).find((name) => !Object.hasOwn(properties, name));
  if (unknown !== undefined) throw new Error(`values.schema.json has no ${path}${unknown}`);
  return Object.entries(properties)
    .filter(([name]) => name !== "global")
    .flatMap(([name, inner]) => valuesOf(inner, standards[name], path === "" ? name : `${path}.${name}`));
}
