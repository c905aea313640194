/**
 * What Vigil did or would have done about failed nodes, beside what the API shows that others did. It follows messages
 * and decides nothing. In shadow mode the API shows only what others do; otherwise what Vigil has not written itself,
 * which the outcomes of its requests show.
 */
import type { ComparisonRecord, NodeRecord, PodRecord } from "../../../protocols/comparison-record.ts";
import type {
  ComparedInstant,
  ComparedNode,
  ComparedPod,
  ComparisonReport,
  TimelineLead,
} from "../../../protocols/ledger-reader.ts";
import type { AnyMessage, BodyOf, Message } from "../../../protocols/messages.ts";
import { FIELD_MANAGER } from "../../../protocols/names.ts";
import type { ObservedNode, ObservedPod } from "../../../protocols/objects.ts";
import { epochMsOf } from "../../domain/api-time.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import { ShardPods } from "../../platform/shard-view/shard-pods.ts";
import { BoundedMap } from "../../structures/bounded-map.ts";
import { isOlderVersion } from "../../structures/resource-version.ts";
import { Incident, type PodIncident, type PodName } from "./incident.ts";
import { Incidents } from "./incidents.ts";
import {
  addsNoExecute,
  changedAt,
  type FailureStep,
  noExecuteOf,
  type ObservedFailure,
  observedFailure,
  STEPS_BY_REQUEST,
} from "./node-failure.policy.ts";
import { RecordedTimes } from "./recorded-times.ts";
import type { Author, OwnStep } from "./step.ts";

/** Failures that ended this long ago are forgotten, as in the stored history. */
const AGE_MAX_MS = 7 * 24 * 3_600_000;
/** A node that was silent when its ledger stopped is judged again within its grace and this long. */
const RESUME_MS = 60_000;
/** Clocks of one process and the whole seconds of the API differ by less. */
const SAME_MS = 5_000;
/** Requests for pods under way that are kept at once; beyond it what the API shows counts as the others'. */
const REQUESTS_MAX = 20_000;

/** What a comparison is started with. */
export interface ComparisonOptions {
  /** The process of its ledger, and when that started, epoch milliseconds. */
  readonly member: string;
  readonly startedAt: number;
  /** Whether Vigil works beside upstream, and leaves taints and evictions to it. */
  readonly isBeside: boolean;
  /** Whether pods are observed. Otherwise only Vigil's own steps about them are recorded, and none is stored. */
  readonly comparesPods: boolean;
  /** Whether Vigil writes nothing, so that all that the API shows is the others'. */
  readonly isShadow: boolean;
  readonly nodeMonitorGraceMs: number;
  readonly keep: (record: ComparisonRecord) => void;
  /** Receives each step that others took about a pod, with the id under which it is explained. */
  readonly podShown: (pod: PodName, step: "notReady" | "deleted", instant: NonNullable<ComparedInstant>) => void;
  /** Receives each failure that has ended. */
  readonly isOver: (incident: Incident) => void;
}

/** The failures of all nodes since the ledger started, and those that earlier ledgers stored. */
export class Comparison {
  readonly #options: ComparisonOptions;
  readonly #pods = new ShardPods();
  readonly #incidents = new Incidents();
  readonly #times: RecordedTimes;
  /** What was observed last of each node. */
  readonly #seen = new Map<string, ObservedFailure>();
  /** Vigil's requests for pods without a final outcome, by uid and step. */
  readonly #requested = new BoundedMap<string, true>(REQUESTS_MAX);
  /** Whether the stored records were read. Nothing is stored before, because stored failures may go on. */
  #isRestored = false;

  constructor(options: ComparisonOptions) {
    this.#options = options;
    this.#times = new RecordedTimes(options);
  }

  onMessage(message: AnyMessage): void {
    if (message.type === "observed.node") this.#onNode(message);
    else if (message.type === "observed.pods") this.#onPods(message);
    else if (message.type === "observed.gone") this.#onGone(message);
    else if (message.type === "judged.pod") this.#onDeadline(message);
    else if (message.type === "done.write") this.#onWrite(message);
    else {
      this.#onRequest(message);
      return;
    }
    this.#keepChanges(this.#incidents.open(message.body.node));
  }

