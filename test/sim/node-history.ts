/** When nodes came into the states that allow harm, as the simulated API had it. It judges nothing. */
import type { Clock } from "../../protocols/ports.ts";
import { BelievedStamps } from "./believed-stamps.ts";
import { silentMaxMs, viewLagMs } from "./fault-bounds.ts";
import {
  type CheckedNode,
  type CheckedTaint,
  isEvictable,
  isPaced,
  type Segment,
  type Standing,
  startOf,
  taintName,
} from "./invariants.ts";
import { isUnhindered, RECOVERY_MS } from "./promptness.ts";
import type { Swarm } from "./swarm.ts";
import type { ViewGap } from "./view-gaps.ts";

/** The annotation with the starts of taints that their stamps do not show. */
const RECORD = "vigil.v1/taints-seen";
/** A list, or a watch that resumes after a minute, shows no taint that went and came back meanwhile. */
const UNSEEN_MAX_MS = 60_000;

/** When a taint was away that has come back, and since when it had been there before. */
interface Absence {
  readonly cameAt: number;
  readonly wentAt: number;
  readonly backAt: number;
}

/** The past of every node; all instants are on the world's wall clock. */
export class NodeHistory {
  readonly #swarm: Swarm;
  readonly #clock: Clock;
  readonly #taintedAt = new Map<string, Map<string, number>>();
  /** When the present taints were last set, by node and taint, whether or not their absence was observed. */
  readonly #addedAt = new Map<string, ReadonlyMap<string, number>>();
  readonly #evictableAt = new Map<string, number>();
  /** When earlier taints came and went, by node and taint. */
  readonly #left = new Map<string, { readonly cameAt: number; readonly wentAt: number }>();
  /**
   * The absences of present taints without a stamp, by node and taint: one within a gap of an owner's view is not
   * observed, however long it was.
   */
  readonly #absences = new Map<string, Absence>();
  /** Whether stamps of taints are meaningless, because clocks are wrong or other clients change them. */
  readonly #isStampVoid: boolean;
  /** Whether other clients change them: then an owner may accept another stamp than the first. */
  readonly #isRestamped: boolean;
  /** Whether a fault keeps owners from observing every change. A plot delays changes and drops none. */
  readonly #isHindered: boolean;
  readonly #believed: BelievedStamps;
  /** The present taints whose stamps changed while they stayed, by node and taint: they count from their appearance. */
  readonly #changedStamps = new Set<string>();
  /** The present taints without a stamp and without a record of their start, by node and taint. */
  readonly #unrecorded = new Set<string>();
  /** When a process last died or started while such a taint was there, by node and taint. */
  readonly #forgottenAt = new Map<string, number>();
  #disturbedAt = Number.NEGATIVE_INFINITY;
  /** Our taints that replaced each other on a node, up to the present one. */
  readonly #lines = new Map<string, readonly Segment[]>();

  constructor(swarm: Swarm, clock: Clock) {
    this.#swarm = swarm;
    this.#clock = clock;
    this.#isRestamped = swarm.faults.has("foreignTaints");
    this.#isStampVoid = swarm.faults.has("wrongClocks") || this.#isRestamped || swarm.plot === "wrongStamps";
    const { hindrance: _, ...undelayed } = swarm;
    this.#isHindered = !isUnhindered(undelayed);
    this.#believed = new BelievedStamps(clock, viewLagMs(swarm));
  }

  /** A process has begun to follow the pods of a shard. */
  gained(shard: number): void {
    this.#believed.gained(shard);
  }

  /** A process's view of a shard has a gap. */
  interrupted(shard: number, gap: ViewGap): void {
    this.#believed.interrupted(shard, gap);
  }

