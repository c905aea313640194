/**
 * Stamps of taints that another client changed, and that an owner may accept all the same: it has just begun, has not
 * observed the taint's appearance, and no annotation records it yet
 * (docs/decisions/0020-a-taint-counts-from-its-appearance.md).
 */
import type { Clock } from "../../protocols/ports.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { type CheckedNode, taintName } from "./invariants.ts";

/** A stamp that was on a taint for a while; instants are on the world's wall clock. */
interface Stood {
  readonly stampAt: number;
  readonly fromAt: number;
  untilAt: number;
}

/** What owners found when they began. */
export class BelievedStamps {
  readonly #clock: Clock;
  /** How far the view of an owner may be behind the API, in milliseconds. */
  readonly #lagMs: number;
  /** All stamps of the present taints, by node and taint. */
  readonly #stamps = new Map<string, Map<string, Stood[]>>();
  /** When any process gained a shard. */
  readonly #gainsAt = new Map<number, number[]>();
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

  /** The faults have ended: from the given instant on every owner has received the nodes of its shards. */
  calm(wholeAt: number): void {
    this.#wholeAt = wholeAt;
  }

  /** Takes a change of a node; null when it is deleted. */
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

  /** The earliest instant from which an owner may count a taint; infinite when every owner observed its appearance. */
  earliestAt(name: string, taint: string): number {
    return Math.min(...this.#found(name, taint).map(({ stampAt }) => stampAt));
  }

  /**
   * The latest such instant; minus infinity when every owner observed its appearance. A stamp of the future counts from
   * when the owner first observes the taint, which may be as late as the end of the faults.
   */
  latestAt(name: string, taint: string): number {
    return Math.max(...this.#found(name, taint).map(({ stampAt }) => Math.min(stampAt, this.#wholeAt)));
  }

  /** The stamps that some owner found when it began. */
  #found(name: string, taint: string): Stood[] {
    const gainsAt = this.#gainsAt.get(shardOf(name)) ?? [];
    const wasFound = ({ fromAt, untilAt }: Stood): boolean =>
      gainsAt.some((gainAt) => gainAt >= fromAt - this.#lagMs && gainAt <= untilAt + this.#lagMs);
    return (this.#stamps.get(name)?.get(taint) ?? []).filter(wasFound);
  }
}