  /** Adds what earlier ledgers stored, and continues the failures that lasted when they stopped. */
  restore(records: readonly ComparisonRecord[], at: number): void {
    const nodes: NodeRecord[] = [];
    const pods = Map.groupBy(
      records.filter((record): record is PodRecord => record.kind === "pod"),
      failureOf,
    );
    for (const record of records) {
      if (record.kind === "run") this.#times.restore(record);
      if (record.kind === "node") nodes.push(record);
    }
    for (const record of nodes.sort((left, right) => left.from - right.from)) {
      const stored = new Incident(record.node, record.uid, record.from, record);
      for (const pod of pods.get(failureOf(record)) ?? []) stored.restorePod(pod);
      if (this.#incidents.restore(stored) && stored.to === null) this.#resume(stored);
    }
    this.#isRestored = true;
    for (const incident of this.#incidents.all()) this.#keepChanges(incident);
    this.noteRunning(at);
  }

  /** Forgets old failures and those of nodes that left unobserved, and notes that the ledger still runs. */
  sweep(at: number, isGone: (node: string) => boolean): void {
    const { startedAt, nodeMonitorGraceMs } = this.#options;
    const isJudged = at > startedAt + nodeMonitorGraceMs + RESUME_MS;
    for (const { node, isResumed } of this.#incidents.allOpen()) {
      const isOver = this.#seen.get(node)?.isFailing === false && isResumed && isJudged;
      if (isOver || (!this.#seen.has(node) && isGone(node))) this.#close(node, at);
    }
    this.#incidents.forgetBefore(at - AGE_MAX_MS);
    this.#times.forgetBefore(at - AGE_MAX_MS);
  }

  /** Stores that the ledger has recorded until now. */
  noteRunning(at: number): void {
    if (this.#isRestored) this.#options.keep(this.#times.run(at));
  }

  /** The failures that began at or after an instant, and those that last. `isKept` when they outlive the process. */
  report(sinceAt: number, at: number, isKept: boolean): ComparisonReport {
    const nodes: ComparedNode[] = [];
    const pods: ComparedPod[] = [];
    const { isBeside, comparesPods, startedAt } = this.#options;
    for (const incident of this.#incidents.all()) {
      if (incident.from < sinceAt && incident.to !== null) continue;
      const node = incident.report(isBeside);
      if (node !== null) nodes.push(node);
      pods.push(...incident.podReports(isBeside));
    }
    const completeFrom = Math.max(this.#times.from, this.#incidents.completeFrom);
    const from = Math.max(sinceAt, completeFrom);
    const limits = comparesPods ? {} : { ownPodsFrom: Math.max(from, startedAt) };
    return {
      from,
      at,
      isCut: sinceAt < completeFrom,
      isKept,
      gaps: this.#times.gaps(from, at),
      nodes,
      pods,
      ...limits,
    };
  }

  /** How much later than Vigil the others found nodes silent that Vigil found silent at or after an instant. */
  leads(sinceAt: number): TimelineLead[] {
    return this.#incidents.all().flatMap(({ unknown }) => {
      const { vigil, leadMs } = unknown.report(() => "");
      return vigil === null || leadMs === null || vigil.at < sinceAt ? [] : [{ at: vigil.at, leadMs }];
    });
  }

  #onNode({ at, id, body }: Message<"observed.node">): void {
    const [before, seen] = [this.#seen.get(body.node), observedFailure(body)];
    this.#seen.set(body.node, seen);
    const unknownAt = seen.unknown ? (readyConditionOf(body)?.transitionAt ?? at) : null;
    const open = this.#incidents.open(body.node);
    if (open !== undefined && (open.uid !== body.uid || isLater(unknownAt, open))) this.#close(body.node, at);
    const { own, others } = noExecuteOf(body);
    const stamps = { unknown: unknownAt, noExecute: epochMsOf(own?.timeAdded) } as const;
    for (const step of ["unknown", "noExecute"] as const) {
      if (!seen[step]) continue;
      const isNew = before !== undefined && !before[step];
      this.#shown(body, step, { at: changedAt(stamps[step], at, isNew), id }, at, isNew);
    }
    for (const taint of others) this.#incident(body, at).otherTaints.add(taint);
    if (seen.isFailing) this.#incident(body, at).isResumed = false;
    else if (this.#incidents.open(body.node)?.isResumed !== true) this.#close(body.node, at);
  }

  /**
   * Records a change of a node. A change that is older than the ledger began unrecorded, and so did one that Vigil may
   * have written before the ledger saw the node.
   */
  #shown(
    node: ObservedNode,
    step: "unknown" | "noExecute",
    instant: NonNullable<ComparedInstant>,
    at: number,
    isNew: boolean,
  ): void {
    const incident = this.#incident(node, at);
    const { isShadow, isBeside, startedAt } = this.#options;
    const isOurs = !isNew && !isShadow && !(isBeside && step === "noExecute");
    const isRecorded = incident.isRestored || (!isOurs && instant.at >= startedAt - SAME_MS);
    const author = this.#authorOf(node, step, isNew);
    if (!isRecorded && !isNew) incident[step].shownBefore(instant, node.resourceVersion, author);
    else incident[step].shown(instant, node.resourceVersion, author);
  }

  /** Who wrote a change that was seen to happen. The API names the last author of a whole list of taints. */
  #authorOf({ writtenBy }: ObservedNode, step: "unknown" | "noExecute", isNew: boolean): Author {
    const { isShadow, isBeside } = this.#options;
    const manager = isNew ? (step === "unknown" ? writtenBy?.ready : writtenBy?.taints) : undefined;
    if (manager !== undefined) return manager === FIELD_MANAGER ? "vigil" : "others";
    return isShadow || (isBeside && step === "noExecute") ? "others" : "unknown";
  }

  /** The outcome of a request decides whether a change of a pod that the API shows meanwhile is Vigil's. */
  #onRequest({ type, body }: AnyMessage): void {
    const step = STEPS_BY_REQUEST[type];
    if (step !== undefined && isPodStep(step) && "uid" in body) this.#requested.set(`${body.uid}/${step}`, true);
  }

  #onPods(message: Message<"observed.pods">): void {
    const { node } = message.body;
    const whole = this.#pods.onChunk(message.body);
    const incident = this.#incidents.open(node);
    if (whole === null || incident === undefined) return;
    const shown = { at: message.at, id: message.id, ...(incident.arePodsOld && { isLatest: true as const }) };
    const present = new Set(whole.pods.map(({ uid }) => uid));
    for (const pod of whole.pods) this.#onPod(incident, pod, shown);
    for (const [uid, known] of incident.pods) if (!present.has(uid)) this.#podShown(known, "deleted", shown);
    incident.arePodsOld = false;
  }

  /** Compares a pod as the API shows it, without what only shadow mode shows. */
  #onPod(incident: Incident, pod: ObservedPod, shown: NonNullable<ComparedInstant>): void {
    const known = incident.podOf(pod);
    const isReady = pod.shadow?.unreadyAt !== undefined || pod.ready !== "False";
    const isRunning = pod.shadow?.deletedAt !== undefined || pod.deletionAt === null;
    const { resourceVersion } = pod;
    // What the first message shows may be much older than the failure.
    if (known.wasReady && !isReady) this.#podShown(known, "notReady", shown, resourceVersion);
    if (known.wasRunning && !isRunning) this.#podShown(known, "deleted", shown, resourceVersion);
    known.wasReady ||= isReady;
    known.wasRunning ||= isRunning;
  }

