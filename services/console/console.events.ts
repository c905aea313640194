/** The event stream of the dashboard: server-sent events with a snapshot each second and every decision at once. */

import type { LedgerReader } from "../../protocols/ledger-reader.ts";
import type { Clock, Stop, Timer } from "../../protocols/ports.ts";
import { snapshotOf } from "./console.routes.ts";

/** How often a snapshot is sent, also without a change: it shows that the process is alive. */
export const SNAPSHOT_MS = 1000;
/** Pages that may follow at once. */
export const FOLLOWERS_MAX = 64;
/** Pages of one address that may follow at once, so that no client uses up all places. A browser opens six at most. */
export const FOLLOWERS_PER_CLIENT_MAX = 8;
const INITIAL_DECISIONS = 100;

/** A page that follows the stream. */
export interface Follower {
  /** Its address. */
  readonly client: string;
  /** Whether it wants only what happens from now on. */
  readonly isFromNow?: boolean;
  /** Sends text; false when the page reads too slowly and must be dropped. */
  send(text: string): boolean;
  end(): void;
}

/** Sends decisions and snapshots of the ledger to every follower. Its timer runs only while there is one. */
export class EventStream {
  readonly #clock: Clock;
  readonly #ledger: LedgerReader;
  readonly #followers = new Set<Follower>();
  #timer: Timer | null = null;
  readonly #stopListening: Stop;

  constructor(clock: Clock, ledger: LedgerReader) {
    this.#clock = clock;
    this.#ledger = ledger;
    this.#stopListening = ledger.onDecision((decision) => this.#broadcast(eventText("decision", decision)));
  }

  /** Adds a follower; false when there are too many, or too many of its address. */
  follow(follower: Follower): boolean {
    if (this.#followers.size >= FOLLOWERS_MAX) return false;
    const alike = [...this.#followers].filter(({ client }) => client === follower.client);
    if (alike.length >= FOLLOWERS_PER_CLIENT_MAX) return false;
    this.#followers.add(follower);
    // The snapshot first: its instant is the one by which a page reads those of the decisions.
    this.#send(follower, eventText("snapshot", snapshotOf(this.#ledger)));
    const past = follower.isFromNow ? [] : this.#ledger.decisions(INITIAL_DECISIONS).toReversed();
    this.#send(follower, past.map((decision) => eventText("decision", decision)).join(""));
    if (this.#timer === null) this.#tick();
    return true;
  }

  /** Removes a follower that disconnected. */
  leave(follower: Follower): void {
    this.#followers.delete(follower);
  }

  /** Ends every follower's stream. */
  stop(): void {
    this.#stopListening();
    this.#timer?.cancel();
    for (const follower of this.#followers) follower.end();
    this.#followers.clear();
  }

  #tick(): void {
    this.#timer = this.#clock.after(SNAPSHOT_MS, () => {
      this.#timer = null;
      if (this.#followers.size === 0) return;
      this.#broadcast(eventText("snapshot", snapshotOf(this.#ledger)));
      this.#tick();
    });
  }

  #broadcast(text: string): void {
    for (const follower of this.#followers) this.#send(follower, text);
  }

  #send(follower: Follower, text: string): void {
    if (text === "" || follower.send(text)) return;
    this.#followers.delete(follower);
    follower.end();
  }
}

/** One server-sent event. JSON contains no line break, so one `data` line is enough. */
function eventText(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
