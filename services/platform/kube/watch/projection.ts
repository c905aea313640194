/** Projects API objects to the fields Vigil keeps. What a field means is decided elsewhere. */
import { INT64_MAX, NAME_CHARACTERS_MAX, WORD_CHARACTERS_MAX } from "../../../../protocols/bounds.ts";
import { ConditionType, MIRROR_ANNOTATION, OBSERVED_LABELS, TaintEffect } from "../../../../protocols/names.ts";
import type {
  Condition,
  ConditionStatus,
  ObservedNode,
  ObservedPod,
  Taint,
  Toleration,
} from "../../../../protocols/objects.ts";
import { NO_POLICIES, type PolicyKeys } from "../../../../protocols/policy-set.ts";
import type {
  BoundPod,
  FreezeResource,
  KubeObject,
  ObservedLease,
  Policies,
  PolicyResource,
} from "../../../../protocols/ports.ts";
import { epochMsOf } from "../../../domain/api-time.ts";
import { reducedTolerations } from "../../../domain/toleration.ts";
import { Interner } from "../../../structures/interner.ts";
import { type JsonRecord, listOf, parsed, recordOf, textOf } from "../../../structures/json.ts";
import { nodeRecords } from "./node-annotations.ts";

/** What a projection needs besides the object. */
export interface ProjectionIo {
  readonly interner: Interner;
  /**
   * Reports a field that was dropped or replaced by a neutral value. `line` is a log line, given when an operator
   * should inspect the object.
   */
  readonly problem: (field: string, line?: string) => void;
  /** What policies need of nodes besides OBSERVED_LABELS and ConditionType; absent or null for nothing. */
  readonly policyKeys?: () => PolicyKeys | null;
}

/** For a single read: an invalid field is replaced without a report, because the watch reports it. */
export const UNREPORTED: ProjectionIo = { interner: new Interner(), problem: () => {} };

/** The condition types Vigil acts on; a node has at most one of each. */
const CONDITION_TYPES: readonly string[] = Object.values(ConditionType);
const CONDITION_STATUSES: readonly string[] = ["True", "False", "Unknown"] satisfies ConditionStatus[];
/** Characters shown of a value that cannot be read. */
const SHOWN_CHARACTERS_MAX = 40;
/** Longest name, uid or resourceVersion, in characters: a name is a DNS subdomain. */
const IDENTITY_CHARACTERS_MAX = 253;
/** Longest label value, in characters; the API server's limit. */
const LABEL_CHARACTERS_MAX = 63;
/** Longest condition reason that is kept, in characters; only Vigil's own reasons decide anything. */
const REASON_CHARACTERS_MAX = 256;
/** An unreadable toleration tolerates everything: no pod is evicted while its tolerations are not known. */
const TOLERATES_ALL: Toleration = { operator: "Exists" };
/** The Ready condition of a node in managedFields. */
const READY_FIELD = `k:{"type":"${ConditionType.ready}"}`;
/** A neutral instant: every rule takes the latest of several instants. */
const LONG_AGO = 0;

/** A node; null when it has no name, uid or resourceVersion. */
export function projectNode(raw: unknown, io: ProjectionIo): ObservedNode | null {
  const { metadata, spec, status } = partsOf(raw);
  const identity = identityOf(metadata, io);
  if (identity === null) return null;
  const taints = projected(spec.taints, (taint) => projectTaint(taint, io));
  const { labelKeys, conditionTypes, labelsChecksum } = io.policyKeys?.() ?? NO_POLICIES;
  const labels = recordOf(metadata.labels);
  const conditions = projectConditions(status.conditions, { metadata, types: conditionTypes }, io);
  return {
    node: identity.name,
    uid: identity.uid,
    resourceVersion: identity.resourceVersion,
    createdAt: instantIn(metadata, "creationTimestamp", io) ?? LONG_AGO,
    labels: observedLabels(labels, labelKeys, io.interner),
    ...(labelsChecksum === 0 ? {} : { policyLabels: labelsChecksum }),
    unschedulable: spec.unschedulable === true,
    taints,
    conditions,
    ...nodeRecords({ annotations: recordOf(metadata.annotations), labels }, taints, (field) => io.problem(field)),
    ...writersOf(metadata, conditions, taints),
  };
}

/**
 * The clients that wrote Ready=Unknown and the list of taints. Most nodes have neither, so their managedFields are not
 * read.
 */
function writersOf(
  metadata: JsonRecord,
  conditions: readonly Condition[],
  taints: readonly Taint[],
): Pick<ObservedNode, "writtenBy"> {
  const isUnknown = conditions.some(({ type, status }) => type === ConditionType.ready && status === "Unknown");
  const isTainted = taints.some(({ effect }) => effect === TaintEffect.noExecute);
  if (!isUnknown && !isTainted) return {};
  const ready = isUnknown ? managerOf(metadata, "f:status", "f:conditions", READY_FIELD, "f:status") : null;
  const tainted = isTainted ? managerOf(metadata, "f:spec", "f:taints") : null;
  if (ready === null && tainted === null) return {};
  return { writtenBy: { ...(ready === null ? {} : { ready }), ...(tainted === null ? {} : { taints: tainted }) } };
}

