/** Builds the node to register, and reconciles an existing one. registration.ts talks to the API. */
import { Label, TaintEffect, TaintKey } from "../../protocols/names.ts";
import type { Taint } from "../../protocols/objects.ts";
import type { NodeBody } from "../platform/kube/write/sent-bodies.ts";
import type { AgentSettings } from "./agent.settings.ts";
import type { MachineStats } from "./machine-stats.ts";
import { type NodeObject, type ResourceList, withMetadata, withStatus } from "./node-object.ts";
import { amountOf, isExtended, isHugePages } from "./resource-quantity.ts";

/** Leaves the attachment of volumes to the attach-detach controller. */
const ATTACH_DETACH = "volumes.kubernetes.io/controller-managed-attach-detach";

/** Labels that a kubelet updates on an existing node (updateDefaultLabels). */
const DEFAULT_LABELS: readonly string[] = [
  Label.hostname,
  Label.zone,
  Label.region,
  Label.zoneBeta,
  Label.regionBeta,
  Label.instanceType,
  Label.instanceTypeBeta,
  Label.os,
  Label.arch,
  "node.kubernetes.io/windows-build",
  Label.osBeta,
  Label.archBeta,
];

/** The node before its status is computed: labels, annotation, taints, provider id. */
export function initialNode(settings: AgentSettings, stats: MachineStats): NodeObject {
  const taints = initialTaints(settings);
  const spec = {
    ...(taints.length > 0 && { taints }),
    ...(settings.providerId !== null && { providerID: settings.providerId }),
  };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: settings.nodeName,
      labels: initialLabels(settings, stats),
      annotations: { [ATTACH_DETACH]: "true" },
    },
    spec,
  } satisfies NodeBody;
}

/** Default labels, overridden by zone, region and instance type, overridden by the configured labels. */
function initialLabels(settings: AgentSettings, stats: MachineStats): Record<string, string> {
  const { zone, region, instanceType } = settings;
  return {
    [Label.hostname]: settings.hostname ?? stats.hostname,
    [Label.os]: stats.operatingSystem,
    [Label.arch]: stats.architecture,
    [Label.osBeta]: stats.operatingSystem,
    [Label.archBeta]: stats.architecture,
    ...(instanceType !== null && { [Label.instanceTypeBeta]: instanceType, [Label.instanceType]: instanceType }),
    ...(zone !== null && { [Label.zoneBeta]: zone, [Label.zone]: zone }),
    ...(region !== null && { [Label.regionBeta]: region, [Label.region]: region }),
    ...settings.labels,
  };
}

function initialTaints(settings: AgentSettings): readonly Taint[] {
  const { taints, externalCloudProvider } = settings;
  const [key, effect] = [TaintKey.cloudUninitialized, TaintEffect.noSchedule];
  // The API allows one taint per key and effect.
  const isGiven = taints.some((taint) => taint.key === key && taint.effect === effect);
  return externalCloudProvider && !isGiven ? [...taints, { key, value: "true", effect }] : taints;
}

/** An existing node after a reconciler, and whether it must be patched. */
export interface Reconciled {
  readonly node: NodeObject;
  readonly changed: boolean;
}

/** Runs all reconcilers in kubelet's order (R9.5). The spec is never reconciled (R9.6). */
export function reconcile(desired: NodeObject, existing: NodeObject, resetExtended: boolean): Reconciled {
  const steps = [
    reconcileAttachDetach,
    reconcileLabels,
    (wanted: NodeObject, present: NodeObject) => reconcileExtendedResources(wanted, present, resetExtended),
    reconcileHugePages,
  ];
  return steps.reduce<Reconciled>(
    ({ node, changed }, step) => {
      const result = step(desired, node);
      return { node: result.node, changed: changed || result.changed };
    },
    { node: existing, changed: false },
  );
}

