/**
 * What a ledger tells a reader in the same process of present and past: plain values, ready for JSON. No behaviour
 * lives here.
 */
import type { EvictionStatus, Readiness, ZoneState } from "./judged.ts";
import type { ConditionStatus, TaintId } from "./objects.ts";
import type { Stop } from "./ports.ts";

/** A zone as last judged. */
export interface ZoneReport {
  /** The zone key with its NUL (R2.3). */
  readonly zone: string;
  /** The same for people: `region/zone`, `zone`, or `(no zone)`. */
  readonly title: string;
  readonly state: ZoneState;
  readonly since: number;
  readonly size: number;
  readonly notReady: number;
  readonly taintsPerSecond: number;
  readonly tokens: number;
  readonly queueLength: number;
  readonly halted: boolean;
}

/** A node as last judged. */
export interface NodeReport {
  readonly name: string;
  readonly readiness: Readiness;
  readonly ready: ConditionStatus | null;
  readonly since: number;
  /** The last sign of life that led to a judgement, not every heartbeat; null before the first. */
  readonly heartbeatAt: number | null;
  readonly eviction: EvictionStatus;
  /** The earliest instant at which its pods may be deleted, while that lies ahead (direct mode). */
  readonly evictionFromAt?: number;
  /** Its place in the queue of its zone, from 1; absent when it is not among the first. */
  readonly queuePlace?: number;
  readonly zone: string;
}

/** A pod that waits for its deletion. */
export interface PendingEviction {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly node: string;
  /** Epoch milliseconds; null when it goes at once, or when the earliest instant cannot be foretold. */
  readonly deadlineAt: number | null;
  /**
   * Whether `deadlineAt` is the earliest instant only: its node has still to take its turn to be drained (direct mode).
   */
  readonly isEarliest?: true;
  readonly taint: TaintId | null;
  readonly tolerationSeconds: number | null;
}

/** How well the cluster can be seen, as the pulses of all shards tell. */
export interface WatchHealthReport {
  readonly shards: number;
  /** Shards without a fresh pulse in which every watch is synced; no harmful verdict is passed in them. */
  readonly blindShards: number;
  /** Age of the oldest shard's last pulse in milliseconds; null when some shard has had none. */
  readonly oldestPulseMs: number | null;
  /** Nodes and pods that exceed a message, so that nothing is decided about them; absent when there are none. */
  readonly unpublished?: { readonly nodes: number; readonly pods: number };
  /** For each watch how long it has been seen without a break, in milliseconds; null while it is not synced. */
  readonly watches: Readonly<Record<WatchName, number | null>>;
}

/** A watch of the observer. */
export type WatchName = "nodes" | "leases" | "pods";

/** What a decision is about; the namespace is empty for nodes and zones, and a zone is named by its key. */
export interface Subject {
  readonly kind: "Node" | "Pod" | "Zone";
  readonly namespace: string;
  readonly name: string;
}

/** One thing that happened to an object, in words. */
export interface Decision {
  /** Id of the message it was told by. */
  readonly id: string;
  /** Id of the message that led to it. */
  readonly cause: string | null;
  /** Epoch milliseconds on the teller's wall clock. */
  readonly at: number;
  readonly type: string;
  readonly object: Subject;
  readonly text: string;
  /** How often it happened in a row; `at` is the last time. */
  readonly times: number;
}

/** Why an object is as it is. */
export interface Explanation {
  /** The present state and its reasons, one sentence each. */
  readonly sentences: readonly string[];
  /** What led there, oldest first. */
  readonly timeline: readonly Decision[];
}

/** The whole cluster in a few figures. */
export interface Overview {
  readonly at: number;
  readonly nodes: Readonly<Record<Readiness, number>>;
  readonly zones: readonly ZoneReport[];
  readonly pendingEvictions: number;
  readonly watchHealth: WatchHealthReport;
}

/** Read access to a ledger. Every answer is a copy of that moment. */
export interface LedgerReader {
  overview(): Overview;
  nodes(): readonly NodeReport[];
  /** The pods to be deleted next, soonest first; in direct mode with those of nodes that are ahead of their drain. */
  pendingEvictions(limit: number): readonly PendingEviction[];
  /** The latest decisions, newest first. */
  decisions(limit: number): readonly Decision[];
  /** Null when the ledger knows nothing of that object. */
  explainNode(name: string): Explanation | null;
  /** Reads the pod live first; calls `done` once, later. */
  explainPod(namespace: string, name: string, done: (explained: Explanation | null) => void): void;
  /** Calls `tell` for every decision from now on. */
  onDecision(listener: (decision: Decision) => void): Stop;
}
