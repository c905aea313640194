/**
 * Whether upstream's node lifecycle controllers run, judged by what they leave behind: Events of theirs, taints that
 * they wrote, and the NoSchedule taint that they add within moments to a node that is not ready. On a quiet cluster
 * they leave nothing, so only a missing taint proves that they do not run. Example: a node is not ready from 12:00:00
 * and has no NoSchedule taint at 12:01:00, so beside upstream no controller taints and evicts.
 */
import { EventSource, TaintEffect, TaintKey } from "../../../protocols/names.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { ServiceName } from "../../../protocols/ports.ts";
import type { Profile } from "../../../protocols/profile.ts";
import type { Check } from "../../console/readiness.policy.ts";
import { apiTime, epochMsOf } from "../../domain/api-time.ts";
import { spanText } from "../../domain/format.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import { printable } from "../../platform/process/printable.ts";
import { type JsonRecord, listOf, recordOf, textOf } from "../../structures/json.ts";

/** The field manager of upstream's writes: the first part of its user agent. */
const UPSTREAM_MANAGER = "kube-controller-manager";
/** The field manager of Vigil's writes. */
const OWN_MANAGER = "vigil";
/** Signs older than this prove nothing; Events are kept for about as long. */
const SIGN_KEPT_MS = 3_600_000;
/** Upstream taints a node that is not ready within moments, and after a change of its leader within half a minute. */
const UNANSWERED_MS = 60_000;
/** Longest text of an Event that is shown, in characters. */
const SHOWN_CHARACTERS_MAX = 100;

/** Something that upstream did. */
export interface UpstreamSign {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly text: string;
}

/** A node that is not ready and carries no taint for it. */
export interface UnansweredNode {
  readonly node: string;
  /** Since when, on the monotonic clock. */
  readonly sinceMs: number;
}

/** How this process relates to upstream. */
export interface UpstreamStance {
  readonly upstream: Profile["upstream"];
  readonly shadow: boolean;
  readonly services: readonly ServiceName[];
}

/** What is known of upstream. */
export interface UpstreamKnowledge {
  readonly sign: UpstreamSign | null;
  readonly unanswered: UnansweredNode | null;
  /** Why Events cannot be read; null where they can. */
  readonly unreadable: string | null;
  /** When this process started, epoch milliseconds. */
  readonly startedAt: number;
  readonly wallMs: number;
  readonly nowMs: number;
}

/** A finding about upstream; `isWarning` where the two do not fit together. */
export interface UpstreamFinding {
  /** Stays the same while the finding does. */
  readonly kind: "both" | "before" | "nobody" | "unseen" | "seen" | "none";
  readonly text: string;
  readonly isWarning: boolean;
}

/** Sources of Events of the controllers that this process replaces, or relies on beside upstream. */
export function eventSourcesOf({ upstream, services }: UpstreamStance): readonly string[] {
  const judges = upstream === "beside" || services.includes("node");
  const evicts = upstream === "beside" || services.includes("taint-manager");
  return [...(judges ? [EventSource.node] : []), ...(evicts ? [EventSource.taint, EventSource.taintBefore29] : [])];
}

/**
 * The newest Event in a list that Vigil did not write. A client that may write Events can name any source and any
 * instant, so no Event counts as later than `wallMs`, when it was read. A forged Event is therefore forgotten an hour
 * after its last read.
 */
export function signInEvents(events: readonly unknown[], wallMs: number): UpstreamSign | null {
  return newestOf(
    wallMs,
    events.map((raw) => {
      const event = recordOf(raw);
      const metadata = recordOf(event.metadata);
      const managers = managersOf(metadata);
      const at = instantOf([
        event.lastTimestamp,
        recordOf(event.series).lastObservedTime,
        event.eventTime,
        metadata.creationTimestamp,
      ]);
      const isUpstreams = managers.length > 0 && !managers.some(({ manager }) => manager === OWN_MANAGER);
      const source = textOf(recordOf(event.source).component) ?? textOf(event.reportingComponent);
      // Those about nodes are in the namespace default, where the owner of another namespace may write none.
      const isAboutNode = source !== EventSource.node || recordOf(event.involvedObject).kind === "Node";
      if (at === null || !isUpstreams || !isAboutNode) return null;
      return { at, text: `Event ${shown(event.reason)} of ${shown(source)}` };
    }),
  );
}

/** The newest write of a node's taints by upstream, from the managed fields of nodes that were listed at `wallMs`. */
export function signInNodes(nodes: readonly unknown[], wallMs: number): UpstreamSign | null {
  return newestOf(
    wallMs,
    nodes.flatMap((raw) => {
      const metadata = recordOf(recordOf(raw).metadata);
      return managersOf(metadata).map(({ manager, time, fields }) => {
        const at = instantOf([time]);
        const changesTaints = "f:taints" in recordOf(fields["f:spec"]);
        if (at === null || manager !== UPSTREAM_MANAGER || !changesTaints) return null;
        return { at, text: `taints of node ${shown(metadata.name)} written by ${manager}` };
      });
    }),
  );
}