  /**
   * A process ended or started. The process that takes over counts a taint without a record from when it observes it.
   */
  disturbed(): void {
    this.#disturbedAt = this.#clock.wallMs();
    for (const key of this.#unrecorded) this.#forgottenAt.set(key, this.#disturbedAt);
  }

  /** The faults have ended: from the given instant on every owner has received the nodes of its shards. */
  calm(wholeAt: number): void {
    this.#believed.calm(wholeAt);
  }

  /** Records a change of a node; `before` is null for a new one, `after` for a deleted one. */
  note(name: string, before: CheckedNode | null, after: CheckedNode | null): void {
    const wallMs = this.#clock.wallMs();
    this.#believed.note(name, after);
    this.#noteRecords(name, after);
    this.#noteStamps(name, before, after);
    if (before !== null && isEvictable(before, this.#swarm)) this.#evictableAt.set(name, wallMs);
    this.#noteSwap(name, limitedTaintOf(before), limitedTaintOf(after));
    const known = this.#taintedAt.get(name);
    const present = after?.spec?.taints ?? [];
    const taints = present.map(taintName);
    const unstamped = new Set(present.filter(({ timeAdded }) => timeAdded === undefined).map(taintName));
    for (const [taint, cameAt] of known ?? []) this.#left.set(`${name} ${taint}`, { cameAt, wentAt: wallMs });
    const cameAt = (taint: string): number => {
      const left = this.#left.get(`${name} ${taint}`);
      if (left === undefined) return wallMs;
      const isUnstamped = unstamped.has(taint);
      if (isUnstamped) this.#absences.set(`${name} ${taint}`, { ...left, backAt: wallMs });
      return wallMs - left.wentAt < this.#unseenMs(isUnstamped) ? left.cameAt : wallMs;
    };
    const added = this.#addedAt.get(name);
    this.#addedAt.set(name, new Map(taints.map((taint) => [taint, added?.get(taint) ?? wallMs])));
    this.#taintedAt.set(name, new Map(taints.map((taint) => [taint, known?.get(taint) ?? cameAt(taint)])));
  }

  #noteStamps(name: string, before: CheckedNode | null, after: CheckedNode | null): void {
    const stampsOf = (node: CheckedNode | null): Map<string, string | undefined> =>
      new Map((node?.spec?.taints ?? []).map((taint) => [taintName(taint), taint.timeAdded]));
    const [was, is] = [stampsOf(before), stampsOf(after)];
    for (const [taint, stamp] of was) {
      if (!is.has(taint)) this.#changedStamps.delete(`${name} ${taint}`);
      else if (is.get(taint) !== stamp) this.#changedStamps.add(`${name} ${taint}`);
    }
  }

  #noteRecords(name: string, after: CheckedNode | null): void {
    const taints = after?.spec?.taints ?? [];
    const record = after?.metadata.annotations?.[RECORD] ?? "";
    const present = new Set(taints.map((taint) => `${name} ${taintName(taint)}`));
    for (const known of [...this.#unrecorded, ...this.#forgottenAt.keys()]) {
      if (!known.startsWith(`${name} `) || present.has(known)) continue;
      this.#unrecorded.delete(known);
      this.#forgottenAt.delete(known);
    }
    const hadTaints = this.#taintedAt.get(name);
    for (const taint of taints) {
      const key = `${name} ${taintName(taint)}`;
      const isNew = hadTaints?.has(taintName(taint)) !== true;
      if (taint.timeAdded !== undefined || record.includes(taintName(taint))) this.#unrecorded.delete(key);
      else if (isNew) {
        this.#unrecorded.add(key);
        this.#forgottenAt.set(key, this.#disturbedAt);
      }
    }
  }

  /** When a taint appeared on a node; now, when it is absent. */
  taintedAt(node: string, taint: Pick<CheckedTaint, "key" | "effect">): number {
    return this.#taintedAt.get(node)?.get(taintName(taint)) ?? this.#clock.wallMs();
  }

  /** From when a taint on a node counts. */
  standing(node: string, taint: Pick<CheckedTaint, "key" | "effect">): Standing {
    const lineage = isPaced(taint) ? this.#lines.get(node) : undefined;
    const seenAt = this.#seenAt(node, taint);
    const addedAt = this.#addedAt.get(node)?.get(taintName(taint)) ?? seenAt;
    const name = taintName(taint);
    const believed = {
      believedAt: this.#believed.earliestAt(node, name),
      believedLatestAt: this.#believed.latestAt(node, name),
    };
    const isChanged = this.#isRestamped || this.#changedStamps.has(`${node} ${name}`);
    const stampVoid = { isStampVoid: true, ...(isChanged && believed) };
    const isComparing = this.#swarm.profile.tolerationComparisonOperators;
    const forgottenAt = this.#forgottenAt.get(`${node} ${name}`) ?? Number.NEGATIVE_INFINITY;
    const latestAt = Math.max(seenAt, forgottenAt + RECOVERY_MS);
    const known = { seenAt, addedAt, latestAt, isComparing };
    return { ...known, ...((this.#isStampVoid || isChanged) && stampVoid), ...(lineage && { lineage }) };
  }

  /** When a taint appeared for an owner that observed everything but what was in a gap of its view. */
  #seenAt(node: string, taint: Pick<CheckedTaint, "key" | "effect">): number {
    const seenAt = this.taintedAt(node, taint);
    const absence = this.#absences.get(`${node} ${taintName(taint)}`);
    if (absence === undefined || absence.backAt < seenAt) return seenAt;
    const { cameAt, wentAt, backAt } = absence;
    return this.#believed.isUnseen(node, { fromAt: wentAt, untilAt: backAt }) ? Math.min(cameAt, seenAt) : seenAt;
  }

  /** When a node was last in a state in which its pods may go, and then left it. */
  evictableAt(node: string): number {
    return this.#evictableAt.get(node) ?? Number.NEGATIVE_INFINITY;
  }

  /**
   * The absence of a taint that was away for less than this may never have been observed: its stamp is void, or it has
   * none.
   */
  #unseenMs(isUnstamped: boolean): number {
    const unseenMs = Math.max(UNSEEN_MAX_MS, silentMaxMs(this.#swarm));
    return this.#isHindered && (this.#isRestamped || isUnstamped) ? unseenMs : 0;
  }

  #noteSwap(name: string, had: CheckedTaint | undefined, has: CheckedTaint | undefined): void {
    if (had?.key === has?.key && (this.#isStampVoid || had?.timeAdded === has?.timeAdded)) return;
    const line = this.#lines.get(name);
    this.#lines.delete(name);
    if (had === undefined || has === undefined || had.key === has.key) return;
    const segmentOf = (taint: CheckedTaint): Segment => ({
      key: taint.key,
      at: startOf(taint, { seenAt: this.taintedAt(name, taint), isStampVoid: this.#isStampVoid }),
    });
    this.#lines.set(name, [...(line ?? [segmentOf(had)]), segmentOf(has)]);
  }
}

function limitedTaintOf(node: CheckedNode | null): CheckedTaint | undefined {
  return node?.spec?.taints?.find(isPaced);
}
