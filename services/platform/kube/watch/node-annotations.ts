/**
 * Reads Vigil's own annotations of a node. Kubelets can write them too, so only records about present taints count, and
 * an oversized annotation is not parsed.
 */
import { Annotation, PROOF_SEAL_LABEL, TaintEffect } from "../../../../protocols/names.ts";
import type { ObservedNode, Taint } from "../../../../protocols/objects.ts";
import { apiMicroTime, apiTime, epochMsOf } from "../../../domain/api-time.ts";
import {
  conditionTaintsText,
  maintenanceWindowsText,
  observationsText,
  readConditionTaints,
  readMaintenanceWindows,
  readObservations,
} from "../../../domain/condition-records.ts";
import { BROKEN_PROOF, downProofText, readDownProof } from "../../../domain/down-proof.ts";
import { readReadyTransitions, readyTransitionsText } from "../../../domain/ready-transitions.ts";
import { readTaintSwap, taintSwapText } from "../../../domain/taint-swap.ts";
import { taintName } from "../../../domain/toleration.ts";
import { type JsonRecord, parsed, recordOf, textOf } from "../../../structures/json.ts";
import { proofSeal } from "../proof-seal.ts";

/** Longest annotation that is parsed, in characters. TAINTS_MAX taints with the longest names take 23,000. */
const ANNOTATION_CHARACTERS_MAX = 32 * 1024;

/** Longest annotation about conditions that is parsed, in characters. 16 types with names of 100 take 3,400. */
const CONDITIONS_CHARACTERS_MAX = 4 * 1024;

/** Reports a field that was ignored. */
type Problem = (field: string) => void;

/** The fields of an observed node that follow from other parts of the object, or from shadow mode. */
type OtherField =
  | ("node" | "uid" | "resourceVersion" | "createdAt" | "labels" | "policyLabels" | "unschedulable")
  | ("taints" | "taintsOmitted" | "conditions" | "writtenBy" | "shadow");
/** The parts of an observed node that its annotations record. */
export type NodeRecords = Omit<ObservedNode, OtherField>;

/** How a field is read from its annotation. */
interface RecordReader<V> {
  readonly annotation: string;
  /** Null for a text that cannot be read. */
  readonly read: (text: string) => V | null;
  /** The text that is read as this value; null for none. */
  write(value: V): string | null;
  readonly charactersMax: number;
  /** What an unreadable record counts as; undefined if it counts as none. */
  readonly unreadable: V | undefined;
  /** The label that seals the text; absent where the kubelet may write it. */
  readonly sealLabel?: string;
}

function reader<V>(
  annotation: string,
  { read, write }: Pick<RecordReader<V>, "read"> & Pick<RecordReader<NoInfer<V>>, "write">,
  unreadable?: V,
): RecordReader<V> {
  return { annotation, read, write, unreadable, charactersMax: ANNOTATION_CHARACTERS_MAX };
}

const aboutConditions = { charactersMax: CONDITIONS_CHARACTERS_MAX } as const;

/** The fields that have an annotation each: all that have no other source. */
const RECORDS = {
  taintSwap: reader(Annotation.taintSwap, { read: readTaintSwap, write: taintSwapText }),
  readyTransitionsAt: reader(
    Annotation.readyTransitions,
    { read: readReadyTransitions, write: readyTransitionsText },
    [],
  ),
  conditionSightings: {
    ...reader(Annotation.conditions, { read: readObservations, write: observationsText }, []),
    ...aboutConditions,
  },
  conditionTaints: {
    ...reader(Annotation.conditionTaints, { read: readConditionTaints, write: conditionTaintsText }, {}),
    ...aboutConditions,
  },
  provedDown: {
    ...reader(Annotation.provedDown, { read: readDownProof, write: downProofText }, BROKEN_PROOF),
    sealLabel: PROOF_SEAL_LABEL,
  },
  outOfServiceAt: reader(Annotation.outOfService, { read: epochMsOf, write: apiTime }),
  holds: {
    ...reader(Annotation.holds, { read: readMaintenanceWindows, write: maintenanceWindowsText }, []),
    ...aboutConditions,
  },
} as const satisfies {
  readonly [F in Exclude<keyof NodeRecords, keyof ReturnType<typeof taintsSeen>>]-?: RecordReader<
    NonNullable<NodeRecords[F]>
  >;
};

