/** Names that Kubernetes fixes: taint keys, labels, condition types, reasons and messages. */

/** Keys of the taints that this controller reads or writes. Source: k8s.io/api/core/v1/well_known_taints.go. */
export const TaintKey = {
  notReady: "node.kubernetes.io/not-ready",
  unreachable: "node.kubernetes.io/unreachable",
  unschedulable: "node.kubernetes.io/unschedulable",
  memoryPressure: "node.kubernetes.io/memory-pressure",
  diskPressure: "node.kubernetes.io/disk-pressure",
  pidPressure: "node.kubernetes.io/pid-pressure",
  networkUnavailable: "node.kubernetes.io/network-unavailable",
  cloudUninitialized: "node.cloudprovider.kubernetes.io/uninitialized",
  outOfService: "node.kubernetes.io/out-of-service",
} as const;

/** Taint effects. */
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

/** Labels that decide a node's zone or disruption exclusion, or that are reconciled (R2.1, R2.2, R2.22, R4.27). */
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

/** Labels with an old name: the value of the first is copied to the second (R4.27). */
export const FOLLOWING_LABELS: readonly (readonly [string, string])[] = [
  [Label.os, Label.osBeta],
  [Label.arch, Label.archBeta],
];

/** The annotation of a mirror pod, by which the API shows a static pod: Kubernetes' ConfigMirrorAnnotationKey. */
export const MIRROR_ANNOTATION = "kubernetes.io/config.mirror";

/** Vigil's own annotations. */
export const Annotation = {
  /**
   * On a node: JSON with the instant from which each NoExecute taint counts whose `timeAdded` is missing, was wrong
   * when the taint appeared, or was changed later.
   */
  taintsSeen: "vigil.v1/taints-seen",
  /**
   * On a node: JSON about swaps of the NoExecute taints not-ready and unreachable: when the present one was added,
   * which of the two came first in this series of swaps, and when each first appeared in it.
   */
  taintSwap: "vigil.v1/taint-swap",
  /** On a node whose policy sets `flapping`: JSON list of when it was first observed to become ready or not ready. */
  readyTransitions: "vigil.v1/ready-transitions",
  /**
   * On a node whose policy watches a condition that it has: JSON with the status of each and since when Vigil has
   * observed it.
   */
  conditions: "vigil.v1/conditions",
  /**
   * On a node: JSON list of the maintenance windows: times in which conditions of its policy's `maintenance` have
   * frozen it.
   */
  holds: "vigil.v1/holds",
  /** On a node: JSON with each taint that Vigil has added for a condition, and the type of that condition. */
  conditionTaints: "vigil.v1/condition-taints",
  /** On a node: JSON that says that its machine is off, who says so, since when and why (`vigil prove-down`). */
  provedDown: "vigil.v1/proved-down",
  /** On a node: the `timeAdded` of the out-of-service taint that Vigil added: it removes no other one. */
  outOfService: "vigil.v1/out-of-service",
  /** On a Lease of Vigil's that was released: what its last holder hands over to the next. */
  handover: "vigil.v1/handover",
  /** On HEARTBEATS_LEASE: the resourceVersion of the node leases when Vigil had received all heartbeats until then. */
  leasesVersion: "vigil.v1/leases-version",
} as const;

/**
 * The label of a node with the seal of Annotation.provedDown. NodeRestriction keeps kubelets from labels under such a
 * prefix, so a proof without its seal is not one.
 */
export const PROOF_SEAL_LABEL = "vigil.node-restriction.kubernetes.io/proved-down";

/** The node labels that the observer keeps; all others are dropped while parsing. */
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

/** The conditions that are forced to Unknown on a silent node, in upstream's order (R2.44). */
export const FORCED_CONDITIONS: readonly string[] = [
  ConditionType.ready,
  ConditionType.memoryPressure,
  ConditionType.diskPressure,
  ConditionType.pidPressure,
];

/** Reason and message of a forced condition that the kubelet has posted before, and of one that it never posted. */
export const SilentReason = {
  stopped: { reason: "NodeStatusUnknown", message: "Kubelet stopped posting node status." },
  never: { reason: "NodeStatusNeverUpdated", message: "Kubelet never posted node status." },
} as const;

/**
 * The value of a taint for a condition whose rule names none; others begin with it and a hyphen, as vigil-gpu. A
 * kubelet must not change the taints of its node (NodeRestriction), so unlike any annotation it proves that the taint
 * is Vigil's, also once its rule is gone.
 */
export const OWN_TAINT_VALUE = "vigil";

/** Whether the value of a taint says that it is Vigil's. */
export function isOwnTaintValue(value: string | undefined): boolean {
  return value === OWN_TAINT_VALUE || value?.startsWith(`${OWN_TAINT_VALUE}-`) === true;
}

/** The ConfigMap that records freezes: what `vigil freeze` writes where no NodePolicy has it, and all past freezes. */
export const FREEZE_CONFIG_MAP = { kind: "ConfigMap", namespace: "kube-system", name: "vigil-freeze" } as const;

/** The Lease of the side of the bus that may permit anything under the rates and limits of node policies. */
export const LIMITS_LEASE = { namespace: "kube-system", name: "vigil-limits" } as const;

/** The Lease whose renewTime says until when Vigil has heard nodes, written while a countdown runs. */
export const HEARTBEATS_LEASE = { namespace: "kube-system", name: "vigil-heartbeats" } as const;

/** What can prove that a node is down. Time alone is no proof. */
export const DOWN_PROOFS = ["RemediationSucceeded", "Manual"] as const;
/** What proves that a node is down: a remediation that succeeded, or a user with `vigil prove-down`. */
export type DownProofKind = (typeof DOWN_PROOFS)[number];

/** The namespace of node leases; a lease has its node's name. */
export const LEASE_NAMESPACE = "kube-node-lease";

/** The manager of Vigil's writes in the API's managedFields: the part of its User-Agent before the slash. */
export const FIELD_MANAGER = "vigil";

/** Source components of Events; all but `policy` are upstream's, because dashboards select on them. */
export const EventSource = {
  node: "node-controller",
  taint: "taint-eviction-controller",
  /** The same before Kubernetes 1.29, where taints are evicted by a part of the node lifecycle controller. */
  taintBefore29: "taint-controller",
  kubelet: "kubelet",
  policy: "vigil",
} as const;
