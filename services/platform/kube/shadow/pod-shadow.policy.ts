/** A pod in shadow mode: what the API shows, with the writes that were not sent on top. */
import type { PodShadow } from "../../../../protocols/objects.ts";
import type { BoundPod, KubeObject } from "../../../../protocols/ports.ts";
import { apiTime } from "../../../domain/api-time.ts";
import { listOf, recordOf } from "../../../structures/json.ts";
import { shadowVersion } from "./node-shadow.policy.ts";

/** The unsent writes that still differ from what the API shows; null when none does. */
export function settledPodShadow({ unreadyAt, deletedAt }: PodShadow, { pod }: BoundPod): PodShadow | null {
  const isUnready = unreadyAt !== undefined && pod.ready !== null && pod.ready !== "False";
  const isDeleted = deletedAt !== undefined && pod.deletionAt === null;
  if (!isUnready && !isDeleted) return null;
  return { ...(isUnready ? { unreadyAt } : {}), ...(isDeleted ? { deletedAt } : {}) };
}

/** A pod as Vigil would have left it: not ready, terminating. */
export function shadowedPod({ node, resourceVersion, pod }: BoundPod, shadow: PodShadow, revision: number): BoundPod {
  const { unreadyAt, deletedAt } = shadow;
  return {
    node,
    resourceVersion: shadowVersion(resourceVersion, revision),
    pod: {
      ...pod,
      ...(unreadyAt === undefined ? {} : { ready: "False" }),
      ...(deletedAt === undefined ? {} : { deletionAt: deletedAt }),
      shadow,
    },
  };
}

/** The same for a pod as the API sent it. */
export function shadowedPodObject(object: KubeObject, { unreadyAt, deletedAt }: PodShadow): KubeObject {
  const { metadata, status } = object;
  const conditions = listOf(recordOf(status).conditions).map((condition) =>
    unreadyAt !== undefined && recordOf(condition).type === "Ready"
      ? { ...recordOf(condition), status: "False", lastTransitionTime: apiTime(unreadyAt) }
      : condition,
  );
  return {
    ...object,
    metadata: { ...metadata, ...(deletedAt === undefined ? {} : { deletionTimestamp: apiTime(deletedAt) }) },
    status: { ...recordOf(status), conditions },
  };
}
