/**
 * Stamps of taints that another client changed, and that an owner may still accept
 * (docs/decisions/0006-a-taint-counts-from-its-appearance.md). An owner that has just begun has not observed the
 * taint's appearance, and no annotation records it yet. If an owner's view had a gap, another stamp after the gap means
 * another taint, which appeared within the gap. Example: a taint is stamped 12:00:00; the view has a gap from 12:05:00
 * to 12:06:00; the stamp is 12:05:30 afterwards; an owner may count the taint from 12:05:30.
 */
import type { Clock } from "../../protocols/ports.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { type CheckedNode, taintName } from "./invariants.ts";
import type { ViewGap } from "./view-gaps.ts";

/** A stamp that was on a taint for a while; instants are on the world's wall clock. */
interface Stood {
  readonly stampAt: number;
  readonly fromAt: number;
  untilAt: number;
}

/** What owners found when they began, and after gaps in their views. */
export class BelievedStamps {
  readonly #clock: Clock;
  /** How far the view of an owner may be behind the API, in milliseconds. */
  readonly #lagMs: number;
  /** All stamps of the present taints, by node and taint. */
  readonly #stamps = new Map<string, Map<string, Stood[]>>();
  /** When any process gained a shard. */
  readonly #gainsAt = new Map<number, number[]>();
  /** The gaps in any process's view of a shard. */
  readonly #gaps = new Map<number, ViewGap[]>();
  /** When every owner has received the nodes of its shards, after the faults ended. */
  #wholeAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, lagMs: number) {
    this.#clock = clock;
    this.#lagMs = lagMs;
  }

  /** A process has begun to follow the pods of a shard. */
  gained(shard: number): void {
    this.#gainsAt.set(shard, [...(this.#gainsAt.get(shard) ?? []), this.#clock.wallMs()]);
  }

  /** A process's view of a shard has a gap, which may not have ended yet. */
  interrupted(shard: number, gap: ViewGap): void {
    this.#gaps.set(shard, [...(this.#gaps.get(shard) ?? []), gap]);
  }

  /** The faults have ended: from the given instant on every owner has received the nodes of its shards. */
  calm(wholeAt: number): void {
    this.#wholeAt = wholeAt;
  }

  /** Records a change of a node; null when it is deleted. */
  note(name: string, node: CheckedNode | null): void {
    const nowAt = this.#clock.wallMs();
    const before = this.#stamps.get(name);
    const after = (node?.spec?.taints ?? []).map((taint): [string, Stood[]] => {
      const stood = before?.get(taintName(taint)) ?? [];
      const stampAt = taint.timeAdded === undefined ? Number.POSITIVE_INFINITY : Date.parse(taint.timeAdded);
      const last = stood.at(-1);
      if (last?.stampAt === stampAt) return [taintName(taint), stood];
      if (last !== undefined) last.untilAt = nowAt;
      return [taintName(taint), [...stood, { stampAt, fromAt: nowAt, untilAt: Number.POSITIVE_INFINITY }]];
    });
    if (after.length === 0) this.#stamps.delete(name);
    else this.#stamps.set(name, new Map(after));
  }

  /**
   * The earliest instant from which an owner may count a taint; infinite when every owner observed its appearance.
   * After a gap it counts from within the gap, which is later than its appearance.
   */
  earliestAt(name: string, taint: string): number {
    return Math.min(...this.#found(name, taint, this.#gains(name)).map(({ stampAt }) => stampAt));
  }

  /**
   * The latest such instant; minus infinity when every owner observed its appearance. A stamp of the future counts from
   * when the owner first observes the taint, which may be as late as the end of the faults.
   */
  latestAt(name: string, taint: string): number {
    const gaps = this.#gaps.get(shardOf(name)) ?? [];
    const found = this.#found(name, taint, [...this.#gains(name), ...gaps]);
    return Math.max(...found.map(({ stampAt }) => Math.min(stampAt, this.#wholeAt)));
  }

  /** Whether all of an interval is within a gap: what began and ended in it may never have been observed. */
  isUnseen(name: string, { fromAt, untilAt }: ViewGap): boolean {
    const gaps = this.#gaps.get(shardOf(name)) ?? [];
    return gaps.some((gap) => gap.fromAt <= fromAt + this.#lagMs && gap.untilAt >= untilAt - this.#lagMs);
  }

  #gains(name: string): ViewGap[] {
    return (this.#gainsAt.get(shardOf(name)) ?? []).map((gainAt) => ({ fromAt: gainAt, untilAt: gainAt }));
  }

  /** The stamps that were on a taint within one of the intervals, as far as an owner's view may be behind. */
  #found(name: string, taint: string, intervals: readonly ViewGap[]): Stood[] {
    const wasFound = ({ fromAt, untilAt }: Stood): boolean =>
      intervals.some((gap) => gap.untilAt >= fromAt - this.#lagMs && gap.fromAt <= untilAt + this.#lagMs);
    return (this.#stamps.get(name)?.get(taint) ?? []).filter(wasFound);
  }
}
