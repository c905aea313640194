/**
 * Stores the ledger's history beyond its process: a JetStream stream in which the server stores all judged, asked and
 * done messages, a bucket with the last state of every object, and one with what `vigil compare` compares. Without
 * JetStream nothing is stored. An edge.
 */
import { type ConsumerMessages, DeliverPolicy, type JetStreamClient, jetstream } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";
import {
  type ComparisonRecord,
  decodeRecord,
  encodeRecord,
  recordKeyOf,
} from "../../../protocols/comparison-record.ts";
import type { AnyMessage } from "../../../protocols/messages.ts";
import type { Io, Stop, Timer } from "../../../protocols/ports.ts";
import { decode, encode, MalformedMessage } from "../../../protocols/wire.ts";
import { MemoryHealth } from "../../platform/process/memory-health.ts";
import { type RetrySettings, retryPauseMs } from "../../structures/retry-schedule.ts";
import {
  type Buckets,
  type HistoryOf,
  openStreams,
  removePredecessors,
  STANDARD_LIMITS,
  type StoreLimits,
  storeNames,
  streamOfBucket,
} from "./ledger.store.streams.ts";

/** Concurrent writes to the buckets. */
const PUTS_UNDER_WAY_MAX = 32;
/** Entries that wait to be written; beyond it new ones are dropped and counted. */
const PUTS_WAITING_MAX = 50_000;
/** How long a replay waits for its next message. */
const REPLAY_IDLE_MS = 5_000;
/** The first pause is short, because a NATS cluster that has just started refuses streams until it has a leader. */
const RETRY: RetrySettings = { baseMs: 1_000, maxMs: 60_000 };

/** Receives what is stored. */
export interface Restoring {
  /** Receives each stored message. */
  message(message: AnyMessage): void;
  /** Receives all that was compared, after the last message. */
  compared(records: readonly ComparisonRecord[]): void;
}

/** The ledger's store. Nothing waits for it, and nothing fails with it. */
export interface LedgerStore {
  /** Passes on what is stored once JetStream is available, for each ledger that calls it. */
  restore(receive: Restoring): void;
  /** Stores a message as the last state of its object. */
  keep(key: string, message: AnyMessage): void;
  /** Deletes an object's last state. */
  forget(key: string): void;
  /** Stores a part of the comparison in place of an earlier one. */
  keepCompared(record: ComparisonRecord): void;
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
  readonly buckets: Buckets;
}

/** A write of an entry; a null value deletes it. */
interface Put {
  readonly bucket: keyof Buckets;
  readonly key: string;
  readonly value: Uint8Array | null;
}

class JetStreamStore implements LedgerStore {
  readonly #options: StoreOptions;
  readonly #health: MemoryHealth;
  readonly #history: HistoryOf | null;
  readonly #limits: StoreLimits;
  readonly #ready: { set(value: number): void };
  readonly #count: (bucket: keyof Buckets, result: string) => void;
  readonly #unreadable: { add(count: number): void };
  /** The newest pending write of each entry, by bucket and key. */
  readonly #waiting = new Map<string, Put>();
  readonly #tombstoneTtl: string;
  #underWay = 0;
  #open: OpenStreams | null = null;
  #receive: Restoring | null = null;
  #retry: Timer | null = null;
  #replayRetry: Timer | null = null;
  /** Failures since the last success. */
  #failures = 0;
  /** Whether stream and buckets are being re-created, or were within the last pause. */
  #recreating = false;
  /** Whether the last try found no JetStream, or the store is closed. */
  #absent = false;
  #closed = false;

