/** Read access to a ledger in the same process: present state and history as plain values, ready for JSON. */
import type { NodeDocument, PodDocument } from "./documents.ts";
import type { Readiness, ZoneState } from "./judged.ts";
import type { BodyOf } from "./messages.ts";
import type { BrokenLeasePath } from "./observed.ts";
import type { Stop } from "./ports.ts";

/** What blocks waiting nodes of a zone. */
export interface ZoneHold {
  /** The policy whose limit it is, "" for the cluster's own; null for a freeze. */
  readonly policy: string | null;
  /** The field of the limit; null for a freeze. */
  readonly field: string | null;
  readonly nodes: number;
}

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
  /** What blocks nodes of its queue; absent for nothing. */
  readonly heldBack?: readonly ZoneHold[];
  /** What freezes every node, as text: then the zone admits none, whatever its rate. Absent without such a freeze. */
  readonly frozenBy?: string;
}

/** A user or a field that freezes nodes. */
export interface FreezeCause {
  /** The policy whose nodes it freezes; null for all nodes. */
  readonly policy: string | null;
  /** The name in a pause request, or the mode of the policy. */
  readonly by: string;
  readonly reason: string | null;
}

/** A freeze: nothing is tainted NoExecute or evicted, and countdowns are paused. */
export interface FreezeReport {
  /** Epoch milliseconds. */
  readonly sinceAt: number;
  /** Epoch milliseconds; null until a user thaws. */
  readonly untilAt: number | null;
  readonly causes: readonly FreezeCause[];
}

/** The circuit breaker of a policy, or of the cluster. */
export interface BreakerReport {
  /** Unknown while its owner publishes nothing, and when an open breaker was due to reset before that. */
  readonly state: "open" | "closed" | "unknown";
  /** When an open one resets at the earliest, in epoch milliseconds; null when it does not by itself. */
  readonly resetAt: number | null;
  /** How many nodes have gone down within its duration and still are; absent where it does not cover readiness. */
  readonly down?: number;
}

/** Why waiting nodes are blocked, and how many. */
export type HoldReport = BodyOf<"judged.limits">["holds"][number];

/** A node policy in force, and what it does now. */
export interface PolicyReport {
  /** Empty for all nodes: what applies to them whatever their policies. */
  readonly name: string;
  /** Null for all nodes. */
  readonly mode: "Enforce" | "Freeze" | null;
  /** The nodes that have this policy, and how many of them are not ready. */
  readonly nodes: number;
  readonly unhealthy: number;
  /** Nodes that another policy selects too, so that neither applies. */
  readonly conflicts: number;
  /** Null for none. */
  readonly breaker: BreakerReport | null;
  /** How many nodes its budgets allow to be evicted at once now, and how many more; null without budgets. */
  readonly budget: { readonly nodes: number; readonly left: number } | null;
  readonly holds: readonly HoldReport[];
  /** Pods evicted within the last minute, and pods that wait; absent without an eviction rate. */
  readonly evictions?: { readonly lastMinute: number; readonly waiting: number };
  /** How many nodes have a running remediation, and how many wait for one or have none left; absent for none. */
  readonly remediations?: { readonly running: number; readonly waiting: number };
  /** What freezes its nodes now; null for nothing. */
  readonly freeze: FreezeReport | null;
}

/** How a freeze delays the deletion of a pod. */
export interface FrozenEviction {
  /** Epoch milliseconds; null until a user thaws. */
  readonly untilAt: number | null;
  /** What is left of its countdown, which is paused; null where that is not known. */
  readonly remainingMs: number | null;
  /** What freezes its node, as text. */
  readonly by: string;
}