/** The only manager of a field; null for none or several. */
function managerOf({ managedFields }: JsonRecord, ...path: readonly string[]): string | null {
  const owners = listOf(managedFields)
    .map(recordOf)
    .filter(({ fieldsV1 }) => {
      const parent = path.slice(0, -1).reduce((fields, field) => recordOf(fields[field]), fieldsOf(fieldsV1));
      return Object.hasOwn(parent, path.at(-1) ?? "");
    });
  const managers = new Set(owners.map(({ manager }) => identityText(manager)));
  const [manager = null] = managers;
  return managers.size === 1 ? manager : null;
}

/** The fields of an entry: JSON, or in protobuf its bytes. */
function fieldsOf(fieldsV1: unknown): JsonRecord {
  const { raw } = recordOf(fieldsV1);
  return raw instanceof Uint8Array ? recordOf(parsed(Buffer.from(raw).toString())) : recordOf(fieldsV1);
}

/** A node's lease; null when it has no name. A lease without renewTime is kept, with `renewedAt` null. */
export function projectLease(raw: unknown, io: ProjectionIo): ObservedLease | null {
  const { metadata, spec } = partsOf(raw);
  const name = identityText(metadata.name);
  if (name === null) return dropped("metadata.name", io);
  const holder = identityText(spec.holderIdentity);
  const owner = recordOf(listOf(metadata.ownerReferences)[0]);
  const ownerUid = identityText(owner.uid);
  return {
    node: io.interner.text(name),
    renewedAt: instantIn(spec, "renewTime", io),
    ownerUid: owner.kind === "Node" && ownerUid?.isWellFormed() === true ? ownerUid : null,
    ...(holder === null || holder === "" || holder === name || !holder.isWellFormed() ? {} : { holder }),
  };
}

/** A pod that is bound to a node; null when it is not bound, or has no name, uid or resourceVersion. */
export function projectPod(raw: unknown, io: ProjectionIo): BoundPod | null {
  const { metadata, spec, status } = partsOf(raw);
  const node = textOf(spec.nodeName);
  if (node === null) return null;
  const identity = identityOf(metadata, io);
  if (identity === null) return null;
  const createdAt = instantIn(metadata, "creationTimestamp", io) ?? LONG_AGO;
  const { generation } = metadata;
  const conditions = listOf(status.conditions).map(recordOf);
  const pod: ObservedPod = {
    namespace: io.interner.text(textOf(metadata.namespace) ?? ""),
    name: identity.name,
    uid: identity.uid,
    phase: io.interner.text((textOf(status.phase) ?? "").slice(0, WORD_CHARACTERS_MAX)),
    ready: readyStatus(conditions, metadata, io),
    tolerations: io.interner.tolerations(spec.tolerations, (list) => projectTolerations(list, io)),
    ...ownerOf(metadata, io),
    createdAt,
    boundAt: boundAt(conditions, status, io) ?? createdAt,
    deletionAt: deletionAt(metadata, io),
    ...(textOf(recordOf(metadata.annotations)[MIRROR_ANNOTATION]) === null ? {} : { mirror: true }),
    // In protobuf a generation that there is not is 0.
    ...(isCount(generation) && generation > 0 ? { generation } : {}),
  };
  return { node: io.interner.text(node), resourceVersion: identity.resourceVersion, pod };
}

/** A NodePolicy; null when it has no name, uid or resourceVersion. What its spec means is checked elsewhere. */
export function projectPolicy(raw: unknown, io: ProjectionIo): PolicyResource | null {
  const { metadata, spec, status } = recordOf(raw);
  const identity = identityOf(recordOf(metadata), io);
  if (identity === null) return null;
  const { generation, managedFields } = recordOf(metadata);
  const changedAt = specChangedAt(managedFields);
  return { ...identity, generation: typeof generation === "number" ? generation : 0, changedAt, spec, status };
}

/** When some field of the spec was last changed, as the API server recorded it for server-side apply. */
function specChangedAt(managedFields: unknown): number | null {
  const entries = listOf(managedFields).map(recordOf);
  const specEntries = entries.filter(({ fieldsV1 }) => Object.hasOwn(recordOf(fieldsV1), "f:spec"));
  const instants = specEntries.flatMap(({ time }) => epochMsOf(textOf(time)) ?? []);
  return instants.length === 0 ? null : Math.max(...instants);
}

