/** What a delete does to an object: nothing, a mark that waits, or its end. Pure but for the object it marks. */
import { apiTime, epochMsOf } from "../../../domain/api-time.ts";
import { type ApiObject, childObject, isObject, sameJson } from "../api-objects.ts";
import type { StorageName } from "../resources.ts";
import { STRATEGIES } from "./strategy.ts";

/** What a delete asks for; null for what it leaves open. */
export interface DeleteOptions {
  readonly uid: string | null;
  readonly resourceVersion: string | null;
  readonly gracePeriodSeconds: number | null;
  /** What is to become of the objects it owns; absent for what its kind does by itself. */
  readonly propagation?: Propagation;
}

/** The ways of a deletion to the objects that one owns. */
export const PROPAGATIONS = ["Foreground", "Background", "Orphan"] as const;
/** One of them. */
export type Propagation = (typeof PROPAGATIONS)[number];

/** Finalizers by which a garbage collector is told to go on; it takes them off. There is none here. */
const OF_COLLECTOR: Readonly<Record<Propagation, string>> = {
  Foreground: "foregroundDeletion",
  Background: "",
  Orphan: "orphan",
};

/** What a delete comes to: the object gets or changes its mark, is left as it is, or goes unmarked. */
export type Marking = "marked" | "unchanged" | "unmarked";

/** Sets the marks of a deletion where the kind, the finalizers or a grace period ask for them; changes `object`. */
export function markForDeletion(
  storage: StorageName,
  object: ApiObject,
  { gracePeriodSeconds: asked, propagation }: Pick<DeleteOptions, "gracePeriodSeconds" | "propagation">,
  wallMs: number,
): Marking {
  const meta = object.metadata;
  const grace = STRATEGIES[storage].graceSeconds(object, asked);
  if (meta.deletionTimestamp !== undefined) {
    const present = meta.deletionGracePeriodSeconds ?? 0;
    // A grace period that runs may be shortened, never lengthened.
    if (grace === null || asked === null || asked >= present) {
      if (present > 0 || !markForCollector(object, propagation)) return "unchanged";
      return mayGo(object) ? "unmarked" : "marked";
    }
    const askedAt = (epochMsOf(meta.deletionTimestamp) ?? 0) - present * 1000;
    meta.deletionTimestamp = apiTime(askedAt + asked * 1000);
    meta.deletionGracePeriodSeconds = asked;
    return "marked";
  }
  markForCollector(object, propagation);
  if (grace === null && !hasFinalizers(object)) return "unmarked";
  meta.deletionTimestamp = apiTime(wallMs + (grace ?? 0) * 1000);
  if (meta.generation !== undefined) meta.generation += 1;
  // A namespace is emptied by others, however long that takes.
  if (storage === "namespaces") object.status = { ...childObject(object, "status"), phase: "Terminating" };
  else meta.deletionGracePeriodSeconds = grace ?? 0;
  return "marked";
}

/** Changes the finalizers of a garbage collector to what this delete asks for; whether that made a difference. */
function markForCollector({ metadata }: ApiObject, propagation: Propagation | undefined): boolean {
  if (propagation === undefined) return false;
  const before = Array.isArray(metadata.finalizers) ? metadata.finalizers : [];
  const wanted = OF_COLLECTOR[propagation];
  const others = before.filter((finalizer) => !Object.values(OF_COLLECTOR).some((own) => own === finalizer));
  const after = wanted === "" ? others : [...others, wanted];
  if (after.length > 0) metadata.finalizers = after;
  else delete metadata.finalizers;
  return !sameJson(before, after);
}

/** Whether something outside holds the object until it takes its name off the list. */
function hasFinalizers(object: ApiObject): boolean {
  const own = object.kind === "Namespace" && isObject(object.spec) ? object.spec.finalizers : undefined;
  return [object.metadata.finalizers, own].some((list) => Array.isArray(list) && list.length > 0);
}

/** Whether an object that is to be deleted waits for nothing any more. */
export function mayGo({ metadata, ...rest }: ApiObject): boolean {
  if (metadata.deletionTimestamp === undefined || (metadata.deletionGracePeriodSeconds ?? 0) > 0) return false;
  return !hasFinalizers({ metadata, ...rest } as ApiObject);
}
