/** How the pods of a node are evicted in direct mode, by `evictions` of its policy. */
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { Io } from "../../../protocols/ports.ts";
import { nodeFreezeOf } from "../../domain/freeze.ts";
import { appliedPolicyOf, ratedPolicyOf } from "../../domain/node-policy.ts";
import { deleteAt } from "../../domain/refused-eviction.ts";

/** What a request to evict a pod contains, and when it is repeated. */
interface EvictionTerms {
  readonly request: Pick<BodyOf<"asked.eviction">, "deadlineAt" | "policy">;
  /** After how many milliseconds; null if its backoff decides. */
  readonly againAfterMs: number | null;
}

/**
 * A pod is due when its eviction is requested. If the policy deletes a pod that the Eviction API refuses for too long,
 * the pod is due since its first request, because that time counts from there. Its eviction is requested again when
 * that time is over.
 */
export function evictionTermsOf(
  { policies, clock }: Pick<Io, "policies" | "clock">,
  node: ObservedNode,
): (dueForMs: number) => EvictionTerms {
  const set = policies.current();
  const rated = ratedPolicyOf(node, set);
  const settings = appliedPolicyOf(node, set)?.evictions ?? null;
  const wallMs = clock.wallMs();
  const { frozen } = nodeFreezeOf(node, set, wallMs);
  return (dueForMs) => {
    const deadlineAt = settings?.method === "EvictThenDelete" ? wallMs - dueForMs : wallMs;
    const deletedAt = settings === null ? null : deleteAt(settings, { deadlineAt, frozen });
    return {
      request: { deadlineAt, ...(rated === null ? {} : { policy: rated.name }) },
      againAfterMs: deletedAt !== null && deletedAt > wallMs ? deletedAt - wallMs : null,
    };
  };
}
