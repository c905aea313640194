/** The strategic merge rules of the built-in kinds, as far as they differ from plain merging. */

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

/** The rules of a kind; by default those of metadata alone. */
export function mergeRulesOf(kind: string): MergeRules {
  return byKind[kind] ?? { metadata };
}
