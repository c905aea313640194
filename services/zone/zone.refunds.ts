/**
 * When the token of a grant comes back. That nothing was written is only what a writer says, so it is not enough: the
 * node has to be observed without a need for a taint, or gone. And a zone gets back no more than one token in the time
 * that one takes to come by itself, so that nobody doubles a rate by what becomes of nodes.
 */
import type { ObservedNode } from "../../protocols/objects.ts";
import type { Grant, Grants } from "./zone.grants.ts";
import { needsNoTaint } from "./zone.policy.ts";

const SECOND_MS = 1000;

/** What refunds are decided with. */
export interface RefundsOptions {
  readonly grants: Grants;
  /** How many tokens a zone gets per second. */
  readonly perSecond: (zone: string) => number;
  /** Gives the last token of a zone back. */
  readonly giveBack: (zone: string) => void;
}

/** The grants that were refused and whose nodes have not been observed well since. */
export class Refunds {
  readonly #options: RefundsOptions;
  /** Requests that were refused, by node. */
  readonly #refused = new Map<string, string>();
  /** When each zone got its last token back, on the monotonic clock. */
  readonly #refundedAtMs = new Map<string, number>();

  constructor(options: RefundsOptions) {
    this.#options = options;
  }

  /** Takes note that a writer refused a grant; `observed` is its node as it is known, null when it is not. */
  refuse({ node, ask }: Grant, observed: ObservedNode | null, nowMs: number): void {
    this.#refused.set(node, ask);
    if (observed !== null) this.observe(observed, nowMs);
  }

  /** Gives the token of a refused grant back where its node is observed to need no taint, or to be another node. */
  observe(observed: ObservedNode, nowMs: number): void {
    const grant = this.#options.grants.underWay(observed.node);
    if (grant === null || grant.ask !== this.#refused.get(observed.node)) return;
    if (grant.uid !== observed.uid || needsNoTaint(observed)) this.#refund(grant, nowMs);
  }

  /** Gives the token of a grant back whose taint has not landed, because its node has left the API. */
  leave(node: string, nowMs: number): void {
    const grant = this.#options.grants.underWay(node);
    if (grant !== null) this.#refund(grant, nowMs);
    this.#refused.delete(node);
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

  /** Forgets a zone without nodes. */
  forgetZone(zone: string): void {
    this.#refundedAtMs.delete(zone);
  }
}
