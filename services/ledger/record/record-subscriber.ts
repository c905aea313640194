/** Records what happened: each message in the history of its object, and the last state of each object in the store. */
import type { Decision, LedgerReader, Subject } from "../../../protocols/ledger-reader.ts";
import type { AnyMessage } from "../../../protocols/messages.ts";
import type { NamedText } from "../../domain/format.ts";
import type { LedgerSetup } from "../ledger.setup.ts";
import { ClusterState } from "../state/cluster-state.ts";
import { type EntryHead, History } from "./history.ts";
import { type DatedText, historyEntriesOf, nodeOf, subjectOf } from "./history-text.policy.ts";
import { lastStateOf } from "./last-state.policy.ts";
import type { LedgerStore } from "./ledger.store.ts";

/** The history and its listeners. */
export class RecordSubscriber {
  readonly history = new History();
  readonly #state: ClusterState;
  readonly #store: LedgerStore | null;
  readonly #listeners = new Set<(decision: Decision) => void>();
  /** What earlier ledgers stored of the nodes that this one has not seen judged yet. */
  readonly #restored = new ClusterState();

  constructor({ store }: Pick<LedgerSetup, "store">, state: ClusterState) {
    this.#state = state;
    this.#store = store;
  }

  /** Records a message, given the state before it, and returns what it added. The owner of its shard stores it. */
  onMessage(message: AnyMessage, isOurs: boolean): Decision | null {
    if (isOurs) this.#keepLastState(message);
    const isKnown = message.type !== "judged.node" || this.#state.nodes.get(message.body.node)?.judged != null;
    const before = isKnown || this.#isReplaced(message) ? this.#state : this.#restored;
    return this.#published(this.#add(message, before), nodeOf(message));
  }

  /** Records an entry that is a part of a message. */
  addEntry(head: EntryHead, subject: Subject, text: NamedText): void {
    this.#published(this.history.addEntry(head, subject, text), null);
  }

  /** Records a stored message, which no listener receives. */
  restore(message: AnyMessage): void {
    this.#add(message, this.#restored);
    if (message.type === "judged.node") this.#restored.apply(message);
  }

  /** Whether a judgement is of an earlier node than the present one of that name. */
  #isReplaced({ body }: AnyMessage): boolean {
    const observed = "node" in body ? this.#state.nodes.get(body.node)?.observed : null;
    return observed != null && "uid" in body && observed.uid !== body.uid;
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
    const { type, id } = message;
    const subject = subjectOf(message);
    const isKept = ({ text, at }: DatedText): boolean =>
      type === "judged.node" &&
      this.history.of(subject).some((kept) => kept.type === type && kept.text === text.text && kept.at === at);
    const entries = historyEntriesOf(message, before).filter((entry) => !isKept(entry));
    const last = entries.at(-1);
    if (last === undefined) return this.history.add(message, subject, null);
    for (const [index, { text, at }] of entries.slice(0, -1).entries()) {
      this.history.add({ ...message, id: `${id}/${index}`, at }, subject, text);
    }
    return this.history.add({ ...message, at: last.at }, subject, last.text);
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
