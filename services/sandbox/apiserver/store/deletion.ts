/** What a delete does to an object: nothing, a mark, or removal. Pure, except that it marks its argument. */
import { apiTime, epochMsOf } from "../../../domain/api-time.ts";
import { type ApiObject, isObject } from "../api-objects.ts";
import type { Resource } from "../resources.ts";
import { strategyOf } from "./strategy.ts";

/** The options of a delete; null where absent. Without a garbage collector, propagation has no effect. */
export interface DeleteOptions {
  readonly uid: string | null;
  readonly resourceVersion: string | null;
  readonly gracePeriodSeconds: number | null;
  readonly dryRun?: true;
}

/** The result of marking: the object was marked, was left as it is, or is deleted without a mark. */
export type Marking = "marked" | "unchanged" | "unmarked";

/** Marks an object for deletion where its kind, finalizers or grace period require that; changes `object`. */
export function markForDeletion(
  resource: Resource,
  object: ApiObject,
  { gracePeriodSeconds: asked }: Pick<DeleteOptions, "gracePeriodSeconds">,
  wallMs: number,
): Marking {
  const meta = object.metadata;
  const strategy = strategyOf(resource);
  const grace = strategy.graceSeconds(object, asked);
  if (meta.deletionTimestamp !== undefined) {
    const present = meta.deletionGracePeriodSeconds ?? 0;
    // A running grace period may be shortened, never lengthened. Example: a delete with 30 s at 12:00:00 sets 12:00:30;
    // another with 10 s sets 12:00:10, and one with 60 s changes nothing.
    if (grace === null || asked === null || asked >= present) return "unchanged";
    const askedAt = (epochMsOf(meta.deletionTimestamp) ?? 0) - present * 1000;
    meta.deletionTimestamp = apiTime(askedAt + asked * 1000);
    meta.deletionGracePeriodSeconds = asked;
    return "marked";
  }
  strategy.prepareDelete(object);
  if (grace === null && !hasFinalizers(object)) return "unmarked";
  meta.deletionTimestamp = apiTime(wallMs + (grace ?? 0) * 1000);
  if (meta.generation !== undefined) meta.generation += 1;
  // A namespace waits until its content is deleted, without a time limit.
  if (resource.storage !== "namespaces") meta.deletionGracePeriodSeconds = grace ?? 0;
  return "marked";
}

function hasFinalizers(object: ApiObject): boolean {
  const own = object.kind === "Namespace" && isObject(object.spec) ? object.spec.finalizers : undefined;
  return [object.metadata.finalizers, own].some((list) => Array.isArray(list) && list.length > 0);
}

/** Whether an object marked for deletion can be removed. */
export function mayGo({ metadata, ...rest }: ApiObject): boolean {
  if (metadata.deletionTimestamp === undefined || (metadata.deletionGracePeriodSeconds ?? 0) > 0) return false;
  return !hasFinalizers({ metadata, ...rest } as ApiObject);
}
