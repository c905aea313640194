/**
 * The pods that a drain will delete (direct mode). Nothing is published of such a pod before the turn of its node, so
 * the ledger keeps the pods of the nodes that are not ready. It decides nothing.
 */

import type { PendingEviction } from "../../protocols/ledger-reader.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode, ObservedPod } from "../../protocols/objects.ts";
import { needsPods } from "../domain/node-conditions.ts";
import { ShardPods } from "../platform/shard-view/shard-pods.ts";
import type { ClusterState, NodeRecord } from "./cluster-state.ts";
import { grantAt, isRecent, placeOf } from "./explain/queue.policy.ts";

/** Pods by node, as last observed. */
export class DrainPods {
  readonly #pods = new ShardPods();

  /** Takes a node as observed: pods of a ready one are not published any more. */
  see(node: ObservedNode): void {
    if (!needsPods(node)) this.lose(node.node);
  }

  /** Takes a chunk of a node's pods. */
  seePods(body: BodyOf<"observed.pods">): void {
    this.#pods.take(body);
  }

  /** Forgets the pods of a node that left. */
  lose(node: string): void {
    this.#pods.drop(node);
  }

  /** Every pod whose node is ahead of its drain, with the earliest instant; `now` in epoch milliseconds. */
  *ahead(facts: ClusterState, now: number): Generator<PendingEviction> {
    for (const node of facts.nodes.values()) {
      const { judged, name } = node;
      if (judged?.eviction !== "toBeEvicted" && judged?.evictionFromAt === undefined) continue;
      const deadlineAt = drainAt(node, facts, now);
      const fields = { node: name, deadlineAt, taint: null, tolerationSeconds: null, isEarliest: true } as const;
      for (const pod of this.#pods.of(name)?.pods ?? []) {
        const { namespace, name: podName, uid } = pod;
        if (isDrained(pod) && facts.pods.get(uid) === undefined) yield { namespace, name: podName, uid, ...fields };
      }
    }
  }
}

/** Whether a drain deletes a pod: those of DaemonSets stay, and terminating ones are on their way already. */
function isDrained({ owner, deletionAt }: ObservedPod): boolean {
  return owner !== "DaemonSet" && deletionAt === null;
}

/** When a node is drained at the earliest, epoch milliseconds; null when that cannot be foretold. */
function drainAt({ name, judged }: NodeRecord, facts: ClusterState, now: number): number | null {
  if (judged === null || judged.eviction !== "toBeEvicted") return judged?.evictionFromAt ?? null;
  const zone = facts.zones.get(judged.zone);
  const place = placeOf(name, zone);
  if (zone === undefined || place === null || !isRecent(zone, now)) return null;
  const at = grantAt(place, zone);
  return at === null ? null : Math.max(at, now);
}