/** Sets the attach-detach annotation as on the desired node, or removes it. */
export function reconcileAttachDetach(desired: NodeObject, existing: NodeObject): Reconciled {
  const wanted = desired.metadata.annotations?.[ATTACH_DETACH];
  if ((wanted ?? "") === (existing.metadata.annotations?.[ATTACH_DETACH] ?? "")) return same(existing);
  return { node: withMetadata(existing, { annotations: { [ATTACH_DETACH]: wanted ?? null } }), changed: true };
}

/** Copies the default labels of the desired node and removes those that are empty there; removal alone is no change. */
export function reconcileLabels(desired: NodeObject, existing: NodeObject): Reconciled {
  const labels: Record<string, string> = { ...existing.metadata.labels };
  let changed = false;
  for (const label of DEFAULT_LABELS) {
    const wanted = desired.metadata.labels?.[label];
    if (wanted === undefined) continue;
    changed ||= (labels[label] ?? "") !== wanted;
    if (wanted === "") delete labels[label];
    else labels[label] = wanted;
  }
  return { node: { ...existing, metadata: { ...existing.metadata, labels } }, changed };
}

/** On a recreated machine extended resources are 0 until their device plugins register; patched even if 0 before. */
export function reconcileExtendedResources(desired: NodeObject, existing: NodeObject, reset: boolean): Reconciled {
  const defaulted = defaultResources(desired, existing);
  const extended = reset ? Object.keys(capacityOf(defaulted.node)).filter(isExtended) : [];
  if (extended.length === 0) return defaulted;
  const zeros = Object.fromEntries(extended.map((resource) => [resource, "0"]));
  return {
    node: withStatus(defaulted.node, {
      capacity: { ...capacityOf(defaulted.node), ...zeros },
      allocatable: { ...allocatableOf(defaulted.node), ...zeros },
    }),
    changed: true,
  };
}

/** Adds, updates and removes huge pages as on the desired node. */
export function reconcileHugePages(desired: NodeObject, existing: NodeObject): Reconciled {
  const defaulted = defaultResources(desired, existing);
  const capacity = { ...capacityOf(defaulted.node) };
  const allocatable = { ...allocatableOf(defaulted.node) };
  let { changed } = defaulted;
  const set = (list: Record<string, string>, resource: string, wanted: string | undefined, isNew: boolean) => {
    if (!isNew && sameAmount(list[resource], wanted)) return;
    if (wanted === undefined) delete list[resource];
    else list[resource] = wanted;
    changed = true;
  };
  for (const resource of Object.keys(capacityOf(desired)).filter(isHugePages)) {
    const isNew = capacity[resource] === undefined;
    set(capacity, resource, capacityOf(desired)[resource], isNew);
    set(allocatable, resource, allocatableOf(desired)[resource], isNew);
  }
  for (const resource of Object.keys(capacity).filter(isHugePages)) {
    if (capacityOf(desired)[resource] !== undefined) continue;
    delete capacity[resource];
    delete allocatable[resource];
    changed = true;
  }
  return { node: withStatus(defaulted.node, { capacity, allocatable }), changed };
}

/** Copies missing capacity or allocatable from the desired node; empty if missing there, which is no change. */
function defaultResources(desired: NodeObject, existing: NodeObject): Reconciled {
  const { capacity, allocatable } = existing.status ?? {};
  const changed =
    (capacity === undefined && desired.status?.capacity !== undefined) ||
    (allocatable === undefined && desired.status?.allocatable !== undefined);
  const node = withStatus(existing, {
    capacity: capacity ?? capacityOf(desired),
    allocatable: allocatable ?? allocatableOf(desired),
  });
  return { node, changed };
}

const same = (node: NodeObject): Reconciled => ({ node, changed: false });
const capacityOf = (node: NodeObject): ResourceList => node.status?.capacity ?? {};
const allocatableOf = (node: NodeObject): ResourceList => node.status?.allocatable ?? {};

function sameAmount(left: string | undefined, right: string | undefined): boolean {
  return left === right || (left !== undefined && right !== undefined && amountOf(left) === amountOf(right));
}
