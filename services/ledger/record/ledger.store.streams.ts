/** Names, configuration and creation of the JetStream stream and buckets that store the ledger's history. An edge. */
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
import { SUBJECT_ROOT, token } from "../../../protocols/subjects.ts";

/** How much the server stores. */
export interface StoreLimits {
  readonly ageMs: number;
  readonly historyBytes: number;
  readonly statesBytes: number;
  readonly comparedBytes: number;
  /** Messages of one type about one object. */
  readonly messagesPerSubject: number;
  /** How long the delete marker of a state stays. Servers before 2.11 cannot expire single messages. */
  readonly tombstoneMs: number;
}

/** A week, and at most 448 MiB. */
export const STANDARD_LIMITS: StoreLimits = {
  ageMs: 7 * 24 * 3600 * 1000,
  historyBytes: 256 * 1024 * 1024,
  statesBytes: 128 * 1024 * 1024,
  comparedBytes: 64 * 1024 * 1024,
  messagesPerSubject: 64,
  tombstoneMs: 60_000,
};

/** The Kubernetes cluster of a history: the name of its fleet and the uid of its kube-system namespace. */
export interface HistoryOf {
  readonly cluster: string;
  readonly clusterUid: string;
}

/** Names of a cluster's stream and buckets: last states, and what was compared. */
export interface StoreNames {
  readonly stream: string;
  readonly states: string;
  readonly compared: string;
}

/** The buckets of a history. */
export interface Buckets {
  readonly states: KV;
  readonly compared: KV;
}

/** Names of a cluster's stream and buckets. A re-created cluster of the same name has others. */
export function storeNames({ cluster, clusterUid }: HistoryOf): StoreNames {
  const name = `${nameToken(cluster)}_${nameToken(clusterUid)}`;
  return { stream: `${HISTORY}${name}`, states: `${STATES}${name}`, compared: `${COMPARED}${name}` };
}

/** Creates or updates the stream and the buckets, and returns the buckets. Rejects where JetStream refuses. */
export async function openStreams(
  connection: NatsConnection,
  history: HistoryOf,
  limits: StoreLimits,
): Promise<Buckets> {
  const { stream, states, compared } = storeNames(history);
  const { streams } = await jetstreamManager(connection);
  await ensure(streams, historyConfig(stream, history, limits));
  await ensure(streams, bucketConfig(states, limits, limits.statesBytes));
  await ensure(streams, bucketConfig(compared, limits, limits.comparedBytes));
  const buckets = new Kvm(connection);
  return { states: await buckets.open(states), compared: await buckets.open(compared) };
}

/**
 * Deletes the history of an earlier Kubernetes cluster of the same `--cluster`, because two streams cannot store one
 * subject and the server has room for one history. Only for a process that has joined its fleet: every member of a
 * fleet is of one cluster, so the earlier cluster no longer exists.
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
    for (const bucket of [STATES, COMPARED]) await remove(streams, streamOfBucket(bucket + name.slice(HISTORY.length)));
  }
}

/** The stream behind a bucket. */
export function streamOfBucket(bucket: string): string {
  return `${KV_STREAM}${bucket}`;
}

const HISTORY = "VIGIL_HISTORY_";
const STATES = "VIGIL_STATES_";
const COMPARED = "VIGIL_COMPARED_";
/** Prefix of the streams behind buckets (ADR-8). */
const KV_STREAM = "KV_";
const NANOSECONDS_PER_MS = 1_000_000;
/** JetStream's error codes for a stream with another configuration and for a missing stream. */
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
    // Publishers request no acknowledgements, and their reply subjects must stay unused.
    no_ack: true,
  };
}

/**
 * A bucket that drops its oldest entries when it is full. A bucket created by the client library refuses new entries
 * instead, and delete markers use up space too, so after many evictions its writes would fail.
 */
function bucketConfig(bucket: string, limits: StoreLimits, bytes: number): Wanted {
  return {
    name: streamOfBucket(bucket),
    subjects: [`$KV.${bucket}.>`],
    max_age: limits.ageMs * NANOSECONDS_PER_MS,
    max_bytes: bytes,
    max_msgs_per_subject: 1,
    discard: DiscardPolicy.Old,
    storage: StorageType.File,
    allow_rollup_hdrs: true,
    allow_direct: true,
    // Servers before 2.11 ignore it.
    allow_msg_ttl: true,
  };
}

/** Creates a stream, or updates its configuration. */
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

/** A token in the characters that a stream name allows. */
function nameToken(text: string): string {
  return token(text).replaceAll("=", "_");
}
