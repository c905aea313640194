/**
 * The stream and the bucket on JetStream that hold the ledger's history: their names, their configuration, and how they
 * come to be there. An edge: it may wait.
 */
import {
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  StorageType,
  type StreamConfig,
} from "@nats-io/jetstream";
import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/nats-core";
import { SUBJECT_ROOT, token } from "../../protocols/subjects.ts";

/** How much is kept on the server. */
export interface StoreLimits {
  readonly ageMs: number;
  readonly historyBytes: number;
  readonly statesBytes: number;
  /** Messages of one type about one object. */
  readonly messagesPerSubject: number;
  /** How long the mark of a deleted state stays, where the server can expire a single message (2.11 and later). */
  readonly tombstoneMs: number;
}

/** A week, and less than half a gigabyte. */
export const STANDARD_LIMITS: StoreLimits = {
  ageMs: 7 * 24 * 3600 * 1000,
  historyBytes: 256 * 1024 * 1024,
  statesBytes: 128 * 1024 * 1024,
  messagesPerSubject: 64,
  tombstoneMs: 60_000,
};

/** Which Kubernetes cluster a history is about: the name that its fleet goes by, and the uid of its kube-system. */
export interface HistoryOf {
  readonly cluster: string;
  readonly clusterUid: string;
}

/** Names of the stream and the bucket of a cluster. A cluster made again under the same name has others. */
export function storeNames({ cluster, clusterUid }: HistoryOf): { stream: string; bucket: string } {
  const name = `${nameToken(cluster)}_${nameToken(clusterUid)}`;
  return { stream: `${HISTORY}${name}`, bucket: `${STATES}${name}` };
}

/**
 * The bucket, once it and the stream are there with these limits. Rejects where JetStream does not let us have them.
 */
export async function openStreams(connection: NatsConnection, history: HistoryOf, limits: StoreLimits): Promise<KV> {
  const { stream, bucket } = storeNames(history);
  const { streams } = await jetstreamManager(connection);
  await ensure(streams, historyConfig(stream, history, limits));
  await ensure(streams, statesConfig(bucket, limits));
  return new Kvm(connection).open(bucket);
}

/**
 * Removes what another Kubernetes cluster kept under the same `--cluster`: only one stream can take in a subject, and
 * the room on the server is for one history. For a process that has joined its fleet, which is never one of another
 * cluster: the cluster that such a history is about has been made again, or has gone.
 */
export async function removePredecessors(connection: NatsConnection, history: HistoryOf): Promise<void> {
  const { streams } = await jetstreamManager(connection);
  const subjects = historySubjects(history.cluster);
  const head = `${HISTORY}${nameToken(history.cluster)}_`;
  for await (const name of streams.names(subjects[0])) {
    if (!name.startsWith(head) || name === storeNames(history).stream) continue;
    const { config } = await streams.info(name);
    if (config.subjects?.join() !== subjects.join()) continue;
    await remove(streams, name);
    await remove(streams, streamOfBucket(`${STATES}${name.slice(HISTORY.length)}`));
  }
}

/** The stream in which a bucket keeps its keys. */
export function streamOfBucket(bucket: string): string {
  return `${KV_STREAM}${bucket}`;
}

const HISTORY = "VIGIL_HISTORY_";
const STATES = "VIGIL_STATES_";
/** What the names of buckets' streams begin with (ADR-8). */
const KV_STREAM = "KV_";
const NANOSECONDS_PER_MS = 1_000_000;
/** JetStream's codes for a stream of that name with another configuration, and for one that is not there. */
const NAME_IN_USE = 10058;
const STREAM_NOT_FOUND = 10059;

type Streams = JetStreamManager["streams"];
type Wanted = Partial<StreamConfig> & { readonly name: string };

function historyConfig(name: string, { cluster }: Pick<HistoryOf, "cluster">, limits: StoreLimits): Wanted {
  return {
    name,
    subjects: historySubjects(cluster),
    max_age: limits.ageMs * NANOSECONDS_PER_MS,
    max_bytes: limits.historyBytes,
    max_msgs_per_subject: limits.messagesPerSubject,
    discard: DiscardPolicy.Old,
    storage: StorageType.File,
    // Publishers do not ask for acknowledgements, and none may be sent in their name.
    no_ack: true,
  };
}

/**
 * A bucket that drops its oldest entries when it is full. One that a client library makes refuses new entries instead,
 * and marks of deleted keys take up room as well: a week with many evictions would end in writes that fail.
 */
function statesConfig(bucket: string, limits: StoreLimits): Wanted {
  return {
    name: streamOfBucket(bucket),
    subjects: [`$KV.${bucket}.>`],
    max_age: limits.ageMs * NANOSECONDS_PER_MS,
    max_bytes: limits.statesBytes,
    max_msgs_per_subject: 1,
    discard: DiscardPolicy.Old,
    storage: StorageType.File,
    allow_rollup_hdrs: true,
    allow_direct: true,
    // Servers before 2.11 pass over it.
    allow_msg_ttl: true,
  };
}

/** Adds a stream, or gives it this configuration when it is there with another. */
async function ensure(streams: Streams, { name, ...wanted }: Wanted): Promise<void> {
  try {
    await streams.add({ name, ...wanted });
  } catch (error) {
    if (codeOf(error) !== NAME_IN_USE) throw error;
    await streams.update(name, wanted);
  }
}

async function remove(streams: Streams, name: string): Promise<void> {
  try {
    await streams.delete(name);
  } catch (error) {
    if (codeOf(error) !== STREAM_NOT_FOUND) throw error;
  }
}

function codeOf(error: unknown): number | null {
  return error instanceof JetStreamApiError ? error.code : null;
}

function historySubjects(cluster: string): string[] {
  const head = `${SUBJECT_ROOT}.${token(cluster)}`;
  return [`${head}.judged.>`, `${head}.asked.>`, `${head}.done.>`];
}

/** A token as the name of a stream may hold it. */
function nameToken(text: string): string {
  return token(text).replaceAll("=", "_");
}
