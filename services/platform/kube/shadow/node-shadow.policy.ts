/**
 * A node in shadow mode: what the API shows, with the writes that were not sent on top. An unsent write stays in
 * this layer until the API shows the same (upstream wrote it) or the opposite (the kubelet returned).
 */
import { OBSERVED_LABELS } from "../../../../protocols/names.ts";
import type {
  Condition,
  NodeShadow,
  NodeShadowChange,
  ObservedNode,
  Taint,
  TaintId,
} from "../../../../protocols/objects.ts";
import type { KubeObject } from "../../../../protocols/ports.ts";
import { apiTime, epochMsOf } from "../../../domain/api-time.ts";
import { readyConditionOf } from "../../../domain/node-conditions.ts";
import { isSameTaint, taintName } from "../../../domain/toleration.ts";
import { listOf, recordOf } from "../../../structures/json.ts";
import { fieldsRecordedIn, nodeRecords } from "../watch/node-annotations.ts";

/** An unsent write that the API shows after all: another controller made it, so much later than Vigil would have. */
export interface MadeByAnother {
  readonly what: string;
  /** Negative when the other controller was earlier; null when one of the instants is not known. */
  readonly laterMs: number | null;
}

/** What is left of a node's unsent writes, and which of them another controller made. */
export interface SettledShadow {
  /** Null when nothing is left. */
  readonly shadow: NodeShadowChange | null;
  readonly made: readonly MadeByAnother[];
}

/** The unsent writes with one more. A verdict replaces the one before; taints of both are combined. */
export function withChange(before: NodeShadowChange, change: NodeShadowChange): NodeShadowChange {
  const { added = [], removed = [] } = change;
  const isNamed = isIn([...added, ...removed]);
  const unsent = isIn(before.added ?? []);
  return compact({
    verdict: change.verdict ?? before.verdict,
    added: [...(before.added ?? []).filter((taint) => !isNamed(taint)), ...added],
    // The removal of a taint that was never sent leaves nothing.
    removed: [
      ...(before.removed ?? []).filter((taint) => !isNamed(taint)),
      ...removed.filter((taint) => !unsent(taint)),
    ],
    labels: { ...before.labels, ...change.labels },
    annotations: { ...before.annotations, ...change.annotations },
  });
}

/**
 * The unsent writes that still differ from what the API shows. `leaseRenewedAt` is the renewTime of the node's lease;
 * undefined when it is not known. A heartbeat that the verdict did not know ends it, because the kubelet would then
 * post its status. A taint that was removed and set again is another taint.
 */
export function settledShadow(
  shadow: NodeShadowChange,
  real: ObservedNode,
  leaseRenewedAt: number | null | undefined,
): SettledShadow {
  const made: MadeByAnother[] = [];
  const isKept = (taint: Taint): boolean => {
    const present = real.taints.find((each) => isSameTaint(each, taint));
    if (present === undefined) return true;
    const [at, ours] = [epochMsOf(present.timeAdded), epochMsOf(taint.timeAdded)];
    made.push({ what: taintName(taint), laterMs: at === null || ours === null ? null : at - ours });
    return false;
  };
  const isUnremoved = (taint: Taint): boolean =>
    real.taints.some((each) => isSameTaint(each, taint) && each.timeAdded === taint.timeAdded);
  const { verdict, added = [], removed = [] } = shadow;
  const ready = readyConditionOf(real);
  if (verdict !== undefined && ready?.status === "Unknown") {
    const { transitionAt } = ready;
    made.push({ what: "Ready=Unknown", laterMs: transitionAt === null ? null : transitionAt - verdict.at });
  }
  const left = compact({
    verdict: verdict !== undefined && isUnanswered(verdict, ready, leaseRenewedAt) ? verdict : undefined,
    added: added.filter(isKept),
    removed: removed.filter(isUnremoved),
    labels: entriesWhere(shadow.labels, (label, text) => real.labels[label] !== text),
    annotations: entriesWhere(shadow.annotations, (annotation, text) => text !== null || isRecorded(real, annotation)),
  });
  return { shadow: Object.keys(left).length === 0 ? null : left, made };
}

/**
 * A node as Vigil would have left it. The revision makes its version differ from every real one, so that a write based
 * on this state cannot succeed.
 */
export function shadowedNode(real: ObservedNode, shadow: NodeShadowChange, revision: number): ObservedNode {
  const taints = shadowedTaints(real.taints, shadow);
  const { labels = {}, annotations = {}, verdict, added, removed } = shadow;
  const own = compact({ verdict, added: added ?? [], removed: removed ?? [] });
  const { shadow: _, ...rest } = real;
  return {
    ...withoutRecords(rest, annotations),
    resourceVersion: shadowVersion(real.resourceVersion, revision),
    labels: { ...real.labels, ...entriesWhere(labels, (label) => OBSERVED_LABELS.includes(label)) },
    taints,
    conditions: shadowedConditions(real.conditions, verdict),
    ...nodeRecords({ annotations: entriesWhere(annotations, (_annotation, text) => text !== null) }, taints, () => {}),
    ...(Object.keys(own).length === 0 ? {} : { shadow: own }),
  };
}

