/** Read access to a ledger in the same process: present state and history as plain values, ready for JSON. */
import type { EvictionStatus, Readiness, ZoneState } from "./judged.ts";
import type { ConditionStatus, TaintId } from "./objects.ts";
import type { Stop } from "./ports.ts";

/** A zone as last judged. */
export interface ZoneReport {
  /** The zone key with its NUL (R2.3). */
  readonly zone: string;
  /** The zone for people: `region/zone`, `zone`, or `(no zone)`. */
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
  /** The last heartbeat that was part of a published judgement; null before the first. */
  readonly heartbeatAt: number | null;
  readonly eviction: EvictionStatus;
  /** The earliest instant at which its pods may be deleted; absent once it has passed (direct mode). */
  readonly evictionFromAt?: number;
  /** Its place in the published part of its zone's queue, from 1; absent otherwise. */
  readonly queuePlace?: number;
  readonly zone: string;
  /** Set when only shadow mode shows some of this: it would be so had its writes been sent. */
  readonly isShadow?: true;
}

/** A pod that waits for its deletion. */
export interface PendingEviction {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly node: string;
  /** Epoch milliseconds; null when the pod goes at once, or when the earliest instant is not known. */
  readonly deadlineAt: number | null;
  /** Set when `deadlineAt` is only the earliest instant: the zone has not admitted the node yet (direct mode). */
  readonly isEarliest?: true;
  readonly taint: TaintId | null;
  readonly tolerationSeconds: number | null;
  /** Set in shadow mode: the pod would be deleted then. */
  readonly isShadow?: true;
}

/** Whether the cluster's state is current, from the pulses of all shards. */
export interface WatchHealthReport {
  readonly shards: number;
  /** Shards without a fresh pulse that reports every watch synced; no harmful verdict is made in them. */
  readonly blindShards: number;
  /** Age of the oldest last pulse of all shards in milliseconds; null when some shard has had none. */
  readonly oldestPulseMs: number | null;
  /** Nodes and pods too large for a message, which are therefore not judged; absent when there are none. */
  readonly unpublished?: { readonly nodes: number; readonly pods: number };
  /** For each watch, how long it has been synced without a break, in milliseconds; null while it is not synced. */
  readonly watches: Readonly<Record<WatchName, number | null>>;
}

/** A watch of the observer. */
export type WatchName = "nodes" | "leases" | "pods";

/** The object of a decision. Nodes and zones have an empty namespace; the name of a zone is its key. */
export interface Subject {
  readonly kind: "Node" | "Pod" | "Zone";
  readonly namespace: string;
  readonly name: string;
}

/** One entry of an object's history, as text. */
export interface Decision {
  /** Id of the message that it comes from. */
  readonly id: string;
  /** Id of the message that caused that message. */
  readonly cause: string | null;
  /** Epoch milliseconds on the sender's wall clock. */
  readonly at: number;
  readonly type: string;
  readonly object: Subject;
  readonly text: string;
  /** How often it happened in a row; `at` is the last time. */
  readonly times: number;
}

/** An explanation of an object's state. */
export interface Explanation {
  /** The current state and its reasons, one sentence each. */
  readonly sentences: readonly string[];
  /** The history, oldest first. */
  readonly timeline: readonly Decision[];
}

/** The whole cluster in a few numbers. */
export interface Overview {
  readonly at: number;
  readonly nodes: Readonly<Record<Readiness, number>>;
  readonly zones: readonly ZoneReport[];
  readonly pendingEvictions: number;
  readonly watchHealth: WatchHealthReport;
}

/** When one side did something, and the message that shows it; null when it has not. */
export type ComparedInstant = {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly id: string;
  /** Set when it was only due then, because the other side was earlier. */
  readonly isPlanned?: true;
} | null;

/** One step by both sides: Vigil, which may only have been about to write it, and every other controller. */
export interface ComparedStep {
  readonly vigil: ComparedInstant;
  readonly others: ComparedInstant;
  /** How much later the others were, in milliseconds; null unless both did it. */
  readonly leadMs: number | null;
  /** Why only one side did it; null when both did or neither. */
  readonly why: string | null;
}

/** A node from the first sign of its failure to its recovery. */
export interface ComparedNode {
  readonly node: string;
  readonly from: number;
  /** Epoch milliseconds; null while it lasts. */
  readonly to: number | null;
  readonly unknown: ComparedStep;
  readonly noExecute: ComparedStep;
}

/** A pod of such a node. */
export interface ComparedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly node: string;
  readonly notReady: ComparedStep;
  readonly deleted: ComparedStep;
}

/** What Vigil did or would have done beside what happened. */
export interface ComparisonReport {
  /** From when on it is complete, epoch milliseconds: the instant that was asked for, or the start of the ledger. */
  readonly from: number;
  readonly at: number;
  /** Whether the ledger started later than asked for. */
  readonly isCut: boolean;
  readonly nodes: readonly ComparedNode[];
  readonly pods: readonly ComparedPod[];
}

/** Read access to a ledger. Every answer is a snapshot. */
export interface LedgerReader {
  overview(): Overview;
  nodes(): readonly NodeReport[];
  /** The pods that will be deleted next, soonest first; in direct mode also those of nodes that will be drained. */
  pendingEvictions(limit: number): readonly PendingEviction[];
  /** The latest decisions, newest first. */
  decisions(limit: number): readonly Decision[];
  /** What Vigil and the other controllers did about nodes that failed since an instant, in epoch milliseconds. */
  compare(sinceAt: number): ComparisonReport;
  /** Null when the ledger does not know the node. */
  explainNode(name: string): Explanation | null;
  /** By key, title, or title without the region; null when the ledger knows no such zone or several. */
  explainZone(name: string): Explanation | null;
  /** Reads the pod live first; calls `done` once, later. */
  explainPod(namespace: string, name: string, done: (explained: Explanation | null) => void): void;
  /** Calls `listener` for every decision from now on. */
  onDecision(listener: (decision: Decision) => void): Stop;
}
