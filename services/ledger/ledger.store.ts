/**
 * The ledger's memory beyond this process: a JetStream stream in which the server itself keeps what was judged, asked
 * and done, and a bucket with the last state of every object. An edge: it may wait. Without JetStream it keeps nothing.
 */
import {
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  StorageType,
} from "@nats-io/jetstream";
import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/nats-core";
import type { AnyMessage } from "../../protocols/messages.ts";
import type { Clock, Log, Metrics, Timer } from "../../protocols/ports.ts";
import { SUBJECT_ROOT, token } from "../../protocols/subjects.ts";
import { decode, encode, MalformedMessage } from "../../protocols/wire.ts";

/** How much is kept on the server. */
export interface StoreLimits {
  readonly ageMs: number;
  readonly historyBytes: number;
  readonly statesBytes: number;
  /** Messages of one type about one object. */
  readonly messagesPerSubject: number;
}

/** A week, and less than half a gigabyte. */
const STANDARD_LIMITS: StoreLimits = {
  ageMs: 7 * 24 * 3600 * 1000,
  historyBytes: 256 * 1024 * 1024,
  statesBytes: 128 * 1024 * 1024,
  messagesPerSubject: 64,
};
/** Writes to the bucket under way at once. */
const PUTS_UNDER_WAY_MAX = 32;
/** Objects whose last state may wait to be written; beyond it new ones are dropped and counted. */
const PUTS_WAITING_MAX = 50_000;
/** Pause before JetStream is looked for again. */
const RETRY_MS = 60_000;
const NANOSECONDS_PER_MS = 1_000_000;
/** JetStream's code for a stream of that name with another configuration. */
const NAME_IN_USE = 10058;

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
  readonly connection: NatsConnection;
  readonly cluster: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly limits?: Partial<StoreLimits>;
}

/** Opens the store in the background. */
export function openLedgerStore(options: StoreOptions): LedgerStore {
  return new JetStreamStore(options);
}

/** Names of the stream and the bucket of a cluster. */
export function storeNames(cluster: string): { stream: string; bucket: string } {
  const name = token(cluster).replaceAll("=", "_");
  return { stream: `VIGIL_HISTORY_${name}`, bucket: `VIGIL_STATES_${name}` };
}