/** How a pod that is due waits for the eviction rate of its node's policy. */
export interface WaitingEviction {
  readonly policy: string;
  /** The field that delays it; null while no process publishes it. */
  readonly field: string | null;
  /** Its place in the queue, from 1; null behind the published part, and while no process publishes it. */
  readonly place: number | null;
  /** How many pods wait; 0 while no process publishes it. */
  readonly waiting: number;
  /** Epoch milliseconds; the earliest instant for a pod behind the published part. Null for never, or not known. */
  readonly expectedAt: number | null;
  /** How many pods the published part names; absent for a pod with a place. */
  readonly behind?: number;
  /** The holder of the Lease that permits require; absent while the process that counts evictions holds it. */
  readonly lease?: { readonly holder: string | null };
}

/** A node as last judged: its document, with instants in epoch milliseconds and its zone by its key alone. */
export interface NodeReport extends Omit<NodeDocument, "since" | "heartbeatAt" | "evictionFromAt" | "zoneKey"> {
  readonly since: number;
  readonly heartbeatAt: number | null;
  readonly evictionFromAt?: number | undefined;
}

/** A pod that waits for its deletion: its document, with instants in epoch milliseconds. */
export interface PendingEviction extends Omit<PodDocument, "deadlineAt" | "frozen" | "waits"> {
  readonly deadlineAt: number | null;
  readonly frozen?: FrozenEviction | undefined;
  readonly waits?: WaitingEviction | undefined;
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
  /** Set while no lease of any node is renewed although statuses still arrive: how; absent while leases are renewed. */
  readonly leasePath?: BrokenLeasePath;
  /** Since when no node can be heard, in epoch milliseconds, or null where nothing shows it; absent while nodes can. */
  readonly outage?: { readonly sinceAt: number | null };
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

/** An object that has an explanation of its own. */
export interface ExplainedObject extends Omit<Subject, "kind"> {
  readonly kind: Subject["kind"] | "NodePolicy";
}

/** The name of such an object within a text: its characters from `from` up to `to`, in UTF-16 code units. */
export interface NameInText extends ExplainedObject {
  readonly from: number;
  readonly to: number;
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
  /** The names in its text, in their order; absent for none. */
  readonly names?: readonly NameInText[];
  /** How often it happened in a row; `at` is the last time. */
  readonly times: number;
  /** The node that it is about, its object or that of its pod; only listeners get it, the history does not keep it. */
  readonly node?: string;
}

/** An explanation of an object's state. */
export interface Explanation {
  /** The current state and its reasons, one sentence each. */
  readonly sentences: readonly string[];
  /** For each sentence the names in it, in their order. */
  readonly names: readonly (readonly NameInText[])[];
  /** The history, oldest first. */
  readonly timeline: readonly Decision[];
}

/** What a sentence says before it is text: its name in the table of sentences, and the values filled in. */
export interface ExplainedFact {
  readonly name: string;
  readonly values: Readonly<Record<string, string>>;
}

/**
 * An explanation with the source of each sentence, for readers in the same process; the console sends the text alone.
 */
export interface FactualExplanation extends Explanation {
  readonly facts: readonly ExplainedFact[];
}

/** The cluster in a few numbers. */
export interface Overview {
  readonly at: number;
  readonly nodes: Readonly<Record<Readiness, number>>;
  readonly zones: readonly ZoneReport[];
  readonly pendingEvictions: number;
  readonly watchHealth: WatchHealthReport;
  /** Set beside upstream, whose controllers keep the zones and their rates. */
  readonly isBeside?: true;
}

/** What happened within a minute, over all nodes; `at` is its beginning, in epoch milliseconds. */
export interface TimelineMinute {
  readonly at: number;
  /** Nodes found silent. */
  readonly verdicts: number;
  /** Nodes that became ready again. */
  readonly recoveries: number;
  /** Pods whose deletion was accepted. */
  readonly evictions: number;
}

/** The states of a zone, each until the next, and when another process took it over; in epoch milliseconds. */
export interface ZoneBand {
  readonly title: string;
  readonly states: readonly { readonly at: number; readonly state: string }[];
  readonly takeovers: readonly number[];
}

/** A verdict in shadow mode, and how much later other controllers found the same node silent. */
export interface TimelineLead {
  /** When Vigil would have written it, in epoch milliseconds. */
  readonly at: number;
  /** Negative where the others were earlier. */
  readonly leadMs: number;
}

/** The last hours, from the start of the ledger at the earliest. Minutes without an event are left out. */
export interface TimelineReport {
  readonly fromAt: number;
  readonly at: number;
  readonly minutes: readonly TimelineMinute[];
  readonly zones: readonly ZoneBand[];
  /** By failure, the earliest first; none outside shadow mode. */
  readonly leads: readonly TimelineLead[];
}

/** When one side did something, and the message that shows it; null when it has not. */
export type ComparedInstant = {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly id: string;
  /** Set when it was only due then, because the other side was earlier. */
  readonly isPlanned?: true | undefined;
  /** Set when it happened while no ledger recorded: then at the latest. */
  readonly isLatest?: true | undefined;
} | null;

/** One step by both sides: Vigil, which may only have been about to write it, and every other controller. */
export interface ComparedStep {
  readonly vigil: ComparedInstant;
  readonly others: ComparedInstant;
  /** How much later the others were, in milliseconds; null unless both did it at a known instant. */
  readonly leadMs: number | null;
  /** Why only one side did it; null when both did or neither. */
  readonly why: string | null;
}

/** A node from the first sign of its failure, or its first NoExecute taint, to its recovery. */
export interface ComparedNode {
  readonly node: string;
  readonly from: number;
  /** Epoch milliseconds; null while it lasts. */
  readonly to: number | null;
  /** NoExecute taints of other keys than `not-ready` and `unreachable`, as `key:effect`. */
  readonly otherTaints: readonly string[];
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
  /** From when on it is complete, epoch milliseconds: the requested instant, or the start of the record. */
  readonly from: number;
  readonly at: number;
  /** Whether the record starts later than requested. */
  readonly isCut: boolean;
  /** Whether the record outlives the ledger: JetStream keeps it. */
  readonly isKept: boolean;
  /** Spans in which no ledger ran, epoch milliseconds. */
  readonly gaps: readonly { readonly from: number; readonly to: number }[];
  readonly nodes: readonly ComparedNode[];
  readonly pods: readonly ComparedPod[];
  /**
   * From when on Vigil's own steps about pods are recorded, epoch milliseconds, where those of others are not: Vigil
   * works in place of upstream. Absent otherwise.
   */
  readonly ownPodsFrom?: number | undefined;
}

/** Read access to a ledger. Every answer is a snapshot. */
export interface LedgerReader {
  overview(): Overview;
  nodes(): readonly NodeReport[];
  /** The node policies in force; null while they are not known. */
  policies(): readonly PolicyReport[] | null;
  /** The pods that will be deleted next, soonest first; in direct mode also those of nodes that will be drained. */
  pendingEvictions(limit: number): readonly PendingEviction[];
  /** The latest decisions, newest first. */
  decisions(limit: number): readonly Decision[];
  /** The last hours at a glance. */
  timeline(): TimelineReport;
  /** What Vigil and the other controllers did about nodes that failed since an instant, in epoch milliseconds. */
  compare(sinceAt: number): ComparisonReport;
  /** Null when the ledger does not know the node. */
  explainNode(name: string): FactualExplanation | null;
  /** By key, title, or title without the region; null when the ledger knows no such zone or several. */
  explainZone(name: string): Explanation | null;
  /** Null when no policy of this name is in force, or the policies are not known yet. */
  explainPolicy(name: string): Explanation | null;
  /** Reads the pod live first; calls `done` once, later. */
  explainPod(namespace: string, name: string, done: (explained: FactualExplanation | null) => void): void;
  /** Calls `listener` for every decision from now on. */
  onDecision(listener: (decision: Decision) => void): Stop;
}
