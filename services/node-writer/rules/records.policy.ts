/**
 * The annotations that Vigil writes without another change: records of taints, transitions, conditions and maintenance
 * windows.
 */
import { Annotation } from "../../../protocols/names.ts";
import type { ConditionSighting, ObservedNode, Taint } from "../../../protocols/objects.ts";
import { statusOf } from "../../domain/unhealthy-conditions.ts";
import { type NodeRecords, nodeRecords } from "../../platform/kube/watch/node-annotations.ts";
import { keepsRecord } from "./out-of-service.policy.ts";
import type { AnnotationPatch } from "./taint-rule.ts";

/** The annotations that Vigil sets without another change; that of a swap is written with its taints. */
const SET: ReadonlySet<string> = new Set([
  Annotation.taintsSeen,
  Annotation.readyTransitions,
  Annotation.conditions,
  Annotation.conditionTaints,
  Annotation.holds,
]);

/** The annotations that Vigil removes without another change; a user or a taint's patch sets them. */
const REMOVED: ReadonlySet<string> = new Set([Annotation.provedDown, Annotation.outOfService]);

/** Why no service of Vigil sets or removes these annotations; null if one may. */
export function allowsRecords(annotations: AnnotationPatch): string | null {
  const isAllowed = ([key, text]: readonly [string, string | null]): boolean =>
    SET.has(key) || (text === null && REMOVED.has(key));
  const [name] = Object.entries(annotations).find((entry) => !isAllowed(entry)) ?? [];
  return name === undefined ? null : `annotation ${name} is not one that Vigil sets`;
}

/** Why the live node does not require these records; null if it does. */
export function foundedRecords(annotations: AnnotationPatch, live: ObservedNode): string | null {
  const invalid = Object.entries(annotations).find(([name, text]) => !isRecord(name, text, live));
  return invalid === undefined ? null : invalidRecord(...invalid);
}

/** Why an annotation is no record of the starts of these taints alone; null if it is. */
export function foundedTaintStarts(text: string, taints: readonly Taint[]): string | null {
  const recorded = readRecords(Annotation.taintsSeen, text, taints);
  const areStarts = recorded?.taintsSeenAt !== undefined && recorded.taintsSeenStale !== true;
  return areStarts ? null : invalidRecord(Annotation.taintsSeen, text);
}

function invalidRecord(name: string, text: string | null): string {
  return text === null
    ? `annotation ${name} is still needed: the node is not Ready, or carries Vigil's own taint`
    : `annotation ${name} does not record the present taints, transitions or conditions`;
}

function isRecord(name: string, text: string | null, live: ObservedNode): boolean {
  if (text === null) return !keepsRecord(name, live);
  const { taints } = live;
  if (name === Annotation.taintsSeen) return foundedTaintStarts(text, taints) === null;
  const recorded = readRecords(name, text, taints);
  const isPresent = ({ type, status }: ConditionSighting): boolean => statusOf(live, type) === status;
  const isTrue = (type: string): boolean => statusOf(live, type) === "True";
  const isRecorded = ([taint, type]: readonly [string, string]): boolean => live.conditionTaints?.[taint] === type;
  if (name === Annotation.readyTransitions) return recorded?.readyTransitionsAt !== undefined;
  if (recorded === null) return false;
  if (name === Annotation.conditions) return (recorded.conditionSightings ?? []).every(isPresent);
  if (name === Annotation.holds) return (recorded.holds ?? []).every((hold) => hold.toAt !== null || isTrue(hold.type));
  return name === Annotation.conditionTaints && Object.entries(recorded.conditionTaints ?? {}).every(isRecorded);
}

/** What an annotation records; null if any part of it cannot be read. */
function readRecords(name: string, text: string, taints: readonly Taint[]): NodeRecords | null {
  let isSound = true;
  const recorded = nodeRecords({ annotations: { [name]: text } }, taints, () => {
    isSound = false;
  });
  return isSound ? recorded : null;
}
