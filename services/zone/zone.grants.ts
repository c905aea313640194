/**
 * What the zones have granted, whichever process owns them: the requests that the API does not show yet, and when each
 * zone last spent a token. Every process keeps this of all zones, because it may be the next owner of any. Pure state.
 */

/** A node that its zone has let be tainted. */
export interface Grant {
  readonly zone: string;
  readonly node: string;
  readonly uid: string;
  /** Id of the request that the grant led to. */
  readonly ask: string;
  /** When it was granted, or heard to be, on the monotonic clock. */
  readonly atMs: number;
}

interface Spending {
  readonly atMs: number;
  /** The request that was paid for; null for a taint that nobody was heard to ask for. */
  readonly ask: string | null;
}

/**
 * How long after its grant a taint may land and count as granted then, in milliseconds. A write and the retry of its
 * first conflict end within half of this; a taint that comes later is another's.
 */
const UNDER_WAY_MAX_MS = 60_000;

/**
 * A token is spent when it is granted, not when its taint lands: an owner that also paid for the landing would lose the
 * latency of each request. What lands without a grant is paid for at once, as another owner may have granted it
 * unheard.
 */
export class Grants {
  readonly #underWay = new Map<string, Grant>();
  readonly #spendings = new Map<string, Spending>();

  /** Notes a grant; of a node there is one under way, the newest. */
  add(grant: Grant): void {
    this.#underWay.set(grant.node, grant);
    this.spend(grant.zone, grant.atMs, grant.ask);
  }

  /** Notes that a zone has spent a token, on this request if one is known. */
  spend(zone: string, atMs: number, ask: string | null): void {
    this.#spendings.set(zone, { atMs, ask });
  }

  /** When a zone last spent a token, as far as is known here; null when it is not. */
  spentAtMs(zone: string): number | null {
    return this.#spendings.get(zone)?.atMs ?? null;
  }

  /** The grant whose taint a node may still get; null without one. */
  underWay(node: string): Grant | null {
    return this.#underWay.get(node) ?? null;
  }

  /** Takes note of a taint that landed on a node. Returns whether it was granted, and so is paid for. */
  complete({ node, uid }: Pick<Grant, "node" | "uid">, nowMs: number): boolean {
    const grant = this.#underWay.get(node);
    this.#underWay.delete(node);
    return grant?.uid === uid && nowMs - grant.atMs < UNDER_WAY_MAX_MS;
  }

  /** Ends a grant of which nothing was written; its token stays spent. */
  end({ node }: Grant): void {
    this.#underWay.delete(node);
  }

  /**
   * Takes back what a zone has spent on a grant. Returns whether its token may be given back: not once the zone has
   * spent another, because the next grant would follow that one too soon.
   */
  refund({ zone, ask }: Grant): boolean {
    return this.#spendings.get(zone)?.ask === ask && this.#spendings.delete(zone);
  }

  /** Forgets a zone without nodes. */
  forgetZone(zone: string): void {
    this.#spendings.delete(zone);
  }
}

/** Whether a message comes from the zone service of another process than this member. */
export function isOtherOwner(source: string, member: string): boolean {
  return source.startsWith("zone@") && source !== `zone@${member}`;
}
