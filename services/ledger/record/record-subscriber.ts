/** Records what happened: each message in the history of its object, and the last state of each object in the store. */
import type { Decision, LedgerReader, Subject } from "../../../protocols/ledger-reader.ts";
import type { AnyMessage } from "../../../protocols/messages.ts";
import type { NamedText } from "../../domain/format.ts";
import type { LedgerSetup } from "../ledger.setup.ts";
import { ClusterState } from "../state/cluster-state.ts";
import { type EntryHead, History } from "./history.ts";
import { historyTextOf, instantOf, nodeOf, subjectOf } from "./history-text.policy.ts";
import { lastStateOf } from "./last-state.policy.ts";
import type { LedgerStore } from "./ledger.store.ts";

const EMPTY_STATE = new ClusterState();

/** The history, and those who follow it. */
export class RecordSubscriber {
  readonly history = new History();
  readonly #state: ClusterState;
  readonly #store: LedgerStore | null;
  readonly #listeners = new Set<(decision: Decision) => void>();

  constructor({ store }: Pick<LedgerSetup, "store">, state: ClusterState) {
    this.#state = state;
    this.#store = store;
  }

  /** Records a message, given the state before it, and returns what it added. The owner of its shard stores it. */
  onMessage(message: AnyMessage, isOurs: boolean): Decision | null {
    if (isOurs) this.#keepLastState(message);
    return this.#published(this.#add(message, this.#state), nodeOf(message));
  }

  /** Records an entry that is a part of a message. */
  addEntry(head: EntryHead, subject: Subject, text: NamedText): void {
    this.#published(this.history.addEntry(head, subject, text), null);
  }

  /** Records a stored message, which no listener hears of. */
  restore(message: AnyMessage): void {
    this.#add(message, EMPTY_STATE);
  }

  /** Calls `listener` for every decision from now on. */
  readonly onDecision: LedgerReader["onDecision"] = (listener) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  stop(): void {
    this.#listeners.clear();
  }

  /** Republishing a verdict adds nothing. */
  #add(message: AnyMessage, before: ClusterState): Decision | null {
    const { type } = message;
    const [subject, text, at] = [subjectOf(message), historyTextOf(message, before), instantOf(message, before)];
    const isSame = (kept: Decision) => kept.type === type && kept.text === text?.text && kept.at === at;
    const isKept = text !== null && type === "judged.node" && this.history.of(subject).some(isSame);
    return this.history.add(at === message.at ? message : { ...message, at }, subject, isKept ? null : text);
  }

  #published(decision: Decision | null, node: string | null): Decision | null {
    if (decision === null || this.#listeners.size === 0) return decision;
    const published = node === null ? decision : { ...decision, node };
    for (const listener of this.#listeners) listener(published);
    return decision;
  }

  #keepLastState(message: AnyMessage): void {
    if (this.#store === null) return;
    const state = lastStateOf(message, this.#state);
    if (state?.action === "keep") this.#store.keep(state.key, message);
    if (state?.action === "forget") this.#store.forget(state.key);
  }
}
