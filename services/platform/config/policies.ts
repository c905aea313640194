/** Parses the node policies of a configuration file: a list of `{name, spec}`, or of complete NodePolicy objects. */
import { NODE_POLICY_API } from "../../../protocols/node-policy.ts";
import { type ConfiguredPolicy, checkSpec } from "../../domain/node-policy.parse.ts";
import { ConfigProblem } from "./value.ts";

/** A DNS subdomain, as the name of an object of the API, of at most POLICY_NAME_MAX characters. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/;
const EXAMPLE = "{name: gpu, spec: {selector: {matchLabels: {pool: gpu}}}}";

/** Whether a policy in force can have this name. */
export function isPolicyName(name: string): boolean {
  return NAME.test(name);
}

/** Checks the policies; `where` names the field in problems. Throws a ConfigProblem on the first problem. */
export function configuredPolicies(list: unknown, where: string): readonly ConfiguredPolicy[] {
  if (!Array.isArray(list)) throw new ConfigProblem(`${where}: not a list; write entries such as ${EXAMPLE}`);
  const policies = list.map((entry, index) => configuredPolicy(entry, `${where}[${index}]`));
  const names = policies.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new ConfigProblem(`${where}: ${twice}: the name is used twice; give each policy its own`);
  return policies;
}

function configuredPolicy(entry: unknown, where: string): ConfiguredPolicy {
  if (!isRecord(entry)) throw new ConfigProblem(`${where}: write ${EXAMPLE}`);
  const { name, spec: raw, ...others } = "kind" in entry ? nameAndSpecOf(entry, where) : entry;
  const [other] = Object.keys(others);
  if (other !== undefined) throw new ConfigProblem(`${where}.${other}: no such field: write ${EXAMPLE}`);
  if (typeof name !== "string" || !isPolicyName(name)) {
    throw new ConfigProblem(`${where}.name: ${JSON.stringify(name)}: write a name such as gpu`);
  }
  const { spec, problems } = checkSpec(raw);
  const [problem] = problems;
  if (spec === null || problem !== undefined) throw new ConfigProblem(`${where} (${name}): ${problem}`);
  return { name, spec };
}

/** The part of an object that counts: one copied from a cluster has a status, and metadata of the API server. */
function nameAndSpecOf(
  { apiVersion, kind, metadata, ...parts }: Record<string, unknown>,
  where: string,
): Record<string, unknown> {
  const expected = { apiVersion: `${NODE_POLICY_API.group}/${NODE_POLICY_API.version}`, kind: NODE_POLICY_API.kind };
  for (const [field, value] of Object.entries({ apiVersion, kind })) {
    const wanted = expected[field as keyof typeof expected];
    if (value !== wanted) throw new ConfigProblem(`${where}.${field}: ${JSON.stringify(value)}: must be ${wanted}`);
  }
  const rest = Object.entries(parts).filter(([field]) => field !== "status");
  return { name: isRecord(metadata) ? metadata.name : undefined, ...Object.fromEntries(rest) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
