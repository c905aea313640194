/**
 * What Vigil did or would have done about failed nodes, beside what the API shows that others did. It follows messages
 * and decides nothing. In shadow mode the API shows only what others do; otherwise what Vigil has not written itself.
 */
import type { ComparedNode, ComparedPod, ComparisonReport } from "../../../protocols/ledger-reader.ts";
import type { AnyMessage, BodyOf, Message } from "../../../protocols/messages.ts";
import { TaintEffect, TaintKey } from "../../../protocols/names.ts";
import type { ObservedNode, ObservedPod, Taint } from "../../../protocols/objects.ts";
import { epochMsOf } from "../../domain/api-time.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import { taintName } from "../../domain/toleration.ts";
import { ShardPods } from "../../platform/shard-view/shard-pods.ts";
import { BoundedMap } from "../../platform/structures/bounded-map.ts";
import { Incident } from "./incident.ts";

/** Failures kept at once; beyond it the oldest are dropped. */
const INCIDENTS_MAX = 5_000;
const OWN_KEYS: readonly string[] = [TaintKey.notReady, TaintKey.unreachable];

/** The failures of all nodes since the ledger started. */
export class Comparison {
  readonly #startedAt: number;
  readonly #pods = new ShardPods();
  /** Every failure by a number of its own, the oldest first. */
  readonly #incidents = new BoundedMap<number, Incident>(INCIDENTS_MAX, (incident) => this.#drop(incident));
  /** The failures that last, by node. */
  readonly #open = new Map<string, Incident>();
  #number = 0;
  readonly #isOver: (incident: Incident) => void;

  /** `startedAt` is when the ledger started, epoch milliseconds; `isOver` receives each failure that has ended. */
  constructor(startedAt: number, isOver: (incident: Incident) => void) {
    this.#startedAt = startedAt;
    this.#isOver = isOver;
  }

  /** Takes a message. `request` is the request that a `done.write` answers, if it is known. */
  take(message: AnyMessage, request: AnyMessage | undefined): void {
    if (message.type === "observed.node") this.#takeNode(message);
    else if (message.type === "observed.pods") this.#takePods(message);
    else if (message.type === "observed.gone") this.#close(message.body.node, message.at);
    else if (message.type === "judged.pod") this.#takeDeadline(message);
    else if (message.type === "done.write") this.#takeWrite(message, request);
  }

  /** The failures that began at or after an instant, and those that last. */
  report(sinceAt: number, at: number): ComparisonReport {
    const nodes: ComparedNode[] = [];
    const pods: ComparedPod[] = [];
    for (const incident of this.#incidents.values()) {
      if (incident.from < sinceAt && incident.to !== null) continue;
      const node = incident.report();
      if (node !== null) nodes.push(node);
      pods.push(...incident.podReports());
    }
    const isCut = sinceAt < this.#startedAt;
    return { from: Math.max(sinceAt, this.#startedAt), at, isCut, nodes, pods };
  }

  #takeNode({ at, id, body }: Message<"observed.node">): void {
    const open = this.#open.get(body.node);
    if (open !== undefined && open.uid !== body.uid) this.#close(body.node, at);
    const ready = readyConditionOf(body);
    const isUnknown = ready?.status === "Unknown" && body.shadow?.verdict === undefined;
    const taint = realTaintOf(body);
    if (isUnknown) this.#incident(body, at).unknown.shown(ready.transitionAt ?? at, id);
    if (taint !== null) this.#incident(body, at).noExecute.shown(epochMsOf(taint.timeAdded) ?? at, id);
    if (!isFailing(body)) this.#close(body.node, at);
  }

  #takePods(message: Message<"observed.pods">): void {
    const { node } = message.body;
    const before = this.#pods.of(node)?.pods ?? [];
    const whole = this.#pods.take(message.body);
    const incident = this.#open.get(node);
    if (whole === null || incident === undefined) return;
    const present = new Set(whole.pods.map(({ uid }) => uid));
    for (const pod of whole.pods) takePod(incident, pod, message);
    for (const { uid } of before) {
      if (!present.has(uid)) incident.pods.get(uid)?.deleted.shown(message.at, message.id);
    }
  }

