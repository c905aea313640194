/**
 * Observed nodes whose judgement is missing or contradicts the observation. A judgement is published once and may be
 * lost, so the ledger then requests a resync of the shard; but not in a fleet that judges no nodes. Nothing observed
 * contradicts a pod that is to be evicted at some instant, a node about which a policy decides something until some
 * instant or, in direct mode, a node that waits for its drain or is to be drained from some instant on. But its owner
 * judges it again then: if it does not, a judgement was lost.
 */
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { Policies } from "../../../protocols/ports.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { SHARD_COUNT, shardOf } from "../../../protocols/subjects.ts";
import { contradicts } from "../../domain/judgement.ts";
import { noExecuteTaints } from "../../domain/toleration.ts";
import { type RequestRetryProfile, RetrySchedule, requestRetries } from "../../structures/retry-schedule.ts";
import type { NodeJudgement, NodeRecord } from "./cluster-state.ts";

/** How long a judgement may follow an observation of its node, or an observation it, in milliseconds. */
const JUDGED_WITHIN_MS = 3000;

/** Of what is not expected: its next judgement comes at no instant. */
const NEVER = Number.POSITIVE_INFINITY;
/** The key of a node itself among what is expected of it and its pods; theirs are uids. */
const NODE_ITSELF = "";

/** The present instant on both clocks. */
export interface Instants {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** Nodes without a judgement that fits them, and nodes and pods whose next judgement is overdue. */
export class MissingJudgements {
  /** Since when each of them has none, on the monotonic clock; the earliest first. */
  readonly #unjudged = new Map<string, number>();
  readonly #resyncs: RetrySchedule<number>;
  readonly #evictionMode: Profile["evictionMode"];
  /** Whether some process keeps deadlines of pods. */
  readonly #countsPods: boolean;
  readonly #policies: Pick<Policies, "current">;
  /**
   * By shard and by node, until when what is judged until some instant is judged again at the latest, on the monotonic
   * clock: pods by uid, and the node itself.
   */
  readonly #expected = new Map<number, Map<string, Map<string, number>>>();
  /** The owner of a node repeats within this time that it waits. */
  readonly #repeatedWithinMs: number;
  #isJudging = false;
  /**
   * By shard, whether the deadlines of its pods are needed, because a node was tainted before it was known here, and
   * whether this ledger has requested them.
   */
  readonly #deadlines = Array.from({ length: SHARD_COUNT }, (): "unneeded" | "needed" | "requested" => "unneeded");

  constructor(
    profile: RequestRetryProfile & Pick<Profile, "evictionMode" | "upstream">,
    policies: Pick<Policies, "current">,
  ) {
    this.#policies = policies;
    this.#resyncs = new RetrySchedule(requestRetries(profile));
    this.#evictionMode = profile.evictionMode;
    this.#countsPods = profile.evictionMode === "taint" && profile.upstream === "replace";
    this.#repeatedWithinMs = profile.askRetryMaxMs + JUDGED_WITHIN_MS;
  }

  /** Compares an observed node with the judgement that is known of this uid. */
  onNode(observed: ObservedNode, judged: NodeJudgement | null, nowMs: number): void {
    const { node, uid } = observed;
    this.#note(node, judged === null || this.#contradicts({ ...judged, uid }, observed), nowMs);
  }