/** A ConfigMap with freezes and the memory of limits. */
export function projectFreezes(raw: unknown, io: ProjectionIo): FreezeResource | null {
  const { metadata, data } = recordOf(raw);
  const identity = identityOf(recordOf(metadata), io);
  if (identity === null) return null;
  const { pauseRequests, frozen, limits, outages } = recordOf(data);
  const texts = { pauseRequests: textOf(pauseRequests), frozen: textOf(frozen), limits: textOf(limits) };
  return { ...identity, ...texts, outages: textOf(outages) };
}

function partsOf(raw: unknown): { metadata: JsonRecord; spec: JsonRecord; status: JsonRecord } {
  const object = recordOf(raw);
  return { metadata: recordOf(object.metadata), spec: recordOf(object.spec), status: recordOf(object.status) };
}

function identityOf(
  metadata: JsonRecord,
  io: ProjectionIo,
): { name: string; uid: string; resourceVersion: string } | null {
  const name = identityText(metadata.name);
  const uid = identityText(metadata.uid);
  const resourceVersion = identityText(metadata.resourceVersion);
  if (name === null) return dropped("metadata.name", io);
  if (uid === null) return dropped("metadata.uid", io);
  if (resourceVersion === null) return dropped("metadata.resourceVersion", io);
  return { name, uid, resourceVersion };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function identityText(value: unknown): string | null {
  const text = textOf(value);
  return text === null || text.length > IDENTITY_CHARACTERS_MAX ? null : text;
}

function dropped(field: string, io: ProjectionIo): null {
  io.problem(field);
  return null;
}

function instantIn(record: JsonRecord, field: string, io: ProjectionIo): number | null {
  const value = record[field];
  if (value === undefined || value === null) return null;
  const instant = typeof value === "string" ? epochMsOf(value) : null;
  if (instant === null) io.problem(field);
  return instant;
}

function projected<T>(value: unknown, project: (item: JsonRecord) => T | null): T[] {
  const kept: T[] = [];
  for (const item of listOf(value)) {
    const result = project(recordOf(item));
    if (result !== null) kept.push(result);
  }
  return kept;
}

function observedLabels(labels: JsonRecord, labelKeys: readonly string[], interner: Interner): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const label of OBSERVED_LABELS) {
    const value = labels[label];
    if (typeof value === "string" && value.length <= LABEL_CHARACTERS_MAX) kept[label] = value;
  }
  for (const label of labelKeys) {
    const value = Object.hasOwn(labels, label) ? labels[label] : undefined;
    if (typeof value === "string" && value.length <= LABEL_CHARACTERS_MAX) kept[label] = interner.text(value);
  }
  return kept;
}

function projectTaint(raw: JsonRecord, io: ProjectionIo): Taint | null {
  const { key, effect } = raw;
  if (typeof key !== "string" || typeof effect !== "string") return dropped("spec.taints", io);
  return {
    key,
    effect,
    ...textFields(raw, "value", "timeAdded"),
  };
}

/** The record's fields that hold strings. */
function textFields<K extends string>(record: JsonRecord, ...fields: K[]): { [F in K]?: string } {
  const entries = fields.map((field) => [field, record[field]]).filter(([, value]) => typeof value === "string");
  return Object.fromEntries(entries) as { [F in K]?: string };
}

/** The conditions Vigil acts on, the first of each type (R2.31). */
function projectConditions(raw: unknown, of: ConditionsOf, io: ProjectionIo): Condition[] {
  const kept = new Map<string, Condition>();
  for (const item of listOf(raw)) {
    const condition = projectCondition(recordOf(item), of, io);
    if (condition !== null && !kept.has(condition.type)) kept.set(condition.type, condition);
  }
  return [...kept.values()];
}

/** Whose conditions are projected, and which of them besides ConditionType. */
interface ConditionsOf {
  readonly metadata: JsonRecord;
  readonly types: readonly string[];
}

function projectCondition(raw: JsonRecord, { metadata, types }: ConditionsOf, io: ProjectionIo): Condition | null {
  const type = textOf(raw.type);
  if (type === null) return dropped("status.conditions", io);
  if (!CONDITION_TYPES.includes(type) && !types.includes(type)) return null;
  const status = statusOf(raw, metadata, io);
  if (status === null) return null;
  const reason = textOf(raw.reason);
  const isKept = CONDITION_TYPES.includes(type) && reason !== null && reason.length <= REASON_CHARACTERS_MAX;
  return {
    type: io.interner.text(type),
    status,
    ...(isKept ? { reason: io.interner.text(reason) } : {}),
    heartbeatAt: instantIn(raw, "lastHeartbeatTime", io),
    transitionAt: instantIn(raw, "lastTransitionTime", io),
  };
}

/**
 * Null for a status that Kubernetes does not define. The condition then counts as missing: read as Unknown it would
 * look like a verdict.
 */
