/**
 * The last requests for one node and their outcomes. A request is kept until its change shows, so that an explanation
 * rests on the last outcome and not on a schedule. The node and the outcome have different publishers, so either may
 * come first: versions show which is the later one.
 */

import type { Outcome } from "../../../protocols/done.ts";
import { serviceOf } from "../../../protocols/frame.ts";
import type { AnyMessage, BodyOf, Message } from "../../../protocols/messages.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import { listText } from "../../domain/format.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import { taintName } from "../../domain/toleration.ts";
import { isOlderVersion } from "../../structures/resource-version.ts";
import { SHOWN_BY_NODE } from "./lost-replies.ts";

/** Characters kept of a reason, because a hundred thousand pods may be denied at once. */
const DETAIL_CHARACTERS_MAX = 300;

/** The outcome of the last try. Times are on the writer's wall clock. */
export interface RequestOutcome {
  readonly outcome: Outcome;
  /** The reason from the API server or the live read; may be empty. */
  readonly detail: string;
  readonly at: number;
  /** When the writer retries; null where it does not, or where that is not known. */
  readonly retryAt: number | null;
  readonly retrying: boolean;
}

/** A request for a node or a pod, and its outcome. */
export interface TrackedRequest {
  /** `Ready=Unknown`, `the change of taints +node.kubernetes.io/unreachable:NoExecute`, `its deletion`. */
  readonly what: string;
  /** The node that it names, which this ledger may no longer know otherwise; absent where `what` says it all. */
  readonly node?: string | undefined;
  /** The change of taints; null for anything else. */
  readonly taintChange: BodyOf<"asked.taint"> | null;
  readonly askedAt: number;
  readonly last: RequestOutcome | null;
}

/** The requests for one node, by request type and requesting service. */
export class NodeRequests {
  readonly #requests = new Map<string, TrackedRequest>();

  get all(): readonly TrackedRequest[] {
    return [...this.#requests.values()];
  }

  /** The outcome that found the node gone; null where none did, or where the node was observed since. */
  get gone(): RequestOutcome | null {
    return this.all.find(({ last }) => last?.outcome === "gone")?.last ?? null;
  }

  /** The open request for the NoExecute taint of a grant. */
  get grant(): TrackedRequest | null {
    return this.all.find(({ taintChange }) => taintChange?.why === "granted") ?? null;
  }

  /** Records a request. A repeated one keeps its outcome. */
  request({ type, source, at, body }: Message<"asked.condition"> | Message<"asked.taint">): void {
    const key = `${type}/${serviceOf(source)}`;
    const what = requestText(body);
    if (what === "") {
      this.#requests.delete(key);
      return;
    }
    const known = this.#requests.get(key);
    const isSame = known?.what === what;
    const taintChange = "conditions" in body ? null : body;
    this.#requests.set(key, { what, taintChange, askedAt: at, last: isSame ? known.last : null });
  }

  /**
   * Records the outcome of a request, which is undefined if it was not received: the writer's change names it then.
   * Changes nothing if the node showed the change first, or if the request is over or has been replaced.
   */
  settle(
    { at, cause, body }: Message<"done.write">,
    asked: AnyMessage | undefined,
    observed: Pick<ObservedNode, "resourceVersion"> | null,
  ): void {
    const key = `${body.ask}/${serviceOf(cause ?? "")}`;
    const known = this.#requests.get(key);
    if (asked !== undefined && isOver(asked, known)) return;
    if (body.detail === SHOWN_BY_NODE || isShownBy(observed, body)) {
      this.#requests.delete(key);
      return;
    }
    if (known === undefined && body.change === "") return;
    const request = known ?? { what: body.change, taintChange: null, askedAt: at };
    this.#requests.set(key, { ...request, last: outcomeOf(at, body) });
  }

  /** Forgets the requests whose change the node shows. */
  onNode(node: ObservedNode): void {
    const isUnknown = readyConditionOf(node)?.status === "Unknown";
    const present = new Set(node.taints.map(taintName));
    for (const [key, { taintChange, last }] of this.#requests) {
      const isShown = taintChange === null ? isUnknown : isApplied(taintChange, present);
      if (isShown || last?.outcome === "ok" || last?.outcome === "gone") this.#requests.delete(key);
    }
  }

  /** Forgets the request of a grant, because the node does not wait any more. */
  endGrant(): void {
    for (const [key, { taintChange }] of this.#requests) if (taintChange?.why === "granted") this.#requests.delete(key);
  }

  /** Forgets the request for Ready=Unknown, because the node is not silent any more. */
  endVerdict(): void {
    this.#requests.delete("asked.condition/node");
  }
}

/** The outcome of a try. */
export function outcomeOf(at: number, { outcome, detail, retrying, retryAt }: BodyOf<"done.write">): RequestOutcome {
  const reason = detail.length > DETAIL_CHARACTERS_MAX ? `${detail.slice(0, DETAIL_CHARACTERS_MAX)}…` : detail;
  return { outcome, detail: reason, at, retryAt: retryAt ?? null, retrying };
}

/** Whether a message is a request that `NodeRequests` keeps. */
export function isNodeRequest(message: AnyMessage): message is Message<"asked.condition"> | Message<"asked.taint"> {
  return message.type === "asked.condition" || message.type === "asked.taint";
}

/** Whether a request has ended, or another one has taken its place. */
function isOver(asked: AnyMessage, known: TrackedRequest | undefined): boolean {
  return known === undefined || (isNodeRequest(asked) && requestText(asked.body) !== known.what);
}

/** Whether the watch has shown an accepted write: the node is at its version or a later one, or nothing was written. */
function isShownBy(
  observed: Pick<ObservedNode, "resourceVersion"> | null,
  { outcome, change, resourceVersion }: BodyOf<"done.write">,
): boolean {
  if (outcome !== "ok") return false;
  if (change === "") return true;
  return observed !== null && resourceVersion !== null && !isOlderVersion(observed.resourceVersion, resourceVersion);
}

/** A request as text; empty for one that withdraws another. */
function requestText(body: BodyOf<"asked.condition"> | BodyOf<"asked.taint">): string {
  return "conditions" in body ? conditionsText(body) : `the change of taints ${taintsText(body)}`;
}

function isApplied({ add, remove }: BodyOf<"asked.taint">, present: ReadonlySet<string>): boolean {
  return add.every((taint) => present.has(taintName(taint))) && !remove.some((taint) => present.has(taintName(taint)));
}

/** The conditions of a request as text: `Ready=Unknown and MemoryPressure=Unknown`; empty for none. */
export function conditionsText({ conditions }: BodyOf<"asked.condition">): string {
  return listText(conditions.map(({ type, status }) => `${type}=${status}`));
}

/** The taints of a request as text: `+node.kubernetes.io/unreachable:NoExecute`. */
export function taintsText({ add, remove }: BodyOf<"asked.taint">): string {
  return listText([...add.map((taint) => `+${taintName(taint)}`), ...remove.map((taint) => `-${taintName(taint)}`)]);
}
