/** What a delete does to an object: nothing, a mark that waits, or its end. Pure but for the object it marks. */
import { apiTime, epochMsOf } from "../runtime/api-time.ts";
import { type ApiObject, childObject, isObject } from "./objects.ts";
import type { StorageName } from "./resources.ts";
import { STRATEGIES } from "./strategy.ts";

/** What a delete asks for; null for what it leaves open. */
export interface DeleteOptions {
  readonly uid: string | null;
  readonly resourceVersion: string | null;
  readonly gracePeriodSeconds: number | null;
}

/** What a delete comes to: the object gets or changes its mark, is left as it is, or goes unmarked. */
export type Marking = "marked" | "unchanged" | "unmarked";

/** Sets the marks of a deletion where the kind, the finalizers or a grace period ask for them; changes `object`. */
export function markForDeletion(
  storage: StorageName,
  object: ApiObject,
  asked: number | null,
  wallMs: number,
): Marking {
  const meta = object.metadata;
  const grace = STRATEGIES[storage].graceSeconds(object, asked);
  if (meta.deletionTimestamp !== undefined) {
    const present = meta.deletionGracePeriodSeconds ?? 0;
    // A grace period that runs may be shortened, never lengthened.
    if (grace === null || asked === null || asked >= present) return "unchanged";
    const askedAt = (epochMsOf(meta.deletionTimestamp) ?? 0) - present * 1000;
    meta.deletionTimestamp = apiTime(askedAt + asked * 1000);
    meta.deletionGracePeriodSeconds = asked;
    return "marked";
  }
  if (grace === null && !hasFinalizers(object)) return "unmarked";
  meta.deletionTimestamp = apiTime(wallMs + (grace ?? 0) * 1000);
  if (meta.generation !== undefined) meta.generation += 1;
  // A namespace is emptied by others, however long that takes.
  if (storage === "namespaces") object.status = { ...childObject(object, "status"), phase: "Terminating" };
  else meta.deletionGracePeriodSeconds = grace ?? 0;
  return "marked";
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
