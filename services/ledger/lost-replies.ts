/**
 * Writes whose reply was lost. The API server may have carried such a write out, and only what is observed later shows
 * it. A change that is seen to have come true after an unknown outcome counts as written: the metrics count it, and
 * Events and history report it. Asks and outcomes go in; what comes out is what the rest of the ledger hears.
 */
import type { AnyMessage, Message } from "../../protocols/messages.ts";
import { ConditionType } from "../../protocols/names.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { taintName } from "../domain/toleration.ts";
import { BoundedMap } from "../platform/structures/bounded-map.ts";
import { type ByType, dispatch } from "./by-type.ts";

/** Writes remembered at once; beyond it the oldest stay unknown. */
const WRITES_MAX = 20_000;

const SHOWN_BY_NODE = "the reply was lost, and the node shows the change";
const SHOWN_BY_POD = "the reply to an earlier try was lost, and the pod shows the change";

/** The newest write of a kind that was asked for about a node. */
interface PendingNodeWrite {
  /** Id of the ask. */
  readonly ask: string;
  readonly isShownBy: (node: ObservedNode) => boolean;
  /** Whether the node was seen with the change since the ask. */
  isShown: boolean;
  /** Its outcome, when the reply was lost. */
  lost: Message<"done.write"> | null;
}

/** Follows writes until their reply or the object shows what came of them. */
export class LostReplies {
  /** By type of ask and uid of the node. */
  readonly #nodeWrites = new BoundedMap<string, PendingNodeWrite>(WRITES_MAX);
  /** What was written, by type of ask and uid of the pod; only where the reply was lost. */
  readonly #podChanges = new BoundedMap<string, string>(WRITES_MAX);
  readonly #take: ByType<[], readonly AnyMessage[] | undefined> = {
    "asked.condition": (message) => this.#askCondition(message),
    "asked.taint": (message) => this.#askTurn(message),
    "observed.node": (message) => this.#observe(message),
    "observed.gone": ({ body }) => this.#forget(body.uid),
    "done.write": (message) => (message.body.kind === "Pod" ? this.#settlePod(message) : this.#settleNode(message)),
  };

  /** Takes a message. Returns what it comes to: itself or corrected, beside the writes that it confirms. */
  take(message: AnyMessage): readonly AnyMessage[] {
    return dispatch(this.#take, message) ?? [message];
  }

  #askCondition({ id, body }: Message<"asked.condition">): undefined {
    const wanted = body.conditions.find(({ type }) => type === ConditionType.ready);
    if (wanted === undefined) return;
    const isShownBy = (node: ObservedNode) => readyConditionOf(node)?.status === wanted.status;
    this.#nodeWrites.set(`asked.condition/${body.uid}`, { ask: id, isShownBy, isShown: false, lost: null });
  }

  /** Only a turn is counted, and only a turn is not tried again by its writer, which would find it done. */
  #askTurn({ id, body: { uid, add, why } }: Message<"asked.taint">): undefined {
    if (why !== "granted") return;
    const wanted = add.map(taintName);
    const isShownBy = ({ taints }: ObservedNode) => {
      const standing = new Set(taints.map(taintName));
      return wanted.every((name) => standing.has(name));
    };
    this.#nodeWrites.set(`asked.taint/${uid}`, { ask: id, isShownBy, isShown: false, lost: null });
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
    if (write === undefined || write.ask !== message.cause) return [message];
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
    // A pod that only was to be marked and is gone shows nothing.
    if (outcome === "gone" && ask !== "asked.eviction") return [message];
    return [{ ...message, body: { ...message.body, outcome: "ok", change: lost, detail: SHOWN_BY_POD } }];
  }
}

function keysOf(uid: string): readonly string[] {
  return [`asked.condition/${uid}`, `asked.taint/${uid}`];
}

/** The outcome of a write as the node shows it. */
function confirmed(lost: Message<"done.write">, at: number): Message<"done.write"> {
  const body = { ...lost.body, outcome: "ok", retrying: false, detail: SHOWN_BY_NODE } as const;
  return { ...lost, id: `${lost.id}/shown`, at, body };
}
