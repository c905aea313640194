/**
 * Stores the ledger's history beyond its process: a JetStream stream in which the server stores all judged, asked and
 * done messages, and a bucket with the last state of every object. Without JetStream nothing is stored. An edge.
 */
import { type ConsumerMessages, DeliverPolicy, type JetStreamClient, jetstream } from "@nats-io/jetstream";
import type { KV } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/nats-core";
import type { AnyMessage } from "../../protocols/messages.ts";
import type { Io, Stop, Timer } from "../../protocols/ports.ts";
import { decode, encode, MalformedMessage } from "../../protocols/wire.ts";
import { type RetrySettings, retryPauseMs } from "../platform/structures/retry-schedule.ts";
import {
  type HistoryOf,
  openStreams,
  removePredecessors,
  STANDARD_LIMITS,
  type StoreLimits,
  storeNames,
  streamOfBucket,
} from "./ledger.store.streams.ts";

/** Concurrent writes to the bucket. */
const PUTS_UNDER_WAY_MAX = 32;
/** Last states that wait to be written; beyond it new ones are dropped and counted. */
const PUTS_WAITING_MAX = 50_000;
/** How long a replay waits for its next message. */
const REPLAY_IDLE_MS = 5_000;
/** The first pause is short, because a NATS cluster that has just started refuses streams until it has a leader. */
const RETRY: RetrySettings = { baseMs: 1_000, maxMs: 60_000 };

/** The ledger's store. Nothing waits for it, and nothing fails with it. */
export interface LedgerStore {
  /** Passes the stored messages to `receive` once JetStream is available, for each ledger that calls it. */
  restore(receive: (message: AnyMessage) => void): void;
  /** Stores a message as the last state of its object. */
  keep(key: string, message: AnyMessage): void;
  /** Deletes an object's last state. */
  forget(key: string): void;
  /** Whether JetStream is available. */
  ready(): boolean;
  close(): void;
}

/** What a store needs. */
export interface StoreOptions extends Pick<Io, "clock" | "log" | "metrics"> {
  /** Connects to the account that has JetStream; called again after a failure. */
  readonly connect: () => Promise<NatsConnection>;
  readonly cluster: string;
  /** Uid of the cluster's kube-system namespace; null where it is not known, so that nothing is stored. */
  readonly clusterUid: string | null;
  readonly limits?: Partial<StoreLimits>;
}

/** Opens the store in the background. */
export function openLedgerStore(options: StoreOptions): LedgerStore {
  return new JetStreamStore(options);
}

interface OpenStreams {
  readonly connection: NatsConnection;
  readonly bucket: KV;
}

class JetStreamStore implements LedgerStore {
  readonly #options: StoreOptions;
  readonly #history: HistoryOf | null;
  readonly #limits: StoreLimits;
  readonly #ready: { set(value: number): void };
  readonly #count: (result: string) => void;
  readonly #unreadable: { add(count: number): void };
  /** The newest pending write of each key; null deletes the key. */
  readonly #waiting = new Map<string, Uint8Array | null>();
  readonly #tombstoneTtl: string;
  #underWay = 0;
  #open: OpenStreams | null = null;
  #receive: ((message: AnyMessage) => void) | null = null;
  #retry: Timer | null = null;
  #replayRetry: Timer | null = null;
  /** Failures since the last success. */
  #failures = 0;
  /** Whether stream and bucket are being re-created, or were within the last pause. */
  #recreating = false;
  /** Whether the last try found no JetStream, or the store is closed. */
  #absent = false;
  #closed = false;

