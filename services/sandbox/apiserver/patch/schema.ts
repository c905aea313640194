/** The strategic merge rules of each kind, as far as they differ from plain merging. */
import type { StructuralSchema } from "../custom/structural-schema.ts";

/** How one field merges. Without a rule, objects merge field by field and lists are replaced. */
export interface MergeRule {
  /** The key that matches the objects of a list. */
  readonly mergeKey?: string;
  /** A list of plain values, to which a patch only adds. */
  readonly set?: true;
  /** Rules below this field: of an object's fields, or of a list's items. */
  readonly fields?: MergeRules;
}

/** Rules by field name. */
export interface MergeRules {
  readonly [field: string]: MergeRule;
}

const metadata: MergeRule = {
  fields: { ownerReferences: { mergeKey: "uid" }, finalizers: { set: true } },
};

const container: MergeRules = {
  env: { mergeKey: "name" },
  ports: { mergeKey: "containerPort" },
  volumeMounts: { mergeKey: "mountPath" },
  volumeDevices: { mergeKey: "devicePath" },
};

const podSpec: MergeRules = {
  containers: { mergeKey: "name", fields: container },
  initContainers: { mergeKey: "name", fields: container },
  ephemeralContainers: { mergeKey: "name", fields: container },
  volumes: { mergeKey: "name" },
  imagePullSecrets: { mergeKey: "name" },
  hostAliases: { mergeKey: "ip" },
  topologySpreadConstraints: { mergeKey: "topologyKey" },
};

const conditions: MergeRule = { mergeKey: "type" };
const conditionsAlone: MergeRule = { fields: { conditions } };

const nodeRules: MergeRules = {
  metadata,
  spec: { fields: { podCIDRs: { set: true } } },
  // Upstream merges addresses by type although a node may have two of one type (R9.26).
  status: { fields: { conditions, addresses: { mergeKey: "type" } } },
};

const podRules: MergeRules = {
  metadata,
  spec: { fields: podSpec },
  status: { fields: { conditions, podIPs: { mergeKey: "ip" } } },
};

/** A kind with a template of pods. */
const templateRules: MergeRules = {
  metadata,
  spec: { fields: { template: { fields: { metadata, spec: { fields: podSpec } } } } },
  status: conditionsAlone,
};

const serviceRules: MergeRules = {
  metadata,
  spec: { fields: { ports: { mergeKey: "port" } } },
  status: conditionsAlone,
};

const namespaceRules: MergeRules = { metadata, status: conditionsAlone };

const serviceAccountRules: MergeRules = { metadata, secrets: { mergeKey: "name" } };

const byKind: Readonly<Record<string, MergeRules>> = {
  Node: nodeRules,
  Pod: podRules,
  DaemonSet: templateRules,
  Deployment: templateRules,
  ReplicaSet: templateRules,
  Service: serviceRules,
  PodDisruptionBudget: { metadata, status: conditionsAlone },
  Namespace: namespaceRules,
  ServiceAccount: serviceAccountRules,
};

/** The rules of a built-in kind; by default those of metadata alone. */
export function mergeRulesOf(kind: string): MergeRules {
  return byKind[kind] ?? { metadata };
}

/** The rules by which a custom resource is applied: lists whose schema names keys, or a set, merge. */
export function mergeRulesIn(schema: StructuralSchema): MergeRules {
  return { ...fieldRulesIn(schema), metadata };
}

function fieldRulesIn({ properties = {} }: StructuralSchema): MergeRules {
  return Object.fromEntries(Object.entries(properties).map(([field, inner]) => [field, ruleIn(inner)]));
}

function ruleIn(schema: StructuralSchema): MergeRule {
  const keys = schema["x-kubernetes-list-map-keys"];
  const mergeKey = Array.isArray(keys) && typeof keys[0] === "string" ? { mergeKey: keys[0] } : {};
  const set = schema["x-kubernetes-list-type"] === "set" ? ({ set: true } as const) : {};
  return { ...mergeKey, ...set, fields: fieldRulesIn(schema.items ?? schema) };
}
