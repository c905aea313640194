/** Writes to a pod's status, and the results of writes to pods. */
import type { PodShadow } from "../../protocols/objects.ts";
import type { Kube, WriteReply } from "../../protocols/ports.ts";
import type { PatchOperation } from "../platform/requests/guarded-patch.ts";
import { type TryResult, written } from "../platform/requests/write-jobs.ts";
import { type PodRequest, refOf, urgencyOf } from "./pod-request.ts";
import type { StatusPatch } from "./pod-writer.policy.ts";

/** A patch of a pod's status; `readAtMs` is when the older of its reads was answered. */
export interface StatusWrite {
  readonly patch?: "strategic" | "json";
  /** Makes the patch when it is sent: a condition contains the instant of the write. */
  readonly bodyAtSend: () => StatusPatch | readonly PatchOperation[] | null;
  readonly readAtMs: number;
  /** Set if a deletion follows. */
  readonly stepsBefore?: 1;
}

/** Patches the status of the pod of a request. */
export function patchStatus(
  kube: Pick<Kube, "write">,
  request: PodRequest,
  { patch = "strategic", bodyAtSend, ...place }: StatusWrite,
  done: (reply: WriteReply) => void,
): void {
  const where = { ref: refOf(request), urgency: urgencyOf(request), subresource: "status", ...place } as const;
  kube.write({ ...where, verb: "patch", patch, bodyAtSend }, done);
}

/** The result of a write; a shadowed one carries what it would have changed. */
export function writtenOr(reply: WriteReply, change: string, podShadow: PodShadow): TryResult {
  const result = written(reply, change);
  return reply.outcome === "shadowed" ? { ...result, podShadow } : result;
}