  #takeDeadline({ id, body }: Message<"judged.pod">): void {
    const known = this.#open.get(body.node)?.pods.get(body.uid);
    if (body.deadlineAt !== null && body.eviction !== "none") known?.deleted.planned(body.deadlineAt, id);
  }

  #takeWrite({ at, id, body }: Message<"done.write">, request: AnyMessage | undefined): void {
    const { ask, outcome, change, detail } = body;
    const isWritten = outcome === "ok" && change !== "";
    const target = { node: body.node, uid: body.uid };
    if (outcome === "refused" && ask === "asked.condition") {
      const open = this.#open.get(body.node);
      if (open !== undefined) open.refusal = detail;
    }
    if (!isWritten && outcome !== "shadowed") return;
    if (ask === "asked.condition") this.#incident(target, at).unknown.byVigil(at, id, isWritten);
    if (ask === "asked.taint" && addsNoExecute(request))
      this.#incident(target, at).noExecute.byVigil(at, id, isWritten);
    const pod = this.#open.get(body.node)?.pods.get(body.uid);
    if (ask === "asked.unready") pod?.notReady.byVigil(at, id, isWritten);
    if (ask === "asked.eviction") pod?.deleted.byVigil(at, id, isWritten);
  }

  /** The failure of a node that lasts, begun now if there is none. */
  #incident({ node, uid }: Pick<ObservedNode, "node" | "uid">, at: number): Incident {
    const open = this.#open.get(node);
    if (open !== undefined) return open;
    const begun = new Incident(node, uid, at);
    this.#open.set(node, begun);
    this.#incidents.set(++this.#number, begun);
    for (const pod of this.#pods.of(node)?.pods ?? []) begun.podOf(pod);
    return begun;
  }

  #close(node: string, at: number): void {
    const open = this.#open.get(node);
    this.#open.delete(node);
    this.#pods.drop(node);
    if (open === undefined) return;
    open.to = at;
    this.#isOver(open);
  }

  #drop(incident: Incident): void {
    if (this.#open.get(incident.node) === incident) this.#open.delete(incident.node);
  }
}

/** Takes a pod as the API shows it, without what only shadow mode shows. */
function takePod(incident: Incident, pod: ObservedPod, { at, id }: Message<"observed.pods">): void {
  const known = incident.podOf(pod);
  const isReady = pod.shadow?.unreadyAt !== undefined || pod.ready !== "False";
  const isRunning = pod.shadow?.deletedAt !== undefined || pod.deletionAt === null;
  // What the first message shows may be much older than the failure.
  if (known.wasReady && !isReady) known.notReady.shown(at, id);
  if (known.wasRunning && !isRunning) known.deleted.shown(at, id);
  known.wasReady ||= isReady;
  known.wasRunning ||= isRunning;
}

/** A NoExecute taint of upstream's keys that the API shows. */
function realTaintOf({ taints, shadow }: ObservedNode): Taint | null {
  const unsent = new Set(shadow?.added?.map(taintName));
  const own = [...taints.filter((taint) => !unsent.has(taintName(taint))), ...(shadow?.removed ?? [])];
  return own.find(({ key, effect }) => effect === TaintEffect.noExecute && OWN_KEYS.includes(key)) ?? null;
}

/** Whether a node is Unknown or carries one of these taints, be it only in shadow mode. */
function isFailing(node: ObservedNode): boolean {
  const carries = node.taints.some(({ key, effect }) => effect === TaintEffect.noExecute && OWN_KEYS.includes(key));
  return carries || readyConditionOf(node)?.status === "Unknown" || realTaintOf(node) !== null;
}

function addsNoExecute(request: AnyMessage | undefined): boolean {
  const isTaint = (body: AnyMessage["body"]): body is BodyOf<"asked.taint"> => "add" in body;
  if (request === undefined || !isTaint(request.body)) return false;
  return request.body.add.some(({ effect }) => effect === TaintEffect.noExecute);
}