  /**
   * Records a node that was not known before. If it is tainted already, the deadlines of its pods were published
   * earlier. Only a ledger receives them again, so a resync that another service of this process requests is not
   * enough.
   */
  onNewNode({ node, taints }: ObservedNode): void {
    if (!this.#countsPods || noExecuteTaints(taints).length === 0) return;
    const shard = shardOf(node);
    if (this.#deadlines[shard] === "unneeded") this.#deadlines[shard] = "needed";
  }

  /** Records that a resync of a shard was requested. */
  resyncRequested(shard: number): void {
    this.#deadlines[shard] = "requested";
  }

  /** Compares a judgement with its node as the ledger keeps it; null if not observed. */
  onJudgedNode(judged: BodyOf<"judged.node">, kept: ObservedNode | null, { monotonicMs, wallMs }: Instants): void {
    this.#isJudging = true;
    const againAt = Math.min(this.#drainedAt(judged, wallMs), endOf(judged, wallMs) + JUDGED_WITHIN_MS);
    if (againAt === NEVER) this.#forgetExpected(judged.node, NODE_ITSELF);
    else this.#expect(judged.node, NODE_ITSELF, monotonicMs + againAt - wallMs);
    if (kept?.uid === judged.uid) this.#note(judged.node, this.#contradicts(judged, kept), monotonicMs);
  }

  /** Records the judgement of a pod: at its deadline it is judged to be due. */
  onJudgedPod({ node, uid, eviction, deadlineAt }: BodyOf<"judged.pod">, { monotonicMs, wallMs }: Instants): void {
    if (eviction !== "pending" || deadlineAt === null) this.#forgetExpected(node, uid);
    else this.#expect(node, uid, monotonicMs + Math.max(0, deadlineAt - wallMs) + JUDGED_WITHIN_MS);
  }

  /** Compares every judgement with the policies that are in force now. */
  policiesChanged(nodes: Iterable<NodeRecord>, nowMs: number): void {
    for (const { observed, judged } of nodes) if (observed !== null) this.onNode(observed, judged, nowMs);
  }

  /** A process of the fleet judges nodes, so a node without a judgement has one. */
  expectJudgements(): void {
    this.#isJudging = true;
  }

  forget(node: string): void {
    this.#unjudged.delete(node);
    this.#forgetExpected(node);
  }

  /** Forgets nodes that left before a late judgement of them came, and pods that are pending no more. */
  keep(isKept: (node: string) => boolean, isPending: (uid: string) => boolean): void {
    const nodes = [...this.#expected.values()].flatMap((byNode) => [...byNode.keys()]);
    for (const node of [...this.#unjudged.keys(), ...nodes]) if (!isKept(node)) this.forget(node);
    for (const node of nodes) {
      for (const uid of this.#expected.get(shardOf(node))?.get(node)?.keys() ?? [])
        if (uid !== NODE_ITSELF && !isPending(uid)) this.#forgetExpected(node, uid);
    }
  }

  /** Why a shard needs a resync now; null where it does not. */
  resyncReason({ shard }: { readonly shard: number }, nowMs: number): string | null {
    if (this.#deadlines[shard] === "needed") return "deadlines of its pods may be older than this ledger";
    if (!this.#isUnjudged(shard, nowMs) && !this.#isOverdue(shard, nowMs)) {
      this.#resyncs.forget(shard);
      return null;
    }
    return this.#resyncs.isDue(shard, nowMs) ? "a judgement is missing or contradicts its observation" : null;
  }

  /**
   * The unjudged are in the order of their instants, so those behind one that is not overdue are not overdue either.
   */
  #isUnjudged(shard: number, nowMs: number): boolean {
    if (!this.#isJudging) return false;
    for (const [node, sinceMs] of this.#unjudged) {
      if (nowMs - sinceMs < JUDGED_WITHIN_MS) break;
      if (shardOf(node) === shard) return true;
    }
    return false;
  }

  #isOverdue(shard: number, nowMs: number): boolean {
    for (const byUid of this.#expected.get(shard)?.values() ?? []) {
      for (const expectedMs of byUid.values()) if (expectedMs <= nowMs) return true;
    }
    return false;
  }

  #expect(node: string, uid: string, expectedMs: number): void {
    const shard = shardOf(node);
    const byNode = this.#expected.get(shard) ?? new Map<string, Map<string, number>>();
    const byUid = byNode.get(node) ?? new Map<string, number>();
    this.#expected.set(shard, byNode.set(node, byUid.set(uid, expectedMs)));
  }

  /** Expects nothing of a node or a pod of it, or of a node with its pods. */
  #forgetExpected(node: string, uid?: string): void {
    const shard = shardOf(node);
    const byNode = this.#expected.get(shard);
    const byUid = byNode?.get(node);
    if (uid !== undefined) byUid?.delete(uid);
    if (uid === undefined || byUid?.size === 0) byNode?.delete(node);
    if (byNode?.size === 0) this.#expected.delete(shard);
  }

  /** When the judgement of a node that is to be drained is repeated at the latest; never if it is not to be. */
  #drainedAt({ eviction, evictionFromAt = NEVER }: BodyOf<"judged.node">, wallMs: number): number {
    if (this.#evictionMode !== "direct") return NEVER;
    return (eviction === "toBeEvicted" ? wallMs : Math.max(wallMs, evictionFromAt)) + this.#repeatedWithinMs;
  }

  #contradicts(judged: Parameters<typeof contradicts>[0], observed: ObservedNode): boolean {
    return contradicts(judged, observed, { evictionMode: this.#evictionMode, policies: this.#policies.current() });
  }

  #note(node: string, isUnjudged: boolean, nowMs: number): void {
    if (!isUnjudged) this.#unjudged.delete(node);
    else if (!this.#unjudged.has(node)) this.#unjudged.set(node, nowMs);
  }
}

/** When a decision of a policy about a node ends, so that the node is judged again; never where there is none. */
function endOf(
  { taintHold, unhealthyDelay, maintenance, conditions = [], outOfService }: BodyOf<"judged.node">,
  wallMs: number,
): number {
  const ends = [taintHold, unhealthyDelay, maintenance, ...conditions].map((each) => each?.untilAt ?? NEVER);
  // A decision that is over and has led to no other judgement waits for something else.
  return Math.min(...[...ends, outOfService?.fromAt ?? NEVER].map((at) => (at > wallMs ? at : NEVER)));
}
