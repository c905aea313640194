/** Which nodes belong to which zone, by what has been observed and judged of them. It decides nothing. */
import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import type { Profile } from "../../protocols/profile.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { zoneKeyOf } from "../domain/zone-key.ts";
import { contradicts, isNotReady, type NodeInZone, type ZoneCount } from "./zone.policy.ts";

/** A node that has been observed and judged under one uid. */
export interface Member extends NodeInZone {
  /** Id of the message that told the judgement. */
  readonly cause: string;
}

/** How many members of a zone one shard holds, and how many of them count and are ready. */
export interface ShardShare {
  readonly members: number;
  readonly ready: number;
}

/** The members of one zone and their count (R6.5: only counted nodes make up its size). */
export interface Zone {
  readonly members: ReadonlyMap<string, Member>;
  readonly count: ZoneCount;
  /** The shards that hold its members. */
  readonly shards: ReadonlyMap<number, ShardShare>;
}

/** A zone that has lost all its members. */
export const EMPTY_ZONE: Zone = { members: new Map(), count: { size: 0, notReady: 0 }, shards: new Map() };

interface RosterEntry {
  observed: ObservedNode | null;
  judged: BodyOf<"judged.node"> | null;
  cause: string;
  /** The uid of the node of which only a rehearsal told that it is Unknown; null when there is none. */
  shadowedUid: string | null;
}

interface Tally {
  readonly members: Map<string, Member>;
  readonly count: { size: number; notReady: number };
  readonly shards: Map<number, { members: number; ready: number }>;
}

/** A node's place before and after a message; null where it has none. */
export interface Move {
  readonly before: Member | null;
  readonly after: Member | null;
}

/**
 * All nodes of the cluster by zone. Observations and judgements come from different publishers in any order; a node
 * takes part once both speak of the same uid.
 */
export class ZoneRoster {
  readonly #entries = new Map<string, RosterEntry>();
  readonly #zones = new Map<string, Tally>();
  readonly #contradicting = new Set<string>();
  /** Nodes that were judged and that nobody observes. */
  readonly #unobserved = new Set<string>();
  readonly #evictionMode: Profile["evictionMode"];
  /** How many observed nodes of each zone have no judgement, by the key that their labels make. */
  readonly #unjudged = new Map<string, number>();

  constructor(evictionMode: Profile["evictionMode"]) {
    this.#evictionMode = evictionMode;
  }

  /** How many observed nodes have no judgement yet. */
  get unjudged(): number {
    let count = 0;
    for (const each of this.#unjudged.values()) count += each;
    return count;
  }

  /** How many of them belong to a zone: while there are any, its count cannot be trusted. */
  unjudgedIn(zone: string): number {
    return this.#unjudged.get(zone) ?? 0;
  }

  /** The observed nodes that have no judgement, or one that contradicts what is observed. */
  get contradicting(): ReadonlySet<string> {
    return this.#contradicting;
  }

  /** Every zone that has a member, by key. */
  zones(): IterableIterator<[string, Zone]> {
    return this.#zones.entries();
  }

  /** One zone; null when it has no member. */
  zone(key: string): Zone | null {
    return this.#zones.get(key) ?? null;
  }

  takeObserved(observed: ObservedNode): Move {
    return this.#change(observed.node, (entry) => {
      entry.observed = observed;
    });
  }

  takeJudged(judged: BodyOf<"judged.node">, cause: string): Move {
    return this.#change(judged.node, (entry) => {
      entry.judged = judged;
      entry.cause = cause;
    });
  }

  /** Takes word that the verdict on a node was rehearsed in shadow mode: the API will not show it. */
  takeShadowed({ node, uid }: Pick<BodyOf<"done.write">, "node" | "uid">): Move {
    return this.#change(node, (entry) => {
      entry.shadowedUid = uid;
    });
  }

  takeGone(node: string): Move {
    return this.#change(node, (entry) => {
      entry.observed = null;
      entry.judged = null;
    });
  }

  /** Forgets judgements of nodes that nobody observes; only for nodes of which everything observed has been told. */
  dropUnobserved(isKnown: (node: string) => boolean): void {
    for (const node of this.#unobserved) {
      if (!isKnown(node)) continue;
      this.#entries.delete(node);
      this.#unobserved.delete(node);
    }
  }

  #change(node: string, apply: (entry: RosterEntry) => void): Move {
    const entry = this.#entries.get(node) ?? { observed: null, judged: null, cause: "", shadowedUid: null };
    const before = memberOf(entry);
    this.#countUnjudged(entry, -1);
    apply(entry);
    if (!isShadowed(entry)) entry.shadowedUid = null;
    this.#countUnjudged(entry, 1);
    if (entry.observed === null && entry.judged === null) this.#entries.delete(node);
    else this.#entries.set(node, entry);
    if (entry.observed === null && entry.judged !== null) this.#unobserved.add(node);
    else this.#unobserved.delete(node);
    const after = memberOf(entry);
    if (isUnjudged(entry) || (after !== null && contradicts(after, this.#evictionMode))) this.#contradicting.add(node);
    else this.#contradicting.delete(node);
    if (before !== null) this.#leave(before);
    if (after !== null) this.#enter(after);
    return { before, after };
  }

  #countUnjudged(entry: RosterEntry, by: 1 | -1): void {
    if (entry.observed === null || !isUnjudged(entry)) return;
    const zone = zoneKeyOf(entry.observed.labels);
    const count = this.unjudgedIn(zone) + by;
    if (count === 0) this.#unjudged.delete(zone);
    else this.#unjudged.set(zone, count);
  }

  #enter(member: Member): void {
    const { node, zone } = member.judged;
    const tally = this.#zones.get(zone) ?? {
      members: new Map(),
      count: { size: 0, notReady: 0 },
      shards: new Map(),
    };
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
  const { observed, judged, cause } = entry;
  if (observed === null || judged === null || observed.uid !== judged.uid) return null;
  return { observed, judged, cause, isShadowed: isShadowed(entry) };
}

/** Whether the verdict that was rehearsed stands, and still nobody else has written it. */
function isShadowed({ observed, judged, shadowedUid }: RosterEntry): boolean {
  if (shadowedUid === null || observed?.uid !== shadowedUid || judged?.uid !== shadowedUid) return false;
  return judged.ready === "Unknown" && readyConditionOf(observed)?.status !== "Unknown";
}

function isUnjudged(entry: RosterEntry): boolean {
  return entry.observed !== null && memberOf(entry) === null;
}

function count(tally: Tally, { judged }: Member, by: 1 | -1): void {
  const shard = shardOf(judged.node);
  const share = tally.shards.get(shard) ?? { members: 0, ready: 0 };
  share.members += by;
  if (share.members === 0) tally.shards.delete(shard);
  else tally.shards.set(shard, share);
  if (!judged.counted) return;
  tally.count.size += by;
  if (isNotReady(judged.ready)) tally.count.notReady += by;
  else share.ready += by;
}
