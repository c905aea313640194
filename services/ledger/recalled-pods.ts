/**
 * The pods that waited when an earlier ledger ended, until their nodes are seen or known not to be there: what was
 * lifted meanwhile nobody tells. It judges nothing.
 */
import type { Message } from "../../protocols/messages.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { noExecuteTaints } from "../runtime/toleration.ts";
import type { Facts } from "./facts.ts";

/** Recalled pods by node. What is heard now always wins over what is recalled. */
export class RecalledPods {
  readonly #facts: Facts;
  readonly #uids = new Map<string, Set<string>>();

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  /** Takes what an earlier ledger knew of a pod. */
  take(message: Message<"judged.pod">): void {
    const { node, uid } = message.body;
    const seen = this.#facts.nodes.get(node)?.observed ?? null;
    if (seen !== null && noExecuteTaints(seen.taints).length === 0) return;
    const uids = this.#uids.get(node) ?? new Set();
    if (this.#facts.pods.get(uid) !== undefined && !uids.has(uid)) return;
    this.#facts.apply(message);
    this.#uids.set(node, uids.add(uid));
  }

  /** Forgets the pods of a node that carries no NoExecute taint; of any other node somebody else will speak. */
  see({ node, taints }: ObservedNode): void {
    if (noExecuteTaints(taints).length === 0) this.lose(node);
    else this.#uids.delete(node);
  }

  /** Forgets the pods of a node that left. */
  lose(node: string): void {
    for (const uid of this.#uids.get(node) ?? []) this.#facts.pods.drop(uid);
    this.#uids.delete(node);
  }

  /** Forgets the pods of nodes that are not there; only for a shard of which it is known which nodes there are. */
  loseStrangers(shard: number): void {
    for (const node of this.#uids.keys()) {
      if (shardOf(node) === shard && !this.#facts.nodes.get(node)?.observed) this.lose(node);
    }
  }
}
