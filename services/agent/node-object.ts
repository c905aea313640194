/** The parts of a Node object that an agent reads and writes, as the API spells them. Other fields pass unchanged. */

import type { Taint } from "../../protocols/objects.ts";
import type { KubeObject } from "../../protocols/ports.ts";
import type { NodeStatusFields } from "../platform/kube/write/sent-bodies.ts";

/** One entry of status.conditions. */
export type NodeCondition = {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastHeartbeatTime?: string | null;
  readonly lastTransitionTime?: string | null;
};

/** One entry of status.addresses: `InternalIP`, `ExternalIP`, `Hostname`, … */
export type NodeAddress = { readonly type: string; readonly address: string };

/** Quantities by resource name, as text: `cpu: "2"`, `memory: "4Gi"`. */
export type ResourceList = { readonly [resource: string]: string };

/** The status of a node. */
export type NodeStatus = {
  readonly capacity?: ResourceList;
  readonly allocatable?: ResourceList;
  readonly conditions?: readonly NodeCondition[];
  readonly addresses?: readonly NodeAddress[];
  readonly nodeInfo?: { readonly [field: string]: unknown };
  readonly [field: string]: unknown;
};

/** The spec of a node, as far as a kubelet uses it. */
export type NodeSpec = {
  readonly unschedulable?: boolean;
  readonly taints?: readonly Taint[];
  readonly providerID?: string;
  readonly podCIDRs?: readonly string[];
  readonly [field: string]: unknown;
};

/** A Node object. */
export type NodeObject = {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly labels?: { readonly [key: string]: string };
    readonly annotations?: { readonly [key: string]: string };
    readonly [field: string]: unknown;
  };
  readonly spec?: NodeSpec;
  readonly status?: NodeStatus;
};

/** The same API object with its node fields named. */
export function asNode(object: KubeObject): NodeObject {
  return object as NodeObject;
}

/** The condition of a type; undefined if the node has none. */
export function conditionOf(node: NodeObject, type: string): NodeCondition | undefined {
  return node.status?.conditions?.find((condition) => condition.type === type);
}

/** The node with this condition, in place of the one of its type or appended. */
export function withCondition(node: NodeObject, condition: NodeCondition): NodeObject {
  const conditions = node.status?.conditions ?? [];
  const known = conditions.some(({ type }) => type === condition.type);
  const changed = known
    ? conditions.map((present) => (present.type === condition.type ? condition : present))
    : [...conditions, condition];
  return withStatus(node, { conditions: changed });
}

/** The node with these status fields; undefined removes a field. */
export function withStatus(node: NodeObject, fields: NodeStatusFields): NodeObject {
  return { ...node, status: present({ ...node.status, ...fields }) };
}

/** The node with these labels and annotations; null removes an annotation. */
export function withMetadata(
  node: NodeObject,
  changes: {
    readonly labels?: { readonly [key: string]: string };
    readonly annotations?: { readonly [key: string]: string | null };
  },
): NodeObject {
  const labels = { ...node.metadata.labels, ...changes.labels };
  const annotations = Object.fromEntries(
    Object.entries({ ...node.metadata.annotations, ...changes.annotations }).filter(
      (entry): entry is [string, string] => entry[1] !== null,
    ),
  );
  const { labels: _labels, annotations: _annotations, ...rest } = node.metadata;
  return {
    ...node,
    metadata: {
      ...rest,
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
  };
}

function present(fields: { readonly [field: string]: unknown }): NodeStatus {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
