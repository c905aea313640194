/**
 * What all zones have granted, in any process: the requests that the API does not show yet, when each zone last spent a
 * token, and when it gets one back. Every process keeps this for all zones, because it may become the owner of any.
 */
import type { ObservedNode } from "../../protocols/objects.ts";
import { needsNoTaint } from "./zone.policy.ts";

const SECOND_MS = 1000;

/** The taint of a node, granted by its zone. */
export interface Grant {
  readonly zone: string;
  readonly node: string;
  readonly uid: string;
  /** Id of the request that the grant led to. */
  readonly requestId: string;
  /** Whether the taint is for a condition of the node's policy, not for its readiness. */
  readonly isConditionGrant?: boolean;
  /** When it was granted, or its request was received, on the monotonic clock. */
  readonly atMs: number;
}

/**
 * How long after its grant a taint may land and count as granted then, in milliseconds. A write and the retry of its
 * first conflict end within half of this. A later taint belongs to another request.
 */
const UNDER_WAY_MAX_MS = 60_000;

/** What refunds are decided with. */
export interface Refunding {
  /** How many tokens a zone gains per second. */
  readonly perSecond: (zone: string) => number;
  /** Returns the last token of a zone to its bucket. */
  readonly giveBack: (zone: string) => void;
}

/**
 * A token is spent at its grant, not when the taint lands: paying for both would cost the latency of each request. A
 * taint that lands without a known grant is paid for at once, because another owner may have granted it (decision 10).
 *
 * A token is not refunded by a writer's report alone that it wrote nothing: the node must also be observed to need no
 * taint, or be gone. A zone is refunded at most one token in the time in which it gains one, so nodes that come and go
 * cannot double its rate. It is refunded none once it has spent another, because the next grant would follow that one
 * too soon. Example: at 0.1/s a grant of 10:00:00 is refused, and its token is refunded at 10:00:05, when its node is
 * Ready again. The zone grants the next node at once. If that grant is refused too and its node recovers at 10:00:09,
 * the token stays spent.
 */
export class Grants {
  readonly #refunding: Refunding;
  readonly #underWay = new Map<string, Grant>();
  readonly #spendings = new Map<string, { readonly atMs: number; readonly requestId: string | null }>();
  /** Ids of the refused requests whose nodes have not been observed to need no taint since, by node. */
  readonly #refused = new Map<string, string>();
  /** When each zone last got a token back, on the monotonic clock. */
  readonly #refundedAtMs = new Map<string, number>();

  constructor(refunding: Refunding) {
    this.#refunding = refunding;
  }

  /** Records a grant. It replaces an earlier one to the same node. */
  add(grant: Grant): void {
    this.#underWay.set(grant.node, grant);
    this.spend(grant.zone, grant.atMs, grant.requestId);
  }

  /** Records that a zone spent a token on this request; null for a taint without a known request. */
  spend(zone: string, atMs: number, requestId: string | null): void {
    this.#spendings.set(zone, { atMs, requestId });
  }

  /** When a zone last spent a token; null when this process does not know. */
  spentAtMs(zone: string): number | null {
    return this.#spendings.get(zone)?.atMs ?? null;
  }

  /** The grant whose taint a node may still get; null without one. */
  underWay(node: string): Grant | null {
    return this.#underWay.get(node) ?? null;
  }

  /** Records that a taint landed on a node. Returns whether it was granted, and so is paid for. */
  complete({ node, uid }: Pick<Grant, "node" | "uid">, nowMs: number): boolean {
    const grant = this.#underWay.get(node);
    this.#underWay.delete(node);
    return grant?.uid === uid && nowMs - grant.atMs < UNDER_WAY_MAX_MS;
  }

  /** Ends a grant without a write. Its token stays spent. */
  end({ node }: Grant): void {
    this.#underWay.delete(node);
  }

  /** Records that a writer refused a grant; `observed` is its node, null while it is not known. */
  refuse({ node, requestId }: Grant, observed: ObservedNode | null, nowMs: number): void {
    this.#refused.set(node, requestId);
    if (observed !== null) this.observe(observed, nowMs);
  }

  /** Refunds the token of a refused grant if its node is observed to need no taint, or was replaced. */
  observe(observed: ObservedNode, nowMs: number): void {
    const grant = this.#underWay.get(observed.node);
    if (grant === undefined || grant.requestId !== this.#refused.get(observed.node)) return;
    // Readiness shows nothing about a taint for another condition, so such a token stays spent.
    const isMoot = grant.isConditionGrant !== true && needsNoTaint(observed);
    if (grant.uid !== observed.uid || isMoot) this.#refund(grant, nowMs);
  }

  /** Refunds the token of a grant whose node left the API before its taint landed. */
  leave(node: string, nowMs: number): void {
    const grant = this.#underWay.get(node);
    if (grant !== undefined) this.#refund(grant, nowMs);
    this.#refused.delete(node);
  }

  /** Drops a zone without nodes. */
  forgetZone(zone: string): void {
    this.#spendings.delete(zone);
    this.#refundedAtMs.delete(zone);
  }

  #refund({ zone, node, requestId }: Grant, nowMs: number): void {
    this.#refused.delete(node);
    this.#underWay.delete(node);
    const lastMs = this.#refundedAtMs.get(zone) ?? Number.NEGATIVE_INFINITY;
    if (nowMs - lastMs < SECOND_MS / this.#refunding.perSecond(zone)) return;
    if (this.#spendings.get(zone)?.requestId !== requestId) return;
    this.#spendings.delete(zone);
    this.#refundedAtMs.set(zone, nowMs);
    this.#refunding.giveBack(zone);
  }
}

/** Whether a message comes from the zone service of another process than this member. */
export function isOtherOwner(source: string, member: string): boolean {
  return source.startsWith("zone@") && source !== `zone@${member}`;
}
