/** All that `kubectl explain` says about built-in kinds. */
import { CLUSTER_KINDS } from "./cluster-fields.ts";
import type { Definitions } from "./field.ts";
import { SHARED } from "./metadata-fields.ts";
import { NODES_AND_LEASES } from "./node-fields.ts";
import { BUDGETS, PODS } from "./pod-fields.ts";
import { STORED_KINDS, WORKLOADS } from "./workload-fields.ts";

/** Every definition by name: the kinds, and what they are made of. */
export const DEFINITIONS: Definitions = {
  ...SHARED,
  ...NODES_AND_LEASES,
  ...PODS,
  ...BUDGETS,
  ...WORKLOADS,
  ...STORED_KINDS,
  ...CLUSTER_KINDS,
};
