/** Parses a configuration file strictly: an unknown field or a value of the wrong type is an error that names it. */
import { type Document, parseDocument } from "yaml";
import type { ConfiguredPolicy } from "../../domain/node-policy.parse.ts";
import { nearest } from "../../domain/suggest.ts";
import { configuredPolicies } from "./policies.ts";
import { ConfigProblem, exampleOf, readValue, type Setting, type SettingTable, type SettingValue } from "./value.ts";

/** The field name of a flag: `node-monitor-grace-period` becomes `nodeMonitorGracePeriod`. */
export function fieldOf(flag: string): string {
  return flag.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** The content of a configuration file. */
export interface ConfigFile {
  readonly values: ReadonlyMap<string, SettingValue>;
  readonly policies: readonly ConfiguredPolicy[];
}

/** The field of a configuration file that is no flag: node policies. */
const POLICIES_FIELD = "policies";

/** Parses YAML or JSON; `file` names the file in problems. Throws a ConfigProblem. */
export function parseConfigFile(file: string, text: string, table: SettingTable): ConfigFile {
  const document = parseDocument(text);
  const fault = document.errors[0];
  if (fault !== undefined)
    throw new ConfigProblem(`${file}: not YAML: ${fault.message.split("\n")[0]?.replace(/:$/, "")}`);
  const content = contentOf(file, document);
  if (content === null) return { values: new Map(), policies: [] };
  if (typeof content !== "object" || Array.isArray(content)) {
    throw new ConfigProblem(`${file}: must hold fields, such as shadow: true`);
  }
  const byField = new Map(Object.entries(table).map(([name, setting]) => [fieldOf(setting.flag), { name, setting }]));
  const { [POLICIES_FIELD]: policies = [], ...settings } = content as Record<string, unknown>;
  const values = new Map(
    Object.entries(settings).map(([field, value]) => {
      const known = byField.get(field);
      if (known === undefined) throw unknownField(`${file}: ${field}`, field, [...byField.keys(), POLICIES_FIELD]);
      const where = `${file}: ${field}: ${JSON.stringify(value)}`;
      return [known.name, readValue(known.setting, textOf(known.setting, value, where), where)];
    }),
  );
  return { values, policies: configuredPolicies(policies, `${file}: ${POLICIES_FIELD}`) };
}

/** An alias without an anchor, as which YAML reads an unquoted text that begins with a star, fails only here. */
function contentOf(file: string, document: Document): unknown {
  try {
    const content: unknown = document.toJS();
    // Problems quote values as JSON, which has no form for an anchor that contains itself.
    JSON.stringify(content);
    return content;
  } catch (error) {
    const fault = error instanceof Error ? error.message.split("\n")[0] : String(error);
    throw new ConfigProblem(`${file}: ${fault}; quote a text that begins with *`);
  }
}

function unknownField(where: string, field: string, fields: readonly string[]): ConfigProblem {
  const meant = nearest(field, fields);
  return new ConfigProblem(`${where}: no such field${meant === null ? "" : `; did you mean ${meant}?`}`);
}

function textOf(setting: Setting, value: unknown, where: string): string {
  const { unit } = setting;
  if (unit === "list" && Array.isArray(value) && value.every((item) => typeof item === "string"))
    return value.join(",");
  if (unit === "switch" && typeof value === "boolean") return String(value);
  if (isNumeric(setting) && typeof value === "number") return String(value);
  if (!isNumeric(setting) && unit !== "switch" && unit !== "list" && typeof value === "string") return value;
  throw new ConfigProblem(`${where}: not a ${TYPES[unit]}; write it as ${written(setting)}`);
}

const TYPES: Readonly<Record<Setting["unit"], string>> = {
  duration: "duration",
  perSecond: "number",
  fraction: "number",
  count: "number",
  switch: "switch",
  choice: "text",
  text: "text",
  list: "list of texts",
};

function isNumeric({ unit }: Setting): boolean {
  return unit === "perSecond" || unit === "fraction" || unit === "count";
}

function written(setting: Setting): string {
  const example = exampleOf(setting);
  if (setting.unit === "list") return `[${example}]`;
  return setting.unit === "text" ? JSON.stringify(example) : example;
}