function statusOf({ type, status }: JsonRecord, metadata: JsonRecord, io: ProjectionIo): ConditionStatus | null {
  if (typeof status === "string" && CONDITION_STATUSES.includes(status)) return status as ConditionStatus;
  const [kind, name, namespace] = [textOf(type), textOf(metadata.name), textOf(metadata.namespace)];
  const object = namespace === null ? `node ${name}` : `pod ${namespace}/${name}`;
  const shown = (JSON.stringify(status) ?? "missing").slice(0, SHOWN_CHARACTERS_MAX);
  const words = CONDITION_STATUSES.join(", ");
  io.problem(
    "status.conditions.status",
    `${object}: status.conditions: ${kind} is ${shown}, which is none of ${words}: counts as not posted`,
  );
  return null;
}

function readyStatus(
  conditions: readonly JsonRecord[],
  metadata: JsonRecord,
  io: ProjectionIo,
): ConditionStatus | null {
  const ready = conditions.find((condition) => condition.type === "Ready");
  return ready === undefined ? null : statusOf(ready, metadata, io);
}

function boundAt(conditions: readonly JsonRecord[], status: JsonRecord, io: ProjectionIo): number | null {
  const scheduled = conditions.find((condition) => condition.type === "PodScheduled" && condition.status === "True");
  const at = scheduled === undefined ? null : instantIn(scheduled, "lastTransitionTime", io);
  return at ?? instantIn(status, "startTime", io);
}

function deletionAt(metadata: JsonRecord, io: ProjectionIo): number | null {
  const given = metadata.deletionTimestamp;
  if (given === undefined || given === null) return null;
  // An unreadable timestamp still means that the pod is terminating.
  return instantIn(metadata, "deletionTimestamp", io) ?? LONG_AGO;
}

function ownerOf(metadata: JsonRecord, io: ProjectionIo): Pick<ObservedPod, "owner" | "ownerUid"> {
  for (const reference of listOf(metadata.ownerReferences)) {
    const { controller, kind, uid } = recordOf(reference);
    if (controller !== true || typeof kind !== "string") continue;
    const ownerUid = identityText(uid);
    const owner = io.interner.text(kind.slice(0, NAME_CHARACTERS_MAX));
    return { owner, ...(ownerUid === null ? {} : { ownerUid: io.interner.text(ownerUid) }) };
  }
  return { owner: null };
}

function projectTolerations(list: readonly unknown[], io: ProjectionIo): Toleration[] {
  return reducedTolerations(list.map((item) => projectToleration(item, io)));
}

function projectToleration(raw: unknown, io: ProjectionIo): Toleration {
  const record = recordOf(raw);
  const { key, operator, value, effect, tolerationSeconds } = record;
  const texts = [key, operator, value, effect];
  if (!isPlainObject(raw) || texts.some((text) => text !== undefined && typeof text !== "string")) {
    io.problem("spec.tolerations");
    return TOLERATES_ALL;
  }
  const seconds = tolerationSeconds ?? null;
  const isInt64 = typeof seconds === "number" && Math.abs(seconds) <= INT64_MAX;
  if (seconds !== null && !isInt64) io.problem("spec.tolerations.tolerationSeconds");
  const read = textFields(record, "key", "operator", "value", "effect");
  return {
    ...read,
    // A word that is too long for a message is of no known operator or effect, and neither is its beginning.
    ...(isLong(read.operator) ? { operator: read.operator.slice(0, WORD_CHARACTERS_MAX) } : {}),
    ...(isLong(read.effect) ? { effect: read.effect.slice(0, WORD_CHARACTERS_MAX) } : {}),
    ...(isInt64 ? { tolerationSeconds: seconds } : {}),
  };
}

function isLong(word: string | undefined): word is string {
  return word !== undefined && word.length > WORD_CHARACTERS_MAX;
}

function isPlainObject(raw: unknown): boolean {
  return typeof raw === "object" && raw !== null && !Array.isArray(raw);
}

/**
 * Returns a node that was read live, projected again after the policies have changed: by the labels that were kept for
 * earlier ones its policy is not known, though the API has shown them all.
 */
export type LiveNode = () => ObservedNode;

/** A node as the API sent it; null if that is not a valid Node. */
export function liveNode(object: KubeObject, policies: Pick<Policies, "current">): LiveNode | null {
  const projectedFor = (keys: PolicyKeys | null) => projectNode(object, { ...UNREPORTED, policyKeys: () => keys });
  const keysAtRead = policies.current();
  const first = projectedFor(keysAtRead);
  if (first === null) return null;
  let known = { keys: keysAtRead, node: first };
  return () => {
    const keys = policies.current();
    // Whether a Node is valid does not depend on policies.
    if (keys !== known.keys) known = { keys, node: projectedFor(keys) ?? first };
    return known.node;
  };
}
