/** The words Kubernetes fixed: taint keys, labels, condition types, reasons and messages. No behaviour lives here. */

/** Keys of the taints this controller reads or writes. Source: k8s.io/api/core/v1/well_known_taints.go. */
export const TaintKey = {
  notReady: "node.kubernetes.io/not-ready",
  unreachable: "node.kubernetes.io/unreachable",
  unschedulable: "node.kubernetes.io/unschedulable",
  memoryPressure: "node.kubernetes.io/memory-pressure",
  diskPressure: "node.kubernetes.io/disk-pressure",
  pidPressure: "node.kubernetes.io/pid-pressure",
  networkUnavailable: "node.kubernetes.io/network-unavailable",
  cloudUninitialized: "node.cloudprovider.kubernetes.io/uninitialized",
} as const;

/** What a taint does to pods that do not tolerate it. */
export const TaintEffect = {
  noSchedule: "NoSchedule",
  preferNoSchedule: "PreferNoSchedule",
  noExecute: "NoExecute",
} as const;

/** The seven keys whose NoSchedule taints follow a node's conditions (R4.19). */
export const CONDITION_TAINT_KEYS: readonly string[] = [
  TaintKey.unschedulable,
  TaintKey.notReady,
  TaintKey.unreachable,
  TaintKey.networkUnavailable,
  TaintKey.memoryPressure,
  TaintKey.diskPressure,
  TaintKey.pidPressure,
];

/** Labels that decide a node's zone, its disruption exclusion, or that are reconciled (R2.1, R2.2, 2.7, R4.27). */
export const Label = {
  zone: "topology.kubernetes.io/zone",
  zoneBeta: "failure-domain.beta.kubernetes.io/zone",
  region: "topology.kubernetes.io/region",
  regionBeta: "failure-domain.beta.kubernetes.io/region",
  instanceType: "node.kubernetes.io/instance-type",
  instanceTypeBeta: "beta.kubernetes.io/instance-type",
  os: "kubernetes.io/os",
  osBeta: "beta.kubernetes.io/os",
  arch: "kubernetes.io/arch",
  archBeta: "beta.kubernetes.io/arch",
  hostname: "kubernetes.io/hostname",
  excludeDisruption: "node.kubernetes.io/exclude-disruption",
} as const;

/**
 * Labels that old and new clients read under two names: the first is the truth, the second is made to follow (R4.27).
 */
export const FOLLOWING_LABELS: readonly (readonly [string, string])[] = [
  [Label.os, Label.osBeta],
  [Label.arch, Label.archBeta],
];

/** Annotations of our own. */
export const Annotation = {
  /**
   * On a node: JSON that says from when each NoExecute taint counts whose `timeAdded` is missing, was wrong when the
   * taint appeared, or was changed afterwards. Countdowns rest on it.
   */
  taintsSeen: "vigil.v1/taints-seen",
  /**
   * On a node: JSON about our two NoExecute taints, not-ready and unreachable, taking each other's place: when the
   * present one came, with which of the two the line began, and when each of them first stood in it.
   */
  taintSwap: "vigil.v1/taint-swap",
} as const;

/** The labels the observer keeps of a node; every other label is dropped while parsing. */
export const OBSERVED_LABELS: readonly string[] = [
  Label.zone,
  Label.zoneBeta,
  Label.region,
  Label.regionBeta,
  Label.os,
  Label.osBeta,
  Label.arch,
  Label.archBeta,
  Label.excludeDisruption,
];

/** Node condition types. */
export const ConditionType = {
  ready: "Ready",
  memoryPressure: "MemoryPressure",
  diskPressure: "DiskPressure",
  pidPressure: "PIDPressure",
  networkUnavailable: "NetworkUnavailable",
} as const;

/** The conditions forced to Unknown on a silent node, in the order upstream forces them (section 2.8, step F). */
export const FORCED_CONDITIONS: readonly string[] = [
  ConditionType.ready,
  ConditionType.memoryPressure,
  ConditionType.diskPressure,
  ConditionType.pidPressure,
];

/**
 * Reason and message of a forced condition that a kubelet once posted, and of one it never posted (section 2.8, step
 * F).
 */
export const SilentReason = {
  stopped: { reason: "NodeStatusUnknown", message: "Kubelet stopped posting node status." },
  never: { reason: "NodeStatusNeverUpdated", message: "Kubelet never posted node status." },
} as const;

/** Where node leases live; a lease has its node's name. */
export const LEASE_NAMESPACE = "kube-node-lease";

/** Component names under which upstream emits Events; kept because dashboards select on them (section 12). */
export const EventSource = {
  node: "node-controller",
  taint: "taint-eviction-controller",
  kubelet: "kubelet",
} as const;
