/**
 * Writes whose reply was lost. The API server may have carried such a write out, and only later observations show it.
 * Once a change shows after an unknown outcome, the write counts as done: metrics, Events and history report it. A
 * change that the API attributes to another client is not Vigil's. Requests and outcomes pass through here on their way
 * to the rest of the ledger.
 */
import type { AnyMessage, Message } from "../../../protocols/messages.ts";
import { ConditionType, FIELD_MANAGER } from "../../../protocols/names.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import { taintName } from "../../domain/toleration.ts";
import { BoundedMap } from "../../structures/bounded-map.ts";
import { type ByType, dispatch } from "../by-type.ts";

/** Writes kept at once; beyond it the oldest stay unknown. */
const WRITES_MAX = 20_000;

/** Why a write whose reply was lost counts as done: no request of it is open any more. */
export const SHOWN_BY_NODE = "the reply was lost, and the node shows the change";
const SHOWN_BY_POD = "the reply to an earlier try was lost, and the pod shows the change";

/** The newest requested write of a type for a node. */
interface PendingNodeWrite {
  readonly requestId: string;
  readonly isShownBy: (node: ObservedNode) => boolean;
  /** Whether the node has shown the change since the request. */
  isShown: boolean;
  /** Its outcome, when the reply was lost. */
  lost: Message<"done.write"> | null;
}

/** Follows writes until their reply or the object shows the outcome. */
export class LostReplies {
  /** By request type and uid of the node. */
  readonly #nodeWrites = new BoundedMap<string, PendingNodeWrite>(WRITES_MAX);
  /** The written change where the reply was lost, by request type and uid of the pod. */
  readonly #podChanges = new BoundedMap<string, string>(WRITES_MAX);
  readonly #handlers: ByType<[], readonly AnyMessage[] | undefined> = {
    "asked.condition": (message) => this.#requestCondition(message),
    "asked.taint": (message) => this.#requestGrant(message),
    "observed.node": (message) => this.#observe(message),
    "observed.gone": ({ body }) => this.#forget(body.uid),
    "done.write": (message) => (message.body.kind === "Pod" ? this.#settlePod(message) : this.#settleNode(message)),
  };

  /** Returns a message, corrected where needed, after the writes that it confirms. */
  onMessage(message: AnyMessage): readonly AnyMessage[] {
    return dispatch(this.#handlers, message) ?? [message];
  }

  #requestCondition({ id, body }: Message<"asked.condition">): undefined {
    const wanted = body.conditions.find(({ type }) => type === ConditionType.ready);
    if (wanted === undefined) return;
    this.#follow(`asked.condition/${body.uid}`, id, (node) => {
      return readyConditionOf(node)?.status === wanted.status && mayBeOurs(node.writtenBy?.ready);
    });
  }

  /** Only grants: they are counted, and their writer does not retry them, which would show that they are done. */
  #requestGrant({ id, body: { uid, add, why } }: Message<"asked.taint">): undefined {
    if (why !== "granted") return;
    const wanted = add.map(taintName);
    this.#follow(`asked.taint/${uid}`, id, ({ taints, writtenBy }) => {
      const present = new Set(taints.map(taintName));
      return wanted.every((name) => present.has(name)) && mayBeOurs(writtenBy?.taints);
    });
  }

  #follow(key: string, requestId: string, isShownBy: PendingNodeWrite["isShownBy"]): void {
    this.#nodeWrites.set(key, { requestId, isShownBy, isShown: false, lost: null });
  }

  #observe(message: Message<"observed.node">): readonly AnyMessage[] {
    const shown: AnyMessage[] = [];
    for (const key of keysOf(message.body.uid)) {
      const write = this.#nodeWrites.get(key);
      if (write?.isShownBy(message.body) !== true) continue;
      write.isShown = true;
      if (write.lost === null) continue;
      this.#nodeWrites.delete(key);
      shown.push(confirmed(write.lost, message.at));
    }
    return [...shown, message];
  }

  #forget(uid: string): undefined {
    for (const key of keysOf(uid)) this.#nodeWrites.delete(key);
  }

  #settleNode(message: Message<"done.write">): readonly AnyMessage[] {
    const { ask, uid, outcome, retrying } = message.body;
    const key = `${ask}/${uid}`;
    const write = this.#nodeWrites.get(key);
    if (write === undefined || write.requestId !== message.cause) return [message];
    if (outcome === "unknown" && !write.isShown) write.lost = message;
    else if (outcome === "unknown" || !retrying) this.#nodeWrites.delete(key);
    return outcome === "unknown" && write.isShown ? [message, confirmed(message, message.at)] : [message];
  }

  #settlePod(message: Message<"done.write">): readonly AnyMessage[] {
    const { ask, uid, outcome, change } = message.body;
    const key = `${ask}/${uid}`;
    if (outcome === "unknown") {
      this.#podChanges.set(key, change);
      return [message];
    }
    const lost = this.#podChanges.get(key);
    const isDone = outcome === "gone" || outcome === "ok";
    if (isDone || outcome === "refused") this.#podChanges.delete(key);
    if (lost === undefined || !isDone || change !== "") return [message];
    // A pod that was only to be marked NotReady and is gone shows nothing.
    if (outcome === "gone" && ask !== "asked.eviction") return [message];
    return [{ ...message, body: { ...message.body, outcome: "ok", change: lost, detail: SHOWN_BY_POD } }];
  }
}

/** Whether a change that the API shows may be Vigil's, by its field manager, which is not always known. */
function mayBeOurs(manager: string | undefined): boolean {
  return manager === undefined || manager === FIELD_MANAGER;
}

function keysOf(uid: string): readonly string[] {
  return [`asked.condition/${uid}`, `asked.taint/${uid}`];
}

function confirmed(lost: Message<"done.write">, at: number): Message<"done.write"> {
  const body = { ...lost.body, outcome: "ok", retrying: false, detail: SHOWN_BY_NODE } as const;
  return { ...lost, id: `${lost.id}/shown`, at, body };
}
