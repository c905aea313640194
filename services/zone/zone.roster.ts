/** Which nodes belong to which zone, as observed and judged. The roster decides nothing. */
import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import type { Policies } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { contradicts } from "../domain/judgement.ts";
import { appliedPolicyOf } from "../domain/node-policy.ts";
import { domainKeyOf, zoneKeyOf } from "../domain/zone-key.ts";
import { isNotReady, type NodeInZone, type ZoneCount } from "./zone.policy.ts";

/** A node that was observed and judged under one uid. */
export interface Member extends NodeInZone {
  readonly shard: number;
  /** Id of the message with the judgement. */
  readonly cause: string;
}

/** The members of one zone and their count. Only counted nodes make up its size (R6.5). */
export interface Zone {
  readonly members: ReadonlyMap<string, Member>;
  readonly count: ZoneCount;
  /** For each shard with members of the zone, how many it has and how many of them are counted and ready. */
  readonly shards: ReadonlyMap<number, { readonly members: number; readonly ready: number }>;
}

const newTally = () => ({
  members: new Map<string, Member>(),
  count: { size: 0, notReady: 0 },
  shards: new Map<number, { members: number; ready: number }>(),
});
type Tally = ReturnType<typeof newTally>;

/** A zone without members. */
export const EMPTY_ZONE: Zone = newTally();

interface RosterEntry {
  readonly shard: number;
  observed: ObservedNode | null;
  judged: BodyOf<"judged.node"> | null;
  cause: string;
}

/** What the nodes of a roster are judged by. */
export interface RosterContext {
  readonly profile: Pick<Profile, "evictionMode">;
  readonly policies: Pick<Policies, "current">;
}

/** A node's membership before and after a message; null for none. */
export interface Move {
  readonly before: Member | null;
  readonly after: Member | null;
}

/**
 * All nodes of the cluster by zone. Observations and judgements come from different publishers in any order. A node
 * becomes a member once both are about the same uid.
 */
export class ZoneRoster {
  readonly #entries = new Map<string, RosterEntry>();
  readonly #zones = new Map<string, Tally>();
  readonly #contradicting = new Set<string>();
  /** Nodes with a judgement but no observation. */
  readonly #unobserved = new Set<string>();
  readonly #context: RosterContext;
  /** How many observed nodes of each zone have no judgement, by the zone key of their labels. */
  readonly #unjudged = new Map<string, number>();

  constructor(context: RosterContext) {
    this.#context = context;
  }

  /** How many observed nodes have no judgement yet. */
  get unjudged(): number {
    let total = 0;
    for (const each of this.#unjudged.values()) total += each;
    return total;
  }

  /** How many of them belong to a zone. While there are any, the zone's count is incomplete. */
  unjudgedIn(zone: string): number {
    return this.#unjudged.get(zone) ?? 0;
  }

  /** The observed nodes without a judgement, or with one that contradicts the observation. */
  get contradicting(): ReadonlySet<string> {
    return this.#contradicting;
  }

  /** Every zone that has a member, by key. */
  zones(): IterableIterator<[string, Zone]> {
    return this.#zones.entries();
  }

  /** The key of the domain of an observed node: as judged, or else by its labels and the policy that they select. */
  domainOf(observed: ObservedNode): string {
    const { judged } = this.#entries.get(observed.node) ?? { judged: null };
    if (judged?.uid === observed.uid) return judged.zone;
    return domainKeyOf(observed.labels, appliedPolicyOf(observed, this.#context.policies.current()));
  }

  /** One zone; null without members. */
  zone(key: string): Zone | null {
    return this.#zones.get(key) ?? null;
  }

  onObserved(observed: ObservedNode): Move {
    return this.#change(observed.node, { observed });
  }

  onJudged(judged: BodyOf<"judged.node">, cause: string): Move {
    return this.#change(judged.node, { judged, cause });
  }

  onGone(node: string): Move {
    return this.#change(node, { observed: null, judged: null });
  }

  /** Compares every judgement with the policies that are in force now. */
  policiesChanged(): void {
    for (const [node, entry] of this.#entries) put(this.#contradicting, node, this.#isContradicting(entry));
  }

  /** Drops judgements of nodes that are not observed, where `isSynced` shows that an existing node would be. */
  dropUnobserved(isSynced: (node: string) => boolean): void {
    for (const node of this.#unobserved) {
      if (!isSynced(node)) continue;
      this.#entries.delete(node);
      this.#unobserved.delete(node);
    }
  }

  #change(node: string, change: Partial<RosterEntry>): Move {
    const entry = this.#entries.get(node) ?? { shard: shardOf(node), observed: null, judged: null, cause: "" };
    const before = memberOf(entry);
    this.#countUnjudged(entry, -1);
    Object.assign(entry, change);
    this.#countUnjudged(entry, 1);
    if (entry.observed === null && entry.judged === null) this.#entries.delete(node);
    else this.#entries.set(node, entry);
    const after = memberOf(entry);
    put(this.#unobserved, node, entry.observed === null && entry.judged !== null);
    put(this.#contradicting, node, this.#isContradicting(entry));
    if (before !== null) this.#leave(before);
    if (after !== null) this.#enter(after);
    return { before, after };
  }

  #isContradicting(entry: RosterEntry): boolean {
    if (isUnjudged(entry)) return true;
    const { observed, judged } = entry;
    if (observed === null || judged === null) return false;
    const { profile, policies } = this.#context;
    return contradicts(judged, observed, { evictionMode: profile.evictionMode, policies: policies.current() });
  }

  #countUnjudged(entry: RosterEntry, by: 1 | -1): void {
    if (entry.observed === null || !isUnjudged(entry)) return;
    const zone = zoneKeyOf(entry.observed.labels);
    const total = this.unjudgedIn(zone) + by;
    if (total === 0) this.#unjudged.delete(zone);
    else this.#unjudged.set(zone, total);
  }

  #enter(member: Member): void {
    const { node, zone } = member.judged;
    const tally = this.#zones.get(zone) ?? newTally();
    this.#zones.set(zone, tally);
    tally.members.set(node, member);
    count(tally, member, 1);
  }

  #leave(member: Member): void {
    const { node, zone } = member.judged;
    const tally = this.#zones.get(zone);
    if (tally === undefined) return;
    tally.members.delete(node);
    count(tally, member, -1);
    if (tally.members.size === 0) this.#zones.delete(zone);
  }
}

function memberOf(entry: RosterEntry): Member | null {
  const { shard, observed, judged, cause } = entry;
  if (observed === null || judged === null || observed.uid !== judged.uid) return null;
  return { shard, observed, judged, cause };
}

function isUnjudged({ observed, judged }: RosterEntry): boolean {
  return observed !== null && observed.uid !== judged?.uid;
}

function put(nodes: Set<string>, node: string, isIn: boolean): void {
  if (isIn) nodes.add(node);
  else nodes.delete(node);
}

function count(tally: Tally, { shard, judged }: Member, by: 1 | -1): void {
  const share = tally.shards.get(shard) ?? { members: 0, ready: 0 };
  share.members += by;
  if (share.members === 0) tally.shards.delete(shard);
  else tally.shards.set(shard, share);
  if (!judged.counted) return;
  tally.count.size += by;
  if (isNotReady(judged.ready)) tally.count.notReady += by;
  else share.ready += by;
}
