/**
 * Messages as the sentences of the ledger's history, printed as they arrive. A message that changes nothing has no
 * sentence, so the state before each message is kept.
 */
import type { Subject } from "../../../protocols/ledger-reader.ts";
import type { AnyMessage, MessageType } from "../../../protocols/messages.ts";
import { historyEntriesOf, historyTextOf, nodeOf, subjectOf } from "../../ledger/record/history-text.policy.ts";
import { ClusterState, reducedNode } from "../../ledger/state/cluster-state.ts";

/** What can be watched. */
export const BUS_TOPICS = ["nodes", "zones", "pods", "writes"] as const;
/** What can be watched. */
export type BusTopic = (typeof BUS_TOPICS)[number];

const TYPES: Readonly<Record<BusTopic, readonly MessageType[]>> = {
  nodes: ["observed.node", "observed.gone", "judged.node"],
  zones: ["judged.zone", "asked.drain"],
  pods: ["judged.pod"],
  writes: ["asked.condition", "asked.taint", "asked.label", "asked.eviction", "asked.unready", "done.write"],
};

/** The messages of some topics; of all when none is given. */
export function typesOf(topics: readonly BusTopic[]): readonly MessageType[] {
  return (topics.length === 0 ? BUS_TOPICS : topics).flatMap((topic) => TYPES[topic]);
}

/** A message as a sentence about its object. */
export interface BusSentence {
  /** When it happened, epoch milliseconds. */
  readonly at: number;
  readonly id: string;
  readonly cause: string | null;
  readonly type: string;
  readonly object: Subject;
  readonly text: string;
}

/** Turns messages into sentences, in their order. */
export class BusSentences {
  readonly #state = new ClusterState();
  readonly #node: string | null;

  /** With a node, only what is about that node or its pods. */
  constructor(node: string | null) {
    this.#node = node;
  }

  /** The sentence of a message; null for one that changes nothing or was not requested. */
  onMessage(message: AnyMessage): BusSentence | null {
    const { id, cause, type } = message;
    if (this.#node !== null && nodeOf(message) !== this.#node) return null;
    const text = historyTextOf(message, this.#state);
    const at = historyEntriesOf(message, this.#state).at(-1)?.at ?? message.at;
    this.#state.apply(message.type === "observed.node" ? { ...message, body: reducedNode(message.body) } : message);
    return text === null ? null : { at, id, cause, type, object: subjectOf(message), text: text.text };
  }
}
