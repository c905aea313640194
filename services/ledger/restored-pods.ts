/**
 * The pods that waited when an earlier ledger ended. What happened to them while no ledger ran, nobody publishes again:
 * each waits until the pods of its node are known, or until its node is seen without a NoExecute taint, or not at all.
 * It judges nothing.
 */
import type { BodyOf, Message } from "../../protocols/messages.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { hasCompleted, noExecuteTaints } from "../domain/toleration.ts";
import { ShardPods } from "../platform/shard-view/shard-pods.ts";
import type { ClusterState } from "./cluster-state.ts";

/** Recalled pods by node, until they are confirmed. What is heard now always wins over what is recalled. */
export class RestoredPods {
  readonly #state: ClusterState;
  readonly #uids = new Map<string, Set<string>>();
  readonly #pods = new ShardPods();

  constructor(state: ClusterState) {
    this.#state = state;
  }

  /** Whether every recalled pod is confirmed or forgotten. */
  get isEmpty(): boolean {
    return this.#uids.size === 0;
  }

  /** Whether pods of a shard's nodes are neither confirmed nor forgotten. */
  hasAnyOf(shard: number): boolean {
    for (const node of this.#uids.keys()) if (shardOf(node) === shard) return true;
    return false;
  }

  /** Takes what an earlier ledger knew of a pod. */
  take(message: Message<"judged.pod">): void {
    const { node, uid, eviction } = message.body;
    const seen = this.#state.nodes.get(node)?.observed ?? null;
    if (seen !== null && noExecuteTaints(seen.taints).length === 0) return;
    const uids = this.#uids.get(node) ?? new Set();
    if (this.#state.pods.get(uid) !== undefined && !uids.has(uid)) return;
    this.#state.apply(message);
    if (eviction === "none") this.confirm(message.body);
    else this.#uids.set(node, uids.add(uid));
  }

  /** Takes word that a pod has been judged since: it is not a recalled one any more. */
  confirm({ node, uid }: Pick<BodyOf<"judged.pod">, "node" | "uid">): void {
    const uids = this.#uids.get(node);
    uids?.delete(uid);
    if (uids?.size === 0) this.#forget(node);
  }

  /** Forgets the pods of a node that carries no NoExecute taint. */
  takeNode({ node, taints }: ObservedNode): void {
    if (noExecuteTaints(taints).length === 0) this.drop(node);
  }

  /** Takes a chunk of a node's pods. Once all chunks are there, forgets the pods that have left or are leaving. */
  takePods(body: BodyOf<"observed.pods">): void {
    const uids = this.#uids.get(body.node);
    const whole = uids === undefined ? null : this.#pods.take(body);
    if (uids === undefined || whole === null) return;
    const staying = whole.pods.filter((pod) => pod.deletionAt === null && !hasCompleted(pod));
    const present = new Set(staying.map(({ uid }) => uid));
    for (const uid of uids) if (!present.has(uid)) this.#state.pods.drop(uid);
    this.#forget(body.node);
  }

  /** Forgets the pods of a node that left. */
  drop(node: string): void {
    for (const uid of this.#uids.get(node) ?? []) this.#state.pods.drop(uid);
    this.#forget(node);
  }

  /** Forgets the pods of nodes that are not there; only for a shard whose nodes are all known. */
  dropAbsent(shard: number): void {
    for (const node of this.#uids.keys()) {
      if (shardOf(node) === shard && !this.#state.nodes.get(node)?.observed) this.drop(node);
    }
  }

  #forget(node: string): void {
    this.#uids.delete(node);
    this.#pods.drop(node);
  }
}
