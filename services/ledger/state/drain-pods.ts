/**
 * The pods that a drain will delete (direct mode). No message names such a pod before its node is drained, so the
 * ledger keeps the observed pods of nodes that are not ready.
 */
import type { PendingEviction } from "../../../protocols/ledger-reader.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedNode, ObservedPod } from "../../../protocols/objects.ts";
import { needsPods } from "../../domain/node-conditions.ts";
import { ShardPods } from "../../platform/shard-view/shard-pods.ts";
import type { ClusterState, NodeRecord } from "./cluster-state.ts";
import { grantAt, isRecent, placeOf } from "./waiting-nodes.policy.ts";

/** The pods of nodes that are not ready, as last observed. */
export class DrainPods {
  readonly #pods = new ShardPods();

  /** Forgets the pods of a ready node, because they are not published any more. */
  onNode(node: ObservedNode): void {
    if (!needsPods(node)) this.drop(node.node);
  }

  onPods(body: BodyOf<"observed.pods">): void {
    this.#pods.onChunk(body);
  }

  drop(node: string): void {
    this.#pods.drop(node);
  }

  /** Whether a drain would delete no pod of a node; false while its pods are not known. */
  isEmpty(node: string): boolean {
    return this.#pods.of(node)?.pods.some(isDrained) === false;
  }

  /** Every pod whose node will be drained, with the earliest time; `now` in epoch milliseconds. */
  *upcoming(state: ClusterState, now: number): Generator<PendingEviction> {
    for (const node of state.nodes.values()) {
      const { judged, name } = node;
      if (judged?.eviction !== "toBeEvicted" && judged?.evictionFromAt === undefined) continue;
      const deadlineAt = drainAt(node, state, now);
      const fields = { node: name, deadlineAt, taint: null, tolerationSeconds: null, isEarliest: true } as const;
      for (const pod of this.#pods.of(name)?.pods ?? []) {
        const { namespace, name: podName, uid } = pod;
        // A request of an earlier drain, which was cancelled, is over.
        const isDeleted = state.pods.get(uid)?.order === "done";
        if (isDrained(pod) && !isDeleted) yield { namespace, name: podName, uid, ...fields };
      }
    }
  }
}

/** Whether a drain deletes a pod: DaemonSet pods stay, and terminating pods need no deletion. */
function isDrained({ owner, deletionAt }: ObservedPod): boolean {
  return owner !== "DaemonSet" && deletionAt === null;
}

/** The earliest drain of a node, epoch milliseconds; null where it cannot be estimated. */
function drainAt({ name, judged }: NodeRecord, state: ClusterState, now: number): number | null {
  if (judged === null || judged.eviction !== "toBeEvicted") return judged?.evictionFromAt ?? null;
  const zone = state.zones.get(judged.zone);
  const place = placeOf(name, zone);
  if (zone === undefined || place === null || !isRecent(zone, now)) return null;
  const at = grantAt(place, zone);
  return at === null ? null : Math.max(at, now);
}
