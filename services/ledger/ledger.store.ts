/**
 * The ledger's memory beyond this process: a JetStream stream in which the server itself keeps what was judged, asked
 * and done, and a bucket with the last state of every object. An edge: it may wait. Without JetStream it keeps nothing.
 */
import { type ConsumerMessages, DeliverPolicy, type JetStreamClient, jetstream } from "@nats-io/jetstream";
import type { KV } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/nats-core";
import type { AnyMessage } from "../../protocols/messages.ts";
import type { Clock, Log, Metrics, Stop, Timer } from "../../protocols/ports.ts";
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

/** Writes to the bucket under way at once. */
const PUTS_UNDER_WAY_MAX = 32;
/** Objects whose last state may wait to be written; beyond it new ones are dropped and counted. */
const PUTS_WAITING_MAX = 50_000;
/** How long the next message of a history is waited for. */
const REPLAY_IDLE_MS = 5_000;
/**
 * Pauses before JetStream is tried again. The first is short: a NATS cluster that has just started refuses streams
 * until it has elected a leader and knows enough of its peers.
 */
const RETRY: RetrySettings = { baseMs: 1_000, maxMs: 60_000 };

/** What the ledger keeps beyond its process. Nothing waits for it and nothing fails with it. */
export interface LedgerStore {
  /**
   * Tells `receive` what earlier ledgers kept, once JetStream is there: history, to be told and not to be acted on.
   * Each new ledger on this store asks anew.
   */
  restore(receive: (message: AnyMessage) => void): void;
  /** Keeps a message as the last state of its object. */
  keep(key: string, message: AnyMessage): void;
  /** Forgets an object's last state. */
  forget(key: string): void;
  /** Whether JetStream is there. */
  ready(): boolean;
  close(): void;
}

/** What a store is made of. */
export interface StoreOptions {
  /** The connection to the account that has JetStream; called again after it could not be had. */
  readonly connect: () => Promise<NatsConnection>;
  readonly cluster: string;
  /** Tells the cluster from others of its name; null when it is not known: then nothing is kept. */
  readonly clusterUid: string | null;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly limits?: Partial<StoreLimits>;
}

/** Opens the store in the background. */
export function openLedgerStore(options: StoreOptions): LedgerStore {
  return new JetStreamStore(options);
}

/** The bucket of last states, and the connection on which it and the stream can be reached. */
interface OpenStreams {
  readonly connection: NatsConnection;
  readonly bucket: KV;
}

class JetStreamStore implements LedgerStore {
  readonly #options: StoreOptions;
  /** Whose history this is; null when that is not known. */
  readonly #history: HistoryOf | null;
  readonly #limits: StoreLimits;
  readonly #ready: { set(value: number): void };
  readonly #count: (result: string) => void;
  readonly #unreadable: { add(count: number): void };
  /** The newest write for each key that is still to be done; null deletes it. */
  readonly #waiting = new Map<string, Uint8Array | null>();
  /** How long the mark of a deleted state stays; servers before 2.11 pass over it. */
  readonly #tombstoneTtl: string;
  #underWay = 0;
  #open: OpenStreams | null = null;
  #receive: ((message: AnyMessage) => void) | null = null;
  #retry: Timer | null = null;
  /** The next try to read history back, after one that failed. */
  #replayRetry: Timer | null = null;
  /** Failures since JetStream last did what it was asked to. */
  #failures = 0;
  /** Whether stream and bucket are being made again, or were within the last pause. */
  #mending = false;
  /** Whether there is nowhere to keep anything: not found at the last look, or closed. */
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
      help: "1 while JetStream keeps the ledger's history.",
    });
    const writes = options.metrics.counter({
      name: "vigil_ledger_store_writes_total",
      help: "Last states of objects by what became of them: written, failed, dropped.",
      labels: ["result"],
    });
    this.#unreadable = options.metrics.counter({
      name: "vigil_ledger_store_unreadable_total",
      help: "Entries of the kept history that were passed over, because they are no message or make no sense.",
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
    this.#giveUp();
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

  /** Without its uid a cluster cannot be told from another of its name, whose history would explain it wrongly. */
  #keepNothing(): void {
    this.#giveUp();
    this.#options.log.info("history is kept in memory only: it is not known which Kubernetes cluster this is");
  }

  /** After a write that failed: a server that came back without its storage knows neither stream nor bucket. */
  #mend(history: HistoryOf): void {
    if (this.#mending || this.#open === null) return;
    this.#mending = true;
    const { connection } = this.#open;
    openStreams(connection, history, this.#limits).then(
      (bucket) => {
        if (!this.#closed) this.#open = { connection, bucket };
        this.#afterPause(() => {
          this.#mending = false;
        });
      },
      (error) => {
        this.#options.log.debug("stream and bucket could not be made again", { error });
        this.#afterPause(() => {
          this.#mending = false;
          this.#mend(history);
        });
      },
    );
  }

  /** Goes on after a pause that grows until JetStream does what it is asked to. */
  #afterPause(goOn: () => void): void {
    if (this.#closed) return;
    this.#failures++;
    this.#retry = this.#options.clock.after(retryPauseMs(this.#failures, RETRY), goOn);
  }

  /** Last states and history: what both tell of is taken once, by the id of its message. */
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
      log.warn("the ledger's history could not be read back, trying again", { stream, error, pauseMs });
      const again = () => void this.#replayAll(connection, history, tries + 1);
      this.#replayRetry = clock.after(pauseMs, again);
    }
  }

  #giveUp(): void {
    this.#absent = true;
    this.#open = null;
    this.#ready.set(0);
    this.#waiting.clear();
  }

  #retryMissing(error: unknown, history: HistoryOf): void {
    this.#giveUp();
    if (this.#closed) return;
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.log.info(`history is kept in memory only, JetStream is not to be had: ${reason}`);
    this.#afterPause(() => void this.#connect(history));
  }

  /** Passes on the last message of each subject of a stream, in the order they came, but for what cannot be read. */
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
    this.#options.log.warn("entries of the ledger's history were passed over: they cannot be read", {
      stream,
      unreadable,
    });
  }

  /** Closes messages that have stopped coming: those that were pending still may have expired meanwhile. */
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
   * Passes on what was kept, and says whether it could be read. Anybody who may publish may have put anything there,
   * and every ledger that starts reads it.
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
      this.#options.log.debug("a last state was not kept", { key, error });
      if (this.#history !== null) this.#mend(this.#history);
    }
    this.#underWay--;
    this.#flush();
  }
}