/** The newer of two signs. */
export function newerSign(left: UpstreamSign | null, right: UpstreamSign | null): UpstreamSign | null {
  if (left === null || right === null) return left ?? right;
  return left.at > right.at ? left : right;
}

/**
 * Whether a node is not ready and lacks the NoSchedule taint that upstream sets for it at once (R4.18). Upstream cannot
 * answer what only shadow mode shows.
 */
export function isUnanswered(node: Pick<ObservedNode, "conditions" | "taints" | "shadow">): boolean {
  const key = node.shadow === undefined ? answeringKey(node) : null;
  return key !== null && !node.taints.some((taint) => taint.key === key && taint.effect === TaintEffect.noSchedule);
}

/** A sign in how a node changed: its missing taint is there now, and beside upstream Vigil sets none. */
export function signInChange(before: ObservedNode, after: ObservedNode, wallMs: number): UpstreamSign | null {
  const key = answeringKey(after);
  if (key === null || !isUnanswered(before) || isUnanswered(after)) return null;
  return { at: wallMs, text: `taint ${key}:${TaintEffect.noSchedule} on node ${after.node}` };
}

function answeringKey({ conditions }: Pick<ObservedNode, "conditions">): string | null {
  const status = readyConditionOf({ conditions })?.status;
  if (status === "False") return TaintKey.notReady;
  return status === "Unknown" ? TaintKey.unreachable : null;
}

/** The finding about upstream. */
export function upstreamFinding(stance: UpstreamStance, knowledge: UpstreamKnowledge): UpstreamFinding {
  const { unanswered, wallMs, nowMs } = knowledge;
  const sign = knowledge.sign !== null && wallMs - knowledge.sign.at < SIGN_KEPT_MS ? knowledge.sign : null;
  const seen = sign === null ? "" : `${sign.text} at ${apiTime(sign.at)}`;
  if (stance.upstream === "beside") {
    if (unanswered !== null && nowMs - unanswered.sinceMs >= UNANSWERED_MS) {
      const since = `node ${unanswered.node} has not been ready for ${spanText(nowMs - unanswered.sinceMs)}`;
      const fix = "switch upstream's controllers on, or run Vigil with --upstream=replace";
      return {
        kind: "nobody",
        isWarning: true,
        text: `no controller taints and evicts: ${since} and has no taint; ${fix}`,
      };
    }
    if (sign !== null) return { kind: "seen", isWarning: false, text: `upstream was last seen by ${seen}` };
    const why = knowledge.unreadable === null ? "" : `, and Events cannot be read (${knowledge.unreadable})`;
    const text = `no sign of upstream's controllers yet${why}; if they are switched off, no controller taints and evicts`;
    return { kind: "unseen", isWarning: true, text };
  }
  if (sign === null) return { kind: "none", isWarning: false, text: "" };
  if (stance.shadow) return { kind: "seen", isWarning: false, text: `upstream was last seen by ${seen}` };
  const fix = "switch upstream's controllers off, or run Vigil with --upstream=beside";
  // They may have been switched off just before this process was started in their place.
  if (sign.at < knowledge.startedAt) {
    const text = `upstream's controllers were at work before this process started: ${seen}; if they still run, ${fix}`;
    return { kind: "before", isWarning: true, text };
  }
  return { kind: "both", isWarning: true, text: `upstream's controllers do Vigil's work too: ${seen}; ${fix}` };
}

/**
 * The line of `/readyz?verbose`. The check passes all the same: what it finds stops no process, and a client that
 * writes Events must not be able to stop a rollout.
 */
export function upstreamCheck({ text }: Pick<UpstreamFinding, "text">): Check {
  return { name: "upstream", problem: null, ...(text === "" ? {} : { note: text }) };
}

interface ManagedEntry {
  readonly manager: string | null;
  readonly time: unknown;
  readonly fields: JsonRecord;
}

function managersOf(metadata: JsonRecord): readonly ManagedEntry[] {
  return listOf(metadata.managedFields).map((raw) => {
    const { manager, time, fieldsV1 } = recordOf(raw);
    return { manager: textOf(manager), time, fields: recordOf(fieldsV1) };
  });
}

/** A text that users of the API chose, short and without control characters. */
function shown(text: unknown): string {
  return printable((textOf(text) ?? "unnamed").slice(0, SHOWN_CHARACTERS_MAX));
}

function instantOf(times: readonly unknown[]): number | null {
  const text = times.map(textOf).find((time) => time !== null);
  return epochMsOf(text);
}

function newestOf(wallMs: number, signs: readonly (UpstreamSign | null)[]): UpstreamSign | null {
  const newest = signs.reduce(newerSign, null);
  return newest === null ? null : { ...newest, at: Math.min(newest.at, wallMs) };
}
