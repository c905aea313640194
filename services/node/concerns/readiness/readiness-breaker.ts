/** The concern of breakers with `holds: [Readiness]`: while one is open, the pods of silent nodes are not marked. */
import { readyConditionOf } from "../../../domain/node-conditions.ts";
import type { LimitBlocks } from "../../../platform/node-policies/limit-blocks.ts";
import type { Concern, Finding, PolicyView } from "../concern.ts";

/** Keeps the pods of one node ready. */
export class ReadinessBreaker implements Concern {
  readonly #limits: LimitBlocks;

  constructor(limits: LimitBlocks) {
    this.#limits = limits;
  }

  review({ node, policy, since, at }: PolicyView): Finding {
    if (readyConditionOf(node)?.status !== "Unknown") return {};
    const isHeld = this.#limits.blocksMarks(policy ?? null, since, at.nowMs);
    return isHeld ? { keepsPodsReady: true, waitsFor: "limits" } : {};
  }
}