/** The same for a node as the API sent it. */
export function shadowedNodeObject(object: KubeObject, shadow: NodeShadowChange): KubeObject {
  const { metadata, spec, status } = object;
  const { labels, annotations, verdict } = shadow;
  const taints = listOf(recordOf(spec).taints) as readonly Taint[];
  return {
    ...object,
    metadata: {
      ...metadata,
      labels: { ...recordOf(metadata.labels), ...labels },
      annotations: entriesWhere({ ...recordOf(metadata.annotations), ...annotations }, (_name, text) => text !== null),
    },
    spec: { ...recordOf(spec), taints: shadowedTaints(taints, shadow) },
    status: {
      ...recordOf(status),
      conditions: [
        ...listOf(recordOf(status).conditions).map((each) => objectCondition(recordOf(each), verdict)),
        ...missingConditions(listOf(recordOf(status).conditions), verdict).map((each) =>
          objectCondition({}, verdict, each),
        ),
      ],
    },
  };
}

/** A version that no API server has given out. */
export function shadowVersion(resourceVersion: string, revision: number): string {
  return `${resourceVersion}.shadow${revision}`;
}

function isUnanswered(
  { leaseRenewedAt: known, statusHeartbeatAt }: NonNullable<NodeShadow["verdict"]>,
  ready: Condition | null,
  leaseRenewedAt: number | null | undefined,
): boolean {
  if (ready?.status === "Unknown") return false;
  const postedAt = ready?.heartbeatAt ?? null;
  const isPosted = postedAt !== null && postedAt !== statusHeartbeatAt;
  return !isPosted && (leaseRenewedAt === undefined || leaseRenewedAt === null || leaseRenewedAt === known);
}

function shadowedTaints(taints: readonly Taint[], { added = [], removed = [] }: NodeShadow): Taint[] {
  const isChanged = isIn([...added, ...removed]);
  return [...taints.filter((taint) => !isChanged(taint)), ...added];
}

function shadowedConditions(real: readonly Condition[], verdict: NodeShadow["verdict"]): Condition[] {
  const forced = verdict?.conditions ?? [];
  const changed = real.map((condition) => {
    const wanted = forced.find(({ type }) => type === condition.type);
    return wanted === undefined ? condition : { ...condition, ...wanted, heartbeatAt: condition.heartbeatAt };
  });
  return [...changed, ...forced.filter(({ type }) => !real.some((condition) => condition.type === type))];
}

function missingConditions(present: readonly unknown[], verdict: NodeShadow["verdict"]): readonly Condition[] {
  const types = new Set(present.map((condition) => recordOf(condition).type));
  return (verdict?.conditions ?? []).filter(({ type }) => !types.has(type));
}

/** A condition in the API's form; `missing` is one that the object lacks. */
function objectCondition(
  condition: Readonly<Record<string, unknown>>,
  verdict: NodeShadow["verdict"],
  missing?: Condition,
): Readonly<Record<string, unknown>> {
  const wanted = missing ?? verdict?.conditions.find(({ type }) => type === condition.type);
  if (wanted === undefined) return condition;
  const { type, status, reason, heartbeatAt, transitionAt } = wanted;
  return {
    ...condition,
    type,
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(missing === undefined || heartbeatAt === null ? {} : { lastHeartbeatTime: apiTime(heartbeatAt) }),
    ...(transitionAt === null ? {} : { lastTransitionTime: apiTime(transitionAt) }),
  };
}

/** A node without the fields that follow from these annotations. */
function withoutRecords(node: ObservedNode, annotations: Readonly<Record<string, string | null>>): ObservedNode {
  const changed: readonly string[] = Object.keys(annotations).flatMap(fieldsRecordedIn);
  return entriesWhere<unknown>({ ...node }, (field) => !changed.includes(field)) as ObservedNode;
}

function isRecorded(real: ObservedNode, annotation: string): boolean {
  return fieldsRecordedIn(annotation).some((field) => real[field] !== undefined);
}

function isIn(taints: readonly TaintId[]): (taint: TaintId) => boolean {
  return (taint) => taints.some((each) => isSameTaint(each, taint));
}

function entriesWhere<V>(
  record: Readonly<Record<string, V>> = {},
  isKept: (name: string, value: V) => boolean,
): Record<string, V> {
  return Object.fromEntries(Object.entries(record).filter(([name, value]) => isKept(name, value)));
}

/** The change without its empty parts. */
function compact({
  verdict,
  added = [],
  removed = [],
  labels = {},
  annotations = {},
}: NodeShadowChange): NodeShadowChange {
  return {
    ...(verdict === undefined ? {} : { verdict }),
    ...(added.length === 0 ? {} : { added }),
    ...(removed.length === 0 ? {} : { removed }),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
}
