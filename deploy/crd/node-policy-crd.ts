/** The CustomResourceDefinition of NodePolicy, made from the schema by which Vigil itself checks a policy. */
import { stringify } from "yaml";
import { z } from "zod";
import { POLICY_NAME_MAX } from "../../protocols/judged.ts";
import { NODE_POLICY_API, nodePolicySpecSchema } from "../../protocols/node-policy.ts";
import { NODE_POLICY_MEANINGS } from "./node-policy-meanings.ts";

type Schema = Readonly<Record<string, unknown>>;

const HEADER = `# The custom resource of node policies (docs/policies.md). Written by \`npm run fix\` from protocols/node-policy.ts; do not
# edit.
`;

/** Fields of JSON Schema that a structural schema has no place for; Vigil checks them itself. */
const UNSTRUCTURAL: ReadonlySet<string> = new Set(["$schema", "additionalProperties", "propertyNames"]);

const CONDITION: Schema = {
  type: "object",
  required: ["type", "status", "reason", "message", "lastTransitionTime"],
  properties: {
    type: { type: "string" },
    status: { type: "string", enum: ["True", "False", "Unknown"] },
    reason: { type: "string" },
    message: { type: "string" },
    observedGeneration: { type: "integer", format: "int64" },
    lastTransitionTime: { type: "string", format: "date-time" },
  },
};

const STATUS: Schema = {
  type: "object",
  description: "What Vigil found; written by Vigil alone.",
  properties: {
    observedGeneration: { type: "integer", format: "int64", description: "The generation that this status is about." },
    nodes: { type: "integer", description: "The nodes that have this policy." },
    unhealthy: { type: "integer", description: "Those of them whose Ready condition is not True." },
    condemned: { type: "integer", description: "Those that count against the limits now. Absent without limits." },
    recentlyCondemned: { type: "integer", description: "Those condemned within the duration of the breaker." },
    breaker: { type: "string", enum: ["Open", "Closed"], description: "The state of circuitBreaker." },
    breakerResetTime: { type: "string", format: "date-time", description: "When an open breaker resets by itself." },
    budgetLeft: { type: "integer", description: "How many more nodes the budgets in force allow." },
    frozenBy: { type: "string", description: "Who freezes the nodes now; absent while they are not frozen." },
    frozenUntil: { type: "string", format: "date-time", description: "When the freeze ends by itself." },
    conditions: {
      type: "array",
      description: "Ready, FieldsAccepted, SelectorConflict, RemediationsReady; others while they matter.",
      items: CONDITION,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
    },
  },
};

/** A chart that goes leaves the definition, because all policies would go with it. */
const KEPT: Schema = { "helm.sh/resource-policy": "keep" };

/** The priority of columns that `kubectl get -o wide` alone shows. */
const WIDE = 1;

const COLUMNS = [
  { name: "Mode", type: "string", jsonPath: ".spec.mode" },
  { name: "Nodes", type: "integer", jsonPath: ".status.nodes" },
  { name: "Unhealthy", type: "integer", jsonPath: ".status.unhealthy" },
  { name: "Breaker", type: "string", jsonPath: ".status.breaker" },
  { name: "Budget left", type: "integer", jsonPath: ".status.budgetLeft" },
  { name: "Frozen by", type: "string", jsonPath: ".status.frozenBy" },
  { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ...[
    { name: "Counted", type: "integer", jsonPath: ".status.condemned" },
    { name: "Breaker until", type: "string", jsonPath: ".status.breakerResetTime" },
    { name: "Frozen until", type: "string", jsonPath: ".status.frozenUntil" },
    { name: "Message", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].message' },
  ].map((column) => ({ ...column, priority: WIDE })),
];

/** deploy/crd/nodepolicies.yaml. */
export function nodePolicyDefinitionText(): string {
  return HEADER + stringify(nodePolicyDefinition(), { lineWidth: 120, aliasDuplicateObjects: false });
}

/** The definition as an object of the API, which the playground serves too. */
export function nodePolicyDefinition(): Schema {
  const { group, version, kind, plural } = NODE_POLICY_API;
  const spec = described(structural(z.toJSONSchema(nodePolicySpecSchema, { io: "input" }) as Schema), "");
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, annotations: KEPT },
    spec: {
      group,
      scope: "Cluster",
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames: ["npol"],
        categories: ["vigil"],
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: COLUMNS,
          schema: {
            openAPIV3Schema: {
              type: "object",
              description:
                "How Vigil judges and evicts the nodes that a selector chooses. An unset field means upstream's behaviour.",
              required: ["spec"],
              properties: {
                apiVersion: { type: "string" },
                kind: { type: "string" },
                metadata: { type: "object", properties: { name: { type: "string", maxLength: POLICY_NAME_MAX } } },
                spec: { description: "The nodes, and what holds for them.", ...spec },
                status: STATUS,
              },
            },
          },
        },
      ],
    },
  };
}

/** A JSON Schema as a structural schema of the API. */
function structural(schema: Schema): Schema {
  if (Array.isArray(schema.anyOf) && schema.type === undefined) return intOrString(schema.anyOf as readonly Schema[]);
  const kept = Object.entries(schema).filter(([field]) => !UNSTRUCTURAL.has(field));
  const fields = kept.map(
    ([field, value]) => [field, field === "items" ? structural(value as Schema) : value] as const,
  );
  const { properties, ...rest } = Object.fromEntries(fields);
  const { additionalProperties } = schema;
  return {
    ...rest,
    ...(properties === undefined ? {} : { properties: structuralProperties(properties as Record<string, Schema>) }),
    ...(typeof additionalProperties === "object" ? { additionalProperties } : {}),
  };
}

function structuralProperties(properties: Readonly<Record<string, Schema>>): Schema {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, structural(schema)]));
}

/** A structural schema in which each field says what it means; `path` is that of the schema itself. */
function described(schema: Schema, path: string): Schema {
  const { properties, items } = schema as { properties?: Record<string, Schema>; items?: Schema };
  const meaning = NODE_POLICY_MEANINGS[path];
  const fields = Object.entries(properties ?? {}).map(
    ([name, field]) => [name, described(field, path === "" ? name : `${path}.${name}`)] as const,
  );
  return {
    ...(meaning === undefined ? {} : { description: meaning }),
    ...schema,
    ...(properties === undefined ? {} : { properties: Object.fromEntries(fields) }),
    ...(items === undefined ? {} : { items: described(items, `${path}[]`) }),
  };
}

function intOrString(choices: readonly Schema[]): Schema {
  const [number, text] = ["integer", "string"].map((type) => choices.find((choice) => choice.type === type) ?? {});
  return {
    "x-kubernetes-int-or-string": true,
    anyOf: [{ type: "integer" }, { type: "string" }],
    minimum: number?.minimum,
    maximum: number?.maximum,
    pattern: text?.pattern,
  };
}
