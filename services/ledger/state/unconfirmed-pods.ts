/**
 * The pods that were pending when an earlier ledger ended, or when messages about them were lost. What happened to them
 * meanwhile is not published again. So each stays pending until it is judged, the pods of its node are known, or its
 * node evicts no pods.
 */
import type { BodyOf, Message } from "../../../protocols/messages.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { shardOf } from "../../../protocols/subjects.ts";
import { needsPods } from "../../domain/node-conditions.ts";
import { hasCompleted, noExecuteTaints } from "../../domain/toleration.ts";
import { ShardPods } from "../../platform/shard-view/shard-pods.ts";
import type { ClusterState } from "./cluster-state.ts";
import { targetOf } from "./pod-records.ts";

/** Pods by node, until they are confirmed. Present messages take precedence over restored ones. */
export class UnconfirmedPods {
  readonly #state: ClusterState;
  readonly #evictionMode: Profile["evictionMode"];
  readonly #uids = new Map<string, Set<string>>();
  readonly #pods = new ShardPods();

  constructor(state: ClusterState, { evictionMode }: Pick<Profile, "evictionMode">) {
    this.#state = state;
    this.#evictionMode = evictionMode;
  }

  /** Whether every pod is confirmed or forgotten. */
  get isEmpty(): boolean {
    return this.#uids.size === 0;
  }

  /** Whether a shard has pods that are neither confirmed nor forgotten. */
  hasAnyOf(shard: number): boolean {
    for (const node of this.#uids.keys()) if (shardOf(node) === shard) return true;
    return false;
  }

  /** Restores a pod from its stored judgement. */
  restore(message: Message<"judged.pod">): void {
    const { node, uid, eviction } = message.body;
    const observed = this.#state.nodes.get(node)?.observed ?? null;
    if (observed !== null && noExecuteTaints(observed.taints).length === 0) return;
    const uids = this.#uids.get(node) ?? new Set();
    if (this.#state.pods.get(uid) !== undefined && !uids.has(uid)) return;
    this.#state.apply(message);
    if (eviction === "none") this.confirm(message.body);
    else this.#uids.set(node, uids.add(uid));
  }

  /** Messages about the pods of a shard were lost: of those pending, some may be judged otherwise or gone. */
  onLoss(shard: number): void {
    for (const record of this.#state.pods.pending()) {
      const node = targetOf(record)?.node ?? "";
      const uid = (record.judged ?? record.asked)?.uid;
      if (uid === undefined || shardOf(node) !== shard) continue;
      this.#uids.set(node, (this.#uids.get(node) ?? new Set()).add(uid));
    }
  }

  /** Confirms a pod that has been judged since. */
  confirm({ node, uid }: Pick<BodyOf<"judged.pod">, "node" | "uid">): void {
    const uids = this.#uids.get(node);
    uids?.delete(uid);
    if (uids?.size === 0) this.#forget(node);
  }

  /** Forgets the pods of a node that carries no NoExecute taint or, in direct mode, is ready. */
  onNode(node: ObservedNode): void {
    const isEvicting = this.#evictionMode === "direct" ? needsPods(node) : noExecuteTaints(node.taints).length > 0;
    if (!isEvicting) this.drop(node.node);
  }

  /** Receives a chunk of a node's pods. Once all are here, forgets pods that are gone, terminating or completed. */
  onPods(body: BodyOf<"observed.pods">): void {
    const uids = this.#uids.get(body.node);
    const complete = uids === undefined ? null : this.#pods.onChunk(body);
    if (uids === undefined || complete === null) return;
    const staying = complete.pods.filter((pod) => pod.deletionAt === null && !hasCompleted(pod));
    const present = new Set(staying.map(({ uid }) => uid));
    for (const uid of uids) if (!present.has(uid)) this.#state.pods.drop(uid);
    this.#forget(body.node);
  }

  drop(node: string): void {
    for (const uid of this.#uids.get(node) ?? []) this.#state.pods.drop(uid);
    this.#forget(node);
  }

  /** Forgets the pods of nodes that do not exist; only for a shard whose nodes are all known. */
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
