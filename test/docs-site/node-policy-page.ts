/** Writes docs/reference/node-policy.md from the definition in deploy/crd/nodepolicies.yaml. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { BOUNDS, explainedFields, type JsonSchema, NOTATION } from "./schema-table.ts";

const DEFINITION = join(import.meta.dirname, "../../deploy/crd/nodepolicies.yaml");

interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string; readonly plural: string; readonly shortNames: readonly string[] };
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: JsonSchema };
    }[];
  };
}

/** The page with every field of spec and status. */
export function nodePolicyPage(): string {
  const { group, names, versions }: Definition["spec"] = (parse(readFileSync(DEFINITION, "utf8")) as Definition).spec;
  const [version] = versions;
  const { spec = {}, status = {} } = version?.schema.openAPIV3Schema.properties ?? {};
  return `# Fields of a NodePolicy

<!-- Written by \`npm run fix\` from deploy/crd/nodepolicies.yaml; do not edit. -->

[Node policies](../policies.md) has rules and examples. \`kubectl explain nodepolicy.spec\` prints the same meanings.

\`apiVersion: ${group}/${version?.name}\`, \`kind: ${names.kind}\`, of the whole cluster;
\`kubectl get ${names.plural}\` or \`kubectl get ${names.shortNames.join("`, `kubectl get ")}\`.
${NOTATION} ${BOUNDS}

## spec

${explainedFields(spec)}

## status

Written by Vigil alone.

${explainedFields(status)}
`;
}