  /** One message shows many pods, so each step gets an id of its own. */
  #podShown(
    known: PodIncident,
    step: "notReady" | "deleted",
    shown: NonNullable<ComparedInstant>,
    version?: string,
  ): void {
    const { uid } = known.pod;
    const instant = { ...shown, id: `${shown.id}/${uid}/${step}` };
    const author = this.#requested.has(`${uid}/${step}`) ? "unknown" : "others";
    if (known[step].shown(instant, version, author)) this.#options.podShown(known.pod, step, instant);
  }

  #onGone({ at, body }: Message<"observed.gone">): void {
    this.#seen.delete(body.node);
    this.#close(body.node, at);
  }

  #onDeadline({ id, body }: Message<"judged.pod">): void {
    const known = this.#incidents.open(body.node)?.pods.get(body.uid);
    if (body.deadlineAt !== null && body.eviction !== "none") known?.deleted.planned(body.deadlineAt, id);
  }

  #onWrite({ at, id, body }: Message<"done.write">): void {
    const { ask, outcome, change, detail, resourceVersion: version, retrying } = body;
    const isWritten = outcome === "ok" && change !== "";
    const open = this.#incidents.open(body.node);
    if (outcome === "refused" && ask === "asked.condition" && open !== undefined) open.refusal = detail;
    const step = STEPS_BY_REQUEST[ask];
    if (step === undefined) return;
    const isTaken = (isWritten || outcome === "shadowed") && (step !== "noExecute" || addsNoExecute(change));
    // A write whose reply was lost may have been carried out.
    const isOver = !retrying && outcome !== "unknown";
    if (isOver) this.#requested.delete(`${body.uid}/${step}`);
    if (!isTaken) {
      if (isOver && isPodStep(step)) this.#podSettled(open?.pods.get(body.uid), step, null);
      return;
    }
    const own = { at, id, isWritten, version };
    if (step === "unknown") this.#onVerdict(body, own);
    else if (step === "noExecute") this.#written(body, own).noExecute.byVigil(own);
    else this.#podSettled(this.#options.comparesPods ? open?.pods.get(body.uid) : open?.podOf(body), step, own);
  }

  #podSettled(known: PodIncident | undefined, step: "notReady" | "deleted", own: OwnStep | null): void {
    if (known === undefined) return;
    const others = own === null ? known[step].settled() : known[step].byVigil(own);
    if (others !== null) this.#options.podShown(known.pod, step, others);
  }

  /** A verdict on later heartbeats than those of a failure that an earlier ledger recorded is about another failure. */
  #onVerdict(body: BodyOf<"done.write">, own: OwnStep): void {
    const renewedAt = body.nodeShadow?.verdict?.leaseRenewedAt ?? null;
    const open = this.#incidents.open(body.node);
    if (open?.isResumed === true && renewedAt !== null && renewedAt > (open.renewedAt ?? renewedAt))
      this.#close(body.node, own.at);
    const incident = this.#written(body, own);
    incident.renewedAt ??= renewedAt;
    incident.unknown.byVigil(own);
  }

  /** The failure that a write is about: one that is over if the node has been observed well after the write. */
  #written({ node, uid }: BodyOf<"done.write">, { at, version }: OwnStep): Incident {
    const seen = this.#seen.get(node);
    const last = this.#incidents.last(node);
    const isOver = seen?.isFailing === false && version !== null && !isOlderVersion(seen.resourceVersion, version);
    return isOver && last?.uid === uid ? last : this.#incident({ node, uid }, at);
  }

  /** The failure of a node that lasts, begun now if there is none. */
  #incident({ node, uid }: Pick<ObservedNode, "node" | "uid">, at: number): Incident {
    const open = this.#incidents.open(node);
    if (open !== undefined) return open;
    const begun = new Incident(node, uid, at);
    this.#incidents.begin(begun);
    for (const pod of this.#pods.of(node)?.pods ?? []) begun.podOf(pod);
    return begun;
  }

  /** Continues a failure that lasted when an earlier ledger stopped. */
  #resume(stored: Incident): void {
    const { node } = stored;
    const live = this.#incidents.open(node);
    stored.isResumed = true;
    stored.arePodsOld = true;
    if (live === undefined || live.from < stored.from) {
      if (live !== undefined) this.#close(node, stored.from);
      this.#incidents.reopen(stored);
      return;
    }
    if (live.uid !== stored.uid || isLater(live.unknown.shownAt, stored)) {
      stored.to = live.from;
      return;
    }
    stored.continueWith(live);
    stored.isResumed = false;
    this.#incidents.replace(live, stored);
  }

  #close(node: string, at: number): void {
    this.#pods.drop(node);
    const closed = this.#incidents.close(node, at);
    if (closed === undefined) return;
    this.#keepChanges(closed);
    if (closed.isStored) this.#options.keep(closed.record());
    this.#options.isOver(closed);
  }

  #keepChanges(incident: Incident | undefined): void {
    if (incident === undefined || !this.#isRestored) return;
    const { comparesPods, keep } = this.#options;
    for (const record of incident.collectChanges()) if (comparesPods || record.kind !== "pod") keep(record);
  }
}

function isPodStep(step: FailureStep): step is "notReady" | "deleted" {
  return step === "notReady" || step === "deleted";
}

/** Whether a node became Unknown after it had already been shown as Unknown in this failure. */
function isLater(unknownAt: number | null, { unknown }: Incident): boolean {
  return unknownAt !== null && unknown.shownAt !== null && unknownAt > unknown.shownAt + SAME_MS;
}

function failureOf({ node, from }: Pick<NodeRecord, "node" | "from">): string {
  return `${node} ${from}`;
}
