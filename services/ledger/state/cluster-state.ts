/** The present state of nodes, zones and pods as published so far. It follows messages and decides nothing. */
import type { Outcome } from "../../../protocols/done.ts";
import type { Readiness } from "../../../protocols/judged.ts";
import type { AnyMessage, BodyOf, Message, MessageType } from "../../../protocols/messages.ts";
import { TaintEffect } from "../../../protocols/names.ts";
import type { ConditionStatus, ObservedNode, Taint } from "../../../protocols/objects.ts";
import type { PolicySet } from "../../../protocols/policy-set.ts";
import { ratedPoliciesOf } from "../../domain/eviction-rates.ts";
import { waitingTaintOf } from "../../domain/judgement.ts";
import { limitedNames } from "../../domain/limited-policies.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import { BoundedMap } from "../../structures/bounded-map.ts";
import { isOlderVersion } from "../../structures/resource-version.ts";
import { type ByType, dispatch } from "../by-type.ts";
import { isNodeRequest, NodeRequests, outcomeOf } from "./node-requests.ts";
import { PodRecords } from "./pod-records.ts";

/** Requests kept until their outcome is published. */
const REQUESTS_MAX = 20_000;
const NO_LABELS: ObservedNode["labels"] = {};
const NO_TAINTS: Taint[] = [];

/** The last judgement of a node as it was published, without the fields that only its node needs. */
export type NodeJudgement = Omit<BodyOf<"judged.node">, "node" | "uid" | "resourceVersion" | "podsUnknown">;

/** What is known of a node. */
export interface NodeRecord {
  readonly name: string;
  readonly uid: string;
  /** As `reducedNode` leaves it; null until the node itself is observed, because a judgement alone may be late. */
  observed: ObservedNode | null;
  judged: NodeJudgement | null;
  /** When that was last published, on its sender's wall clock; null without one. */
  judgedAt: number | null;
  /** The last change of its Ready status; null while there was none. */
  readyChange: ReadyChange | null;
  readonly requests: NodeRequests;
  /** Whether an Event has reported its silence since it was last ready. */
  silenceReported: boolean;
  /** Whether an Event has reported its drain since it was last `unmarked` (direct mode). */
  drainReported: boolean;
}

/** A change of the Ready status of a node. */
interface ReadyChange {
  /** When it was published, on the observer's wall clock. */
  readonly at: number;
  /** The version of the node with which it was first shown. */
  readonly resourceVersion: string;
  readonly before: ConditionStatus | null;
}

/** The last judgement of a kind, and when it was published on the sender's wall clock. */
export interface Judged<T extends MessageType> {
  readonly judged: BodyOf<T>;
  readonly publishedAt: number;
}

/** A request without a final outcome, and the node's observed Ready status when it was sent. */
export interface OpenRequest {
  readonly message: AnyMessage;
  readonly ready: ConditionStatus | null;
}

