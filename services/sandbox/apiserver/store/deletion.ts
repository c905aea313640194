/** What a delete does to an object: nothing, a mark, or removal. Pure, except that it marks its argument. */
import { apiTime, epochMsOf } from "../../../domain/api-time.ts";
import { type ApiObject, childObject, isObject, sameJson } from "../api-objects.ts";
import type { StorageName } from "../resources.ts";
import { STRATEGIES } from "./strategy.ts";

/** The options of a delete; null where absent. */
export interface DeleteOptions {
  readonly uid: string | null;
  readonly resourceVersion: string | null;
  readonly gracePeriodSeconds: number | null;
  /** What happens to dependents; absent for the kind's default. */
  readonly propagation?: Propagation;
}

/** How a deletion treats dependents. */
export const PROPAGATIONS = ["Foreground", "Background", "Orphan"] as const;
/** One of PROPAGATIONS. */
export type Propagation = (typeof PROPAGATIONS)[number];

/** The finalizers of the garbage collector, which removes them when it has finished. The embedded server has none. */
const OF_COLLECTOR: Readonly<Record<Propagation, string>> = {
  Foreground: "foregroundDeletion",
  Background: "",
  Orphan: "orphan",
};

/** The result of marking: the object was marked, was left as it is, or goes without a mark. */
export type Marking = "marked" | "unchanged" | "unmarked";

/** Marks an object for deletion where its kind, finalizers or grace period require that; changes `object`. */
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
    // A running grace period may be shortened, never lengthened.
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
  // A namespace waits for its content to be deleted, however long that takes.
  if (storage === "namespaces") object.status = { ...childObject(object, "status"), phase: "Terminating" };
  else meta.deletionGracePeriodSeconds = grace ?? 0;
  return "marked";
}

/** Sets the garbage collector's finalizer that this delete asks for; returns whether that changed the object. */
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

/** Whether finalizers hold the object. */
function hasFinalizers(object: ApiObject): boolean {
  const own = object.kind === "Namespace" && isObject(object.spec) ? object.spec.finalizers : undefined;
  return [object.metadata.finalizers, own].some((list) => Array.isArray(list) && list.length > 0);
}

/** Whether an object marked for deletion can be removed. */
export function mayGo({ metadata, ...rest }: ApiObject): boolean {
  if (metadata.deletionTimestamp === undefined || (metadata.deletionGracePeriodSeconds ?? 0) > 0) return false;
  return !hasFinalizers({ metadata, ...rest } as ApiObject);
}
