/**
 * When a zone gets the token of a grant back. A writer's report that it wrote nothing is not enough: the node must also
 * be observed to need no taint, or be gone. A zone gets back at most one token in the time in which it gains one, so
 * nodes that come and go cannot double its rate.
 */
import type { ObservedNode } from "../../protocols/objects.ts";
import type { Grant, Grants } from "./zone.grants.ts";
import { needsNoTaint } from "./zone.policy.ts";

const SECOND_MS = 1000;

/** What refunds are decided with. */
export interface RefundsOptions {
  readonly grants: Grants;
  /** How many tokens a zone gains per second. */
  readonly perSecond: (zone: string) => number;
  /** Gives the last token of a zone back. */
  readonly giveBack: (zone: string) => void;
}

/** The refused grants whose nodes have not been observed to need no taint since. */
export class Refunds {
  readonly #options: RefundsOptions;
  /** Ids of the refused requests, by node. */
  readonly #refused = new Map<string, string>();
  /** When each zone last got a token back, on the monotonic clock. */
  readonly #refundedAtMs = new Map<string, number>();

  constructor(options: RefundsOptions) {
    this.#options = options;
  }

  /** Records that a writer refused a grant; `observed` is its node, null while it is not known. */
  refuse({ node, requestId }: Grant, observed: ObservedNode | null, nowMs: number): void {
    this.#refused.set(node, requestId);
    if (observed !== null) this.observe(observed, nowMs);
  }

  /** Gives the token of a refused grant back if its node is observed to need no taint, or was replaced. */
  observe(observed: ObservedNode, nowMs: number): void {
    const grant = this.#options.grants.underWay(observed.node);
    if (grant === null || grant.requestId !== this.#refused.get(observed.node)) return;
    if (grant.uid !== observed.uid || needsNoTaint(observed)) this.#refund(grant, nowMs);
  }

  /** Gives the token of a grant back whose node left the API before its taint landed. */
  leave(node: string, nowMs: number): void {
    const grant = this.#options.grants.underWay(node);
    if (grant !== null) this.#refund(grant, nowMs);
    this.#refused.delete(node);
  }

  /** Drops a zone without nodes. */
  forgetZone(zone: string): void {
    this.#refundedAtMs.delete(zone);
  }

  #refund(grant: Grant, nowMs: number): void {
    const { grants, perSecond, giveBack } = this.#options;
    const { zone, node } = grant;
    this.#refused.delete(node);
    grants.end(grant);
    const lastMs = this.#refundedAtMs.get(zone) ?? Number.NEGATIVE_INFINITY;
    if (nowMs - lastMs < SECOND_MS / perSecond(zone) || !grants.refund(grant)) return;
    this.#refundedAtMs.set(zone, nowMs);
    giveBack(zone);
  }
}