/** What a node's annotations record: of its taints and conditions, when it became ready, and whether it is off. */
export function nodeRecords(
  { annotations, labels = {} }: { readonly annotations: JsonRecord; readonly labels?: JsonRecord },
  taints: readonly Taint[],
  problem: Problem,
): NodeRecords {
  const records: Record<string, unknown> = taintsSeen(annotations, taints, problem);
  for (const [field, recordReader] of Object.entries<RecordReader<unknown>>(RECORDS)) {
    const { annotation, unreadable, sealLabel } = recordReader;
    const text = textOf(annotations[annotation]);
    const seal = sealLabel === undefined ? null : textOf(labels[sealLabel]);
    if (sealLabel === undefined ? text === null : seal === null) continue;
    const recorded = text === null || isForged(text, seal) ? null : readText(recordReader, text);
    if (recorded === null) problem(`metadata.annotations.${annotation}`);
    const value = recorded ?? unreadable;
    if (value !== undefined) records[field] = value;
  }
  return records;
}

function isForged(text: string, seal: string | null): boolean {
  return seal !== null && seal !== proofSeal(text);
}

function readText<V>({ read, charactersMax }: RecordReader<V>, text: string): V | null {
  return text.length > charactersMax ? null : read(text);
}

/** The annotations that are read as these records, for a cluster in memory. */
export function recordedAnnotations(records: NodeRecords): Record<string, string> {
  const { taintsSeenAt = {} } = records;
  const starts = Object.entries(taintsSeenAt).map(([name, at]) => [name, apiMicroTime(at)]);
  const annotations: Record<string, string> =
    starts.length === 0 ? {} : { [Annotation.taintsSeen]: JSON.stringify(Object.fromEntries(starts)) };
  for (const [field, recorded] of Object.entries<RecordReader<unknown>>(RECORDS)) {
    const value = records[field as keyof typeof RECORDS];
    const text = value === undefined ? null : recorded.write(value);
    if (text !== null) annotations[recorded.annotation] = text;
  }
  return annotations;
}

/** The fields of a node that follow from an annotation. */
export function fieldsRecordedIn(annotation: string): readonly (keyof NodeRecords)[] {
  if (annotation === Annotation.taintsSeen) return ["taintsSeenAt", "taintsSeenStale"];
  const fields = Object.keys(RECORDS) as (keyof typeof RECORDS)[];
  return fields.filter((field) => RECORDS[field].annotation === annotation);
}

/**
 * When the present NoExecute taints began to count, as recorded, and whether the record holds more than that (is
 * stale).
 */
function taintsSeen(
  annotations: JsonRecord,
  taints: readonly Taint[],
  problem: Problem,
): Pick<ObservedNode, "taintsSeenAt" | "taintsSeenStale"> {
  const text = textOf(annotations[Annotation.taintsSeen]);
  if (text === null) return {};
  const entries = recordOf(text.length > ANNOTATION_CHARACTERS_MAX ? undefined : parsed(text));
  const read = taints.flatMap((taint) => {
    if (taint.effect !== TaintEffect.noExecute) return [];
    const name = taintName(taint);
    const time = Object.hasOwn(entries, name) ? entries[name] : undefined;
    const at = typeof time === "string" ? epochMsOf(time) : null;
    return at === null ? [] : [[name, at] as const];
  });
  const names = Object.keys(entries);
  if (names.length === 0 || names.some((name) => !isInstant(entries[name]))) {
    problem(`metadata.annotations.${Annotation.taintsSeen}`);
  }
  const stale = read.length === 0 || read.length !== names.length;
  return { taintsSeenAt: Object.fromEntries(read), ...(stale ? { taintsSeenStale: true } : {}) };
}

function isInstant(time: unknown): boolean {
  return typeof time === "string" && epochMsOf(time) !== null;
}