class JetStreamStore implements LedgerStore {
  readonly #options: StoreOptions;
  readonly #limits: StoreLimits;
  readonly #ready: { set(value: number): void };
  readonly #count: (result: string) => void;
  /** The newest write for each key that is still to be done; null deletes it. */
  readonly #waiting = new Map<string, Uint8Array | null>();
  #underWay = 0;
  #bucket: KV | null = null;
  #receive: ((message: AnyMessage) => void) | null = null;
  #retry: Timer | null = null;
  /** Whether there is nowhere to keep anything: not found at the last look, or closed. */
  #absent = false;
  #closed = false;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.#limits = { ...STANDARD_LIMITS, ...options.limits };
    this.#ready = options.metrics.gauge({
      name: "vigil_ledger_store_ready",
      help: "1 while JetStream keeps the ledger's history.",
    });
    const writes = options.metrics.counter({
      name: "vigil_ledger_store_writes_total",
      help: "Last states of objects by what became of them: written, failed, dropped.",
      labels: ["result"],
    });
    this.#count = (result) => writes.add(1, result);
    this.#ready.set(0);
    void this.#open();
  }

  restore(receive: (message: AnyMessage) => void): void {
    this.#receive = receive;
    if (this.#bucket !== null) void this.#replayAll();
  }

  keep(key: string, message: AnyMessage): void {
    if (!this.#absent) this.#put(key, encode(message));
  }

  forget(key: string): void {
    if (!this.#absent) this.#put(key, null);
  }

  ready(): boolean {
    return this.#bucket !== null;
  }

  close(): void {
    this.#closed = true;
    this.#retry?.cancel();
    this.#giveUp();
  }

  async #open(): Promise<void> {
    const { cluster, log } = this.#options;
    try {
      const bucket = await this.#ensureAll();
      if (this.#closed) return;
      this.#bucket = bucket;
      this.#absent = false;
      this.#ready.set(1);
      log.info("JetStream keeps the ledger's history", storeNames(cluster));
      this.#flush();
      if (this.#receive !== null) await this.#replayAll();
    } catch (error) {
      this.#lookAgain(error);
    }
  }

  async #ensureAll(): Promise<KV> {
    const { connection, cluster } = this.#options;
    const names = storeNames(cluster);
    await this.#ensureStream(await jetstreamManager(connection), names.stream);
    return new Kvm(connection).create(names.bucket, {
      history: 1,
      ttl: this.#limits.ageMs,
      max_bytes: this.#limits.statesBytes,
    });
  }

  /** After a write that failed: a server that came back without its storage knows neither stream nor bucket. */
  #mend(): void {
    if (this.#retry !== null || this.#bucket === null) return;
    this.#retry = this.#options.clock.after(RETRY_MS, () => {
      this.#retry = null;
    });
    this.#ensureAll().then(
      (bucket) => {
        if (!this.#closed) this.#bucket = bucket;
      },
      (error) => this.#options.log.debug("stream and bucket could not be looked after", { error }),
    );
  }

  /** Last states and history: what both tell of is taken once, by the id of its message. */
  async #replayAll(): Promise<void> {
    const { connection, cluster, log } = this.#options;
    const { stream, bucket } = storeNames(cluster);
    try {
      await this.#replay(jetstream(connection), `KV_${bucket}`);
      await this.#replay(jetstream(connection), stream);
    } catch (error) {
      log.warn("the ledger's history could not be read back", { stream, error });
    }
  }

  #giveUp(): void {
    this.#absent = true;
    this.#bucket = null;
    this.#ready.set(0);
    this.#waiting.clear();
  }

  #lookAgain(error: unknown): void {
    this.#giveUp();
    if (this.#closed || this.#options.connection.isClosed()) return;
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.log.info(`history is kept in memory only, JetStream is not to be had: ${reason}`);
    this.#retry = this.#options.clock.after(RETRY_MS, () => {
      this.#retry = null;
      void this.#open();
    });
  }

  async #ensureStream(streams: JetStreamManager, name: string): Promise<void> {
    const head = `${SUBJECT_ROOT}.${token(this.#options.cluster)}`;
    const wanted = {
      subjects: [`${head}.judged.>`, `${head}.asked.>`, `${head}.done.>`],
      max_age: this.#limits.ageMs * NANOSECONDS_PER_MS,
      max_bytes: this.#limits.historyBytes,
      max_msgs_per_subject: this.#limits.messagesPerSubject,
      discard: DiscardPolicy.Old,
      storage: StorageType.File,
      // Publishers do not ask for acknowledgements, and none may be sent in their name.
      no_ack: true,
    };
    try {
      await streams.streams.add({ name, ...wanted });
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || error.code !== NAME_IN_USE) throw error;
      await streams.streams.update(name, wanted);
    }
  }

  /** Tells the last message on each subject of a stream, in the order they came. */
  async #replay(client: JetStreamClient, stream: string): Promise<void> {
    const consumer = await client.consumers.get(stream, { deliver_policy: DeliverPolicy.LastPerSubject });
    const { num_pending: pending } = await consumer.info();
    if (pending === 0) return;
    const messages = await consumer.consume();
    for await (const { data, info } of messages) {
      if (data.length > 0) this.#tell(data);
      if (info.pending === 0 || this.#closed) break;
    }
    await messages.close();
  }

  #tell(data: Uint8Array): void {
    const message = decode(data);
    if (!(message instanceof MalformedMessage)) this.#receive?.(message as AnyMessage);
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
    if (this.#bucket === null) return;
    for (const [key, value] of this.#waiting) {
      if (this.#underWay >= PUTS_UNDER_WAY_MAX) return;
      this.#waiting.delete(key);
      this.#underWay++;
      void this.#write(this.#bucket, key, value);
    }
  }

  async #write(bucket: KV, key: string, value: Uint8Array | null): Promise<void> {
    try {
      await (value === null ? bucket.purge(key) : bucket.put(key, value));
      this.#count("written");
    } catch (error) {
      this.#count("failed");
      this.#options.log.debug("a last state was not kept", { key, error });
      this.#mend();
    }
    this.#underWay--;
    this.#flush();
  }
}
