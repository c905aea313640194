/**
 * How a strategic merge patch treats each list and map of the built-in kinds. Only what differs from plain merging is
 * written down.
 */

/** How one field merges; a field without an entry merges as JSON does: objects field by field, lists as a whole. */
export interface MergeRule {
  /** A list of objects that are matched by this field. */
  readonly mergeKey?: string;
  /** A list of plain values of which the patch names only additions. */
  readonly set?: true;
  /** Rules beneath this field: of an object's fields, or of the fields of a list's items. */
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

const nodeRules: MergeRules = {
  metadata,
  spec: { fields: { podCIDRs: { set: true } } },
  // Upstream declares addresses mergeable although a node may have two of one type (R9.26).
  status: { fields: { conditions, addresses: { mergeKey: "type" } } },
};

const podRules: MergeRules = {
  metadata,
  spec: { fields: podSpec },
  status: { fields: { conditions, podIPs: { mergeKey: "ip" } } },
};

const daemonSetRules: MergeRules = {
  metadata,
  spec: { fields: { template: { fields: { metadata, spec: { fields: podSpec } } } } },
  status: { fields: { conditions } },
};

const namespaceRules: MergeRules = { metadata, status: { fields: { conditions } } };

const serviceAccountRules: MergeRules = { metadata, secrets: { mergeKey: "name" } };

const byKind: Readonly<Record<string, MergeRules>> = {
  Node: nodeRules,
  Pod: podRules,
  DaemonSet: daemonSetRules,
  Namespace: namespaceRules,
  ServiceAccount: serviceAccountRules,
};

/** The rules of a kind; kinds without lists that merge have those of metadata alone. */
export function mergeRulesOf(kind: string): MergeRules {
  return byKind[kind] ?? { metadata };
}