/** What is known of every node, zone and pod. */
export class ClusterState {
  readonly nodes = new Map<string, NodeRecord>();
  readonly zones = new Map<string, Judged<"judged.zone">>();
  /** The limits of policies, and of the cluster under the name "". */
  readonly limits = new Map<string, Judged<"judged.limits">>();
  /** The evictions of policies that limit their rate. */
  readonly evictions = new Map<string, Judged<"judged.evictions">>();
  /** The remediations of unhealthy nodes, by policy. */
  readonly remediations = new Map<string, Judged<"judged.remediations">>();
  readonly readiness: Record<Readiness, number> = { starting: 0, ready: 0, notReady: 0, unknown: 0 };
  readonly pods = new PodRecords();
  /** Epoch milliseconds: older nodes were registered by other ledgers. Null where there are none. */
  joinedAt: number | null = null;
  readonly #requests = new BoundedMap<string, OpenRequest>(REQUESTS_MAX);
  readonly #follow: ByType<[], void> = {
    "observed.node": (message) => this.#observe(message),
    "observed.gone": ({ body }) => this.#forget(body),
    "judged.node": (message) => this.#judgeNode(message),
    "judged.zone": ({ at, body }) => void this.zones.set(body.zone, { judged: body, publishedAt: at }),
    "judged.limits": ({ at, body }) => void this.limits.set(body.policy, { judged: body, publishedAt: at }),
    "judged.evictions": ({ at, body }) => void this.evictions.set(body.policy, { judged: body, publishedAt: at }),
    "judged.remediations": ({ at, body }) => this.#judgeRemediations(body, at),
    "judged.pod": (message) => this.#judgePod(message),
    "asked.condition": (message) => {
      this.#request(message);
      // A request without conditions withdraws a verdict, and its outcome changes nothing.
      if (message.body.conditions.length > 0) this.#keep(message, message.body.node);
    },
    "asked.taint": (message) => {
      this.#request(message);
      this.#keep(message, message.body.node);
    },
    "asked.eviction": (message) => {
      this.pods.update(message.body.uid, { asked: message.body, askedAt: message.at, publishedAt: message.at });
      this.#keep(message, message.body.node);
    },
    "done.write": (message) => this.#settle(message),
  };

  /** The request that a `done.write` answers, if it is still kept. */
  request(id: string | null): OpenRequest | undefined {
    return id === null ? undefined : this.#requests.get(id);
  }

  apply(message: AnyMessage): void {
    dispatch(this.#follow, message);
  }

  /** Ends the requests that a node's full state shows; `apply` receives reduced nodes. Returns its judgement. */
  onFullNode(node: ObservedNode): NodeJudgement | null {
    const known = this.nodes.get(node.node);
    if (known?.uid !== node.uid) return null;
    known.requests.onNode(node);
    return known.judged;
  }

  noteReported(name: string, what: "silenceReported" | "drainReported"): void {
    const node = this.nodes.get(name);
    if (node !== undefined) node[what] = true;
  }

  /** Forgets judged nodes that were never observed, where it is known which nodes exist. */
  forgetUnobserved(isKnown: (node: string) => boolean): void {
    for (const [name, { observed }] of this.nodes) {
      if (observed === null && isKnown(name)) this.nodes.delete(name);
    }
  }

  /** Forgets and returns the zones that have no node and were last published by then, in epoch milliseconds. */
  forgetVanished(publishedBefore: number): BodyOf<"judged.zone">[] {
    const stale = [...this.zones.values()].filter(({ publishedAt }) => publishedAt <= publishedBefore);
    if (stale.length === 0) return [];
    const withNodes = new Set([...this.nodes.values()].map(({ judged }) => judged?.zone));
    const vanished = stale.map(({ judged }) => judged).filter(({ zone }) => !withNodes.has(zone));
    for (const { zone } of vanished) this.zones.delete(zone);
    return vanished;
  }

  /** Forgets what was published about policies that are gone, or have lost their limits or rates. */
  keepPolicies(set: PolicySet): void {
    const limited = limitedNames(set.policies);
    const rated = ratedPoliciesOf(set);
    const present = new Set(set.policies.map(({ name }) => name));
    for (const name of this.limits.keys()) if (!limited.has(name)) this.limits.delete(name);
    for (const name of this.evictions.keys()) if (!rated.has(name)) this.evictions.delete(name);
    for (const name of this.remediations.keys()) if (!present.has(name)) this.remediations.delete(name);
  }

  #observe({ at, body }: Message<"observed.node">): void {
    const node = this.#node(body.node, body.uid);
    const ready = readyConditionOf(body)?.status;
    if (node.observed === null && node.judged !== null) this.readiness[node.judged.readiness]++;
    const before = node.observed === null ? ready : readyConditionOf(node.observed)?.status;
    if (before !== ready) {
      node.readyChange = { at, resourceVersion: body.resourceVersion, before: before ?? null };
    }
    node.observed = body;
    if (ready === "True") node.silenceReported = false;
  }

  #judgeNode({ at, body }: Message<"judged.node">): void {
    const known = this.nodes.get(body.node);
    if (known?.observed && known.uid !== body.uid) return;
    const node = this.#node(body.node, body.uid);
    if (node.observed !== null) {
      if (node.judged !== null) this.readiness[node.judged.readiness]--;
      this.readiness[body.readiness]++;
    }
    const { node: _name, uid: _uid, resourceVersion: _version, podsUnknown: _podsUnknown, ...judged } = body;
    node.judged = judged;
    node.judgedAt = at;
    if (judged.eviction === "unmarked") node.drainReported = false;
    if (waitingTaintOf(judged) === null) node.requests.endGrant();
    if (judged.readiness !== "unknown") node.requests.endVerdict();
  }

  #judgeRemediations(body: BodyOf<"judged.remediations">, publishedAt: number): void {
    if (body.nodes.length === 0) this.remediations.delete(body.policy);
    else this.remediations.set(body.policy, { judged: body, publishedAt });
  }

  #judgePod({ at, body }: Message<"judged.pod">): void {
    if (body.eviction === "none") {
      this.pods.drop(body.uid);
      return;
    }
    const asked = this.pods.get(body.uid)?.asked;
    const isOverruled = body.eviction === "pending" && asked && asked.deadlineAt !== body.deadlineAt;
    const reset = isOverruled ? { asked: null, askedAt: null, outcome: null, last: null } : {};
    this.pods.update(body.uid, { judged: body, publishedAt: at, ...reset });
  }

  #settle(message: Message<"done.write">): void {
    const { at, cause, body } = message;
    if (body.ask === "asked.eviction") this.#settlePod(body, at);
    const node = body.kind === "Node" ? this.nodes.get(body.name) : undefined;
    if (node?.uid === body.uid) node.requests.settle(message, this.request(cause)?.message, node.observed);
    // A request whose reply was lost is needed again once the watch shows its change.
    if (cause !== null && !body.retrying && body.outcome !== "unknown") this.#requests.delete(cause);
  }

  #settlePod(body: BodyOf<"done.write">, publishedAt: number): void {
    const { uid, outcome, namespace, name, node } = body;
    const known = this.pods.get(uid);
    const isGone = outcome === "ok" || outcome === "gone";
    const changes = { outcome, publishedAt, last: { ...outcomeOf(publishedAt, body), namespace, name, node } };
    if (known?.order === "done") this.pods.update(uid, { publishedAt });
    else if (isGone) this.pods.update(uid, { order: "done", ...changes });
    else if (wasSent(outcome)) this.pods.update(uid, { order: "sent", ...changes });
    else if (known !== undefined) this.pods.update(uid, changes);
  }

  #request(message: AnyMessage): void {
    if (!isNodeRequest(message)) return;
    const node = this.nodes.get(message.body.node);
    if (node?.uid === message.body.uid) node.requests.request(message);
  }

  #keep(message: Message<"asked.condition"> | Message<"asked.taint"> | Message<"asked.eviction">, node: string): void {
    const { observed = null, readyChange = null } = this.nodes.get(node) ?? {};
    const present = (observed && readyConditionOf(observed)?.status) ?? null;
    const { resourceVersion } = { resourceVersion: null, ...message.body };
    // A node that already shows what is requested was sent later than the request.
    const isLater =
      readyChange !== null && resourceVersion !== null && isOlderVersion(resourceVersion, readyChange.resourceVersion);
    this.#requests.set(message.id, { message, ready: isLater ? readyChange.before : present });
  }

  #forget({ node: name, uid }: BodyOf<"observed.gone">): void {
    const node = this.nodes.get(name);
    if (node?.uid !== uid) return;
    if (node.observed !== null && node.judged !== null) this.readiness[node.judged.readiness]--;
    this.nodes.delete(name);
  }

  /** The record of a node; a node with another uid gets a new record. */
  #node(name: string, uid: string): NodeRecord {
    const known = this.nodes.get(name);
    if (known?.uid === uid) return known;
    if (known !== undefined) this.#forget({ node: name, uid: known.uid });
    const reported = { silenceReported: false, drainReported: false };
    const unseen = { observed: null, judged: null, judgedAt: null, readyChange: null };
    const node = { name, uid, ...unseen, requests: new NodeRequests(), ...reported };
    this.nodes.set(name, node);
    return node;
  }
}

/** Whether the write reached the API server, or may have. */
export function wasSent(outcome: Outcome): boolean {
  return outcome === "ok" || outcome === "denied" || outcome === "failed" || outcome === "unknown";
}

/**
 * The part of an observed node that the ledger keeps: its identity, its Ready condition and its NoExecute taints. Its
 * labels are those given: usually none, because nothing shows them.
 */
export function reducedNode(node: ObservedNode, labels: ObservedNode["labels"] = NO_LABELS): ObservedNode {
  const taints = node.taints.filter(({ effect }) => effect === TaintEffect.noExecute);
  const ready = readyConditionOf(node);
  const { writtenBy: _writtenBy, ...kept } = node;
  return {
    ...kept,
    labels,
    taints: taints.length === 0 ? NO_TAINTS : taints,
    conditions: ready === null ? [] : [ready],
  };
}
