/**
 * What all zones have granted, in any process: the requests that the API does not show yet, and when each zone last
 * spent a token. Every process keeps this for all zones, because it may become the owner of any. Pure state.
 */

/** The taint of a node, granted by its zone. */
export interface Grant {
  readonly zone: string;
  readonly node: string;
  readonly uid: string;
  /** Id of the request that the grant led to. */
  readonly requestId: string;
  /** When it was granted, or its request was received, on the monotonic clock. */
  readonly atMs: number;
}

/**
 * How long after its grant a taint may land and count as granted then, in milliseconds. A write and the retry of its
 * first conflict end within half of this. A later taint belongs to another request.
 */
const UNDER_WAY_MAX_MS = 60_000;

/**
 * A token is spent at its grant, not when the taint lands: paying for both would cost the latency of each request. A
 * taint that lands without a known grant is paid for at once, because another owner may have granted it (decision 16).
 */
export class Grants {
  readonly #underWay = new Map<string, Grant>();
  readonly #spendings = new Map<string, { readonly atMs: number; readonly requestId: string | null }>();

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

  /**
   * Takes back the token of a grant. Returns whether it may be given back. It may not once the zone has spent another
   * token, because the next grant would follow that one too soon.
   */
  refund({ zone, requestId }: Grant): boolean {
    return this.#spendings.get(zone)?.requestId === requestId && this.#spendings.delete(zone);
  }

  /** Drops a zone without nodes. */
  forgetZone(zone: string): void {
    this.#spendings.delete(zone);
  }
}

/** Whether a message comes from the zone service of another process than this member. */
export function isOtherOwner(source: string, member: string): boolean {
  return source.startsWith("zone@") && source !== `zone@${member}`;
}