  constructor(options: StoreOptions) {
    const { cluster, clusterUid } = options;
    this.#options = options;
    this.#history = clusterUid === null ? null : { cluster, clusterUid };
    this.#limits = { ...STANDARD_LIMITS, ...options.limits };
    this.#tombstoneTtl = `${Math.ceil(this.#limits.tombstoneMs / 1000)}s`;
    this.#ready = options.metrics.gauge({
      name: "vigil_ledger_store_ready",
      help: "1 while JetStream stores the ledger's history.",
    });
    const writes = options.metrics.counter({
      name: "vigil_ledger_store_writes_total",
      help: "Writes of last states by result: written, failed, dropped.",
      labels: ["result"],
    });
    this.#unreadable = options.metrics.counter({
      name: "vigil_ledger_store_unreadable_total",
      help: "Entries of the stored history that were skipped because they are no valid message.",
    });
    this.#count = (result) => writes.add(1, result);
    this.#ready.set(0);
    if (this.#history === null) this.#keepNothing();
    else void this.#connect(this.#history);
  }

  restore(receive: (message: AnyMessage) => void): void {
    this.#receive = receive;
    if (this.#open !== null && this.#history !== null) void this.#replayAll(this.#open.connection, this.#history);
  }

  keep(key: string, message: AnyMessage): void {
    if (!this.#absent) this.#put(key, encode(message));
  }

  forget(key: string): void {
    if (!this.#absent) this.#put(key, null);
  }

  ready(): boolean {
    return this.#open !== null;
  }

  close(): void {
    this.#closed = true;
    this.#retry?.cancel();
    this.#replayRetry?.cancel();
    this.#storeNothing();
  }

  async #connect(history: HistoryOf): Promise<void> {
    const { connect, log } = this.#options;
    try {
      const connection = await connect();
      await removePredecessors(connection, history);
      const bucket = await openStreams(connection, history, this.#limits);
      if (this.#closed) return;
      this.#open = { connection, bucket };
      this.#absent = false;
      this.#failures = 0;
      this.#ready.set(1);
      log.info("JetStream keeps the ledger's history", storeNames(history));
      this.#flush();
      if (this.#receive !== null) await this.#replayAll(connection, history);
    } catch (error) {
      this.#retryMissing(error, history);
    }
  }

  /** Without its uid a cluster cannot be distinguished from another of its name, whose history would be wrong. */
  #keepNothing(): void {
    this.#storeNothing();
    this.#options.log.info("history is kept in memory only: the uid of the Kubernetes cluster is not known");
  }

  /** Runs after a failed write, because a server that restarted without its storage has neither stream nor bucket. */
  #recreate(history: HistoryOf): void {
    if (this.#recreating || this.#open === null) return;
    this.#recreating = true;
    const { connection } = this.#open;
    openStreams(connection, history, this.#limits).then(
      (bucket) => {
        if (!this.#closed) this.#open = { connection, bucket };
        this.#afterBackoff(() => {
          this.#recreating = false;
        });
      },
      (error) => {
        this.#options.log.debug("stream and bucket could not be re-created", { error });
        this.#afterBackoff(() => {
          this.#recreating = false;
          this.#recreate(history);
        });
      },
    );
  }

  #afterBackoff(run: () => void): void {
    if (this.#closed) return;
    this.#failures++;
    this.#retry = this.#options.clock.after(retryPauseMs(this.#failures, RETRY), run);
  }

  /** Replays the last states, then the history; the ledger drops a message that both contain by its id. */
  async #replayAll(connection: NatsConnection, history: HistoryOf, tries = 1): Promise<void> {
    const { clock, log } = this.#options;
    this.#replayRetry?.cancel();
    const { stream, bucket } = storeNames(history);
    try {
      await this.#replay(jetstream(connection), streamOfBucket(bucket));
      await this.#replay(jetstream(connection), stream);
    } catch (error) {
      if (this.#closed) return;
      const pauseMs = retryPauseMs(tries, RETRY);
      log.warn("the ledger's history could not be read back, retrying", { stream, error, pauseMs });
      const again = () => void this.#replayAll(connection, history, tries + 1);
      this.#replayRetry = clock.after(pauseMs, again);
    }
  }

  #storeNothing(): void {
    this.#absent = true;
    this.#open = null;
    this.#ready.set(0);
    this.#waiting.clear();
  }

  #retryMissing(error: unknown, history: HistoryOf): void {
    this.#storeNothing();
    if (this.#closed) return;
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.log.info(`history is kept in memory only, JetStream is not available: ${reason}`);
    this.#afterBackoff(() => void this.#connect(history));
  }

  /** Passes on the last message of each subject of a stream in order. Skips and counts unreadable ones. */
  async #replay(client: JetStreamClient, stream: string): Promise<void> {
    const consumer = await client.consumers.get(stream, { deliver_policy: DeliverPolicy.LastPerSubject });
    const { num_pending: pending } = await consumer.info();
    if (pending === 0) return;
    const messages = await consumer.consume();
    let count = 0;
    let unreadable = 0;
    const stopWaiting = this.#closeWhenIdle(messages, () => count);
    for await (const { data, info } of messages) {
      count++;
      if (data.length > 0 && !this.#pass(data)) unreadable++;
      if (info.pending === 0 || this.#closed) break;
    }
    stopWaiting();
    await messages.close();
    if (unreadable === 0) return;
    this.#unreadable.add(unreadable);
    this.#options.log.warn("unreadable entries of the ledger's history were skipped", {
      stream,
      unreadable,
    });
  }

  /** Closes a replay without new messages: the pending ones may have expired. */
  #closeWhenIdle(messages: ConsumerMessages, count: () => number): Stop {
    const next = (before: number): Timer =>
      this.#options.clock.after(REPLAY_IDLE_MS, () => {
        if (count() === before) void messages.close();
        else timer = next(count());
      });
    let timer = next(0);
    return () => timer.cancel();
  }

  /**
   * Passes on a stored message, and returns whether it is readable. Any publisher may have written anything there, and
   * every starting ledger reads it.
   */
  #pass(data: Uint8Array): boolean {
    const message = decode(data);
    if (message instanceof MalformedMessage) return false;
    try {
      this.#receive?.(message as AnyMessage);
      return true;
    } catch {
      return false;
    }
  }

  #put(key: string, value: Uint8Array | null): void {
    if (!this.#waiting.has(key) && this.#waiting.size >= PUTS_WAITING_MAX) {
      this.#count("dropped");
      return;
    }
    this.#waiting.set(key, value);
    this.#flush();
  }

  #flush(): void {
    if (this.#open === null) return;
    for (const [key, value] of this.#waiting) {
      if (this.#underWay >= PUTS_UNDER_WAY_MAX) return;
      this.#waiting.delete(key);
      this.#underWay++;
      void this.#write(this.#open.bucket, key, value);
    }
  }

  async #write(bucket: KV, key: string, value: Uint8Array | null): Promise<void> {
    try {
      await (value === null ? bucket.purge(key, { ttl: this.#tombstoneTtl }) : bucket.put(key, value));
      this.#count("written");
      this.#failures = 0;
    } catch (error) {
      this.#count("failed");
      this.#options.log.debug("a last state was not stored", { key, error });
      if (this.#history !== null) this.#recreate(this.#history);
    }
    this.#underWay--;
    this.#flush();
  }
}
