/**
 * The time that each stage of an eviction of a wave lasts:
 *
 *   due ──waits──▶ mark requested ──▶ marked ──waits──▶ deletion requested ──▶ deleted
 *
 * It is read from the API server's own record of requests, which is the same for every controller.
 */
import type { AuditedRequest } from "../support/kube-audit.ts";
import type { EvictedPod, Wave } from "./evictions.ts";
import { mean } from "./measurements.ts";

/** The stages of an eviction, in order. Before 1.26 a pod is not marked, and the middle two last no time. */
export const STAGES = ["waits", "mark", "waits again", "deletion"] as const;

/** When each stage of one eviction ended, in milliseconds after the pod was due. */
export type StagedEviction = readonly [waited: number, marked: number, waitedAgain: number, deleted: number];

/** The evictions of a wave by stage, the one that ended first first. */
export function stagesOf({ pods }: Wave, requests: readonly AuditedRequest[]): readonly StagedEviction[] {
  const of = (wanted: Pick<AuditedRequest, "verb" | "resource">): ReadonlyMap<string, AuditedRequest> =>
    new Map(
      requests.flatMap((request) =>
        request.verb === wanted.verb && request.resource === wanted.resource && request.status < 300
          ? [[request.name, request]]
          : [],
      ),
    );
  const marks = of({ verb: "patch", resource: "pods/status" });
  const deletions = of({ verb: "delete", resource: "pods" });
  const staged = pods.flatMap(({ name, dueAt }: EvictedPod): StagedEviction[] => {
    const deletion = deletions.get(name);
    if (deletion === undefined) return [];
    const mark = marks.get(name) ?? { receivedAt: deletion.receivedAt, answeredAt: deletion.receivedAt };
    const [waited, marked] = [mark.receivedAt - dueAt, mark.answeredAt - dueAt];
    return [[waited, marked, deletion.receivedAt - dueAt, deletion.answeredAt - dueAt]];
  });
  return staged.toSorted((left, right) => left[3] - right[3]);
}

/** How long each stage lasted on average, in milliseconds; NaN without an eviction. */
export function meanStagesMs(evictions: readonly StagedEviction[]): readonly number[] {
  return STAGES.map((_, stage) => mean(evictions.map((ends) => (ends[stage] ?? 0) - (ends[stage - 1] ?? 0))));
}