  constructor(options: StoreOptions) {
    const { cluster, clusterUid } = options;
    this.#options = options;
    this.#health = new MemoryHealth(options);
    this.#history = clusterUid === null ? null : { cluster, clusterUid };
    this.#limits = { ...STANDARD_LIMITS, ...options.limits };
    this.#tombstoneTtl = `${Math.ceil(this.#limits.tombstoneMs / 1000)}s`;
    this.#ready = options.metrics.gauge({
      name: "vigil_ledger_store_ready",
      help: "1 while JetStream stores the ledger's history.",
    });
    const writes = options.metrics.counter({
      name: "vigil_ledger_store_writes_total",
      help: "Writes to the buckets states and compared by result: written, failed, dropped.",
      labels: ["bucket", "result"],
    });
    this.#unreadable = options.metrics.counter({
      name: "vigil_ledger_store_unreadable_total",
      help: "Entries of the stored history that were skipped because they are no valid message.",
    });
    this.#count = (bucket, result) => writes.add(1, bucket, result);
    this.#ready.set(0);
    if (this.#history === null) this.#keepNothing();
    else void this.#connect(this.#history);
  }

  restore(receive: Restoring): void {
    this.#receive = receive;
    if (this.#open !== null && this.#history !== null) void this.#replayAll(this.#open.connection, this.#history);
  }

  keep(key: string, message: AnyMessage): void {
    if (!this.#absent) this.#put({ bucket: "states", key, value: encode(message) });
  }

  forget(key: string): void {
    if (!this.#absent) this.#put({ bucket: "states", key, value: null });
  }

  keepCompared(record: ComparisonRecord): void {
    if (!this.#absent) this.#put({ bucket: "compared", key: recordKeyOf(record), value: encodeRecord(record) });
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
      const buckets = await openStreams(connection, history, this.#limits);
      if (this.#closed) return;
      this.#open = { connection, buckets };
      this.#absent = false;
      this.#failures = 0;
      this.#ready.set(1);
      log.info("JetStream keeps the ledger's history", { ...storeNames(history) });
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

  /** Runs after a failed write, because a server that restarted without its storage has neither stream nor buckets. */
  #recreate(history: HistoryOf): void {
    if (this.#recreating || this.#open === null) return;
    this.#recreating = true;
    const { connection } = this.#open;
    openStreams(connection, history, this.#limits).then(
      (buckets) => {
        if (!this.#closed) this.#open = { connection, buckets };
        this.#afterBackoff(() => {
          this.#recreating = false;
        });
      },
      (error) => {
        this.#options.log.debug("stream and buckets could not be re-created", { error });
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

  /**
   * Replays the last states, then the history, then what was compared; the ledger drops a message that both contain by
   * its id.
   */
  async #replayAll(connection: NatsConnection, history: HistoryOf, tries = 1): Promise<void> {
    const { clock, log } = this.#options;
    this.#replayRetry?.cancel();
    const { stream, states, compared } = storeNames(history);
    try {
      const client = jetstream(connection);
      await this.#replay(client, streamOfBucket(states), (data) => this.#pass(data));
      await this.#replay(client, stream, (data) => this.#pass(data));
      const records: ComparisonRecord[] = [];
      await this.#replay(client, streamOfBucket(compared), (data) => {
        const record = decodeRecord(data);
        if (record !== null) records.push(record);
        return record !== null;
      });
      if (!this.#closed) this.#receive?.compared(records);
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
    const isNews = !this.#absent;
    this.#storeNothing();
    if (this.#closed) return;
    const reason = error instanceof Error ? error.message : String(error);
    const { log } = this.#options;
    log[isNews ? "info" : "debug"](`history is kept in memory only, JetStream is not available: ${reason}`);
    this.#afterBackoff(() => void this.#connect(history));
  }

  /** Passes on the last entry of each subject of a stream in order. Skips and counts those that `pass` cannot read. */
  async #replay(client: JetStreamClient, stream: string, pass: (data: Uint8Array) => boolean): Promise<void> {
    const consumer = await client.consumers.get(stream, { deliver_policy: DeliverPolicy.LastPerSubject });
    const { num_pending: pending } = await consumer.info();
    if (pending === 0) return;
    const messages = await consumer.consume();
    let count = 0;
    let left = pending;
    let unreadable = 0;
    const stopWaiting = this.#closeWhenIdle(messages, () => count);
    for await (const { data, info } of messages) {
      count++;
      left = info.pending;
      if (data.length > 0 && !pass(data)) unreadable++;
      if (left === 0 || this.#closed) break;
    }
    stopWaiting();
    await messages.close();
    if (unreadable > 0) {
      this.#unreadable.add(unreadable);
      this.#options.log.warn("unreadable entries of the ledger's history were skipped", { stream, unreadable });
    }
    if (left > 0 && !this.#closed) throw new Error(`${left} entries did not come`);
  }

  /** Closes a replay without new messages, to be retried: the server is slow, or the pending ones have expired. */
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
      this.#receive?.message(message as AnyMessage);
      return true;
    } catch {
      return false;
    }
  }

  #put(put: Put): void {
    const entry = `${put.bucket} ${put.key}`;
    if (!this.#waiting.has(entry) && this.#waiting.size >= PUTS_WAITING_MAX) {
      this.#count(put.bucket, "dropped");
      return;
    }
    this.#waiting.set(entry, put);
    this.#flush();
  }

  #flush(): void {
    if (this.#open === null) return;
    for (const [entry, put] of this.#waiting) {
      if (this.#underWay >= PUTS_UNDER_WAY_MAX) return;
      this.#waiting.delete(entry);
      this.#underWay++;
      void this.#write(this.#open.buckets, put);
    }
  }

  async #write(buckets: Buckets, { bucket, key, value }: Put): Promise<void> {
    const { [bucket]: entries } = buckets;
    try {
      await (value === null ? entries.purge(key, { ttl: this.#tombstoneTtl }) : entries.put(key, value));
      this.#count(bucket, "written");
      this.#health.report("history", { outcome: "ok" });
      this.#failures = 0;
    } catch (error) {
      this.#count(bucket, "failed");
      this.#health.report("history", { outcome: "failed", detail: `${bucket}: ${String(error)}` });
      if (this.#history !== null) this.#recreate(this.#history);
    }
    this.#underWay--;
    this.#flush();
  }
}
