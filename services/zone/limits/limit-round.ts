/** One round of decisions about the nodes of one policy: each permit leaves less for the next node. */

import type { Instant } from "../../domain/instant.ts";
import type { Admissions } from "./admissions.ts";
import { type Allowance, allowanceOf } from "./budget.policy.ts";
import type { LimitedNode, LimitGroup } from "./limited-nodes.ts";
import {
  blockOf,
  type LimitBlock,
  type LimitCounts,
  type LimitMemory,
  type Limits,
  remembered,
  trippedAt,
  trips,
  tripsByDown,
  windowMsOf,
} from "./limits.policy.ts";

/** What a round begins with. */
export interface LimitRoundStart {
  readonly limits: Limits;
  readonly group: LimitGroup;
  readonly memory: LimitMemory;
  /** The nodes of the group that may be admitted any moment, and are not yet. */
  readonly permitted: Iterable<LimitedNode>;
  readonly at: Instant;
}

/**
 * How many blocks that follow each other are examined. Beyond that the end of the last one is published, as the
 * earliest instant.
 */
const BLOCKS_FOLLOWED_MAX = 200;

/** A round about one policy. */
export class LimitRound {
  readonly limits: Limits;
  readonly #group: LimitGroup;
  readonly #at: Instant;
  /** What the budgets allow now. */
  readonly allowance: Allowance;
  readonly #window: { readonly nodes: number; readonly earliestMs: number | null };
  /** The zones of the permitted nodes, by node. */
  readonly #permitted = new Map<string, string>();
  readonly #lastInZone = new Map<string, number | null>();
  memory: LimitMemory;

  constructor({ limits, group, memory, permitted, at }: LimitRoundStart) {
    this.limits = limits;
    this.memory = memory;
    this.#group = group;
    this.#at = at;
    this.allowance = allowanceOf(limits.budgets, group.selected, at.wallMs);
    this.#window = group.admissions.since(this.#windowFromMs);
    for (const { observed, zone } of permitted) this.#permitted.set(observed.node, zone);
  }

  get admissions(): Admissions {
    return this.#group.admissions;
  }

  /** The node that has been admitted for the longest. */
  get longestAdmitted(): LimitGroup["longestAdmitted"] {
    return this.#group.longestAdmitted;
  }

  /** The counts of the group; without `except`, which may be permitted, drained or admitted already. */
  counts(except: LimitedNode | null = null): LimitCounts {
    const { selected, unhealthy, admitted, admissions } = this.#group;
    const { nodes, earliestMs } = this.#window;
    const name = except?.observed.node ?? null;
    const isInWindow = name !== null && admissions.isAfter(name, this.#windowFromMs);
    const isPermitted = name !== null && this.#permitted.has(name);
    return {
      selected,
      unhealthy,
      admitted: admitted - (except?.isDisrupted === true ? 1 : 0),
      permitted: this.#permitted.size - (isPermitted ? 1 : 0),
      inWindow: nodes - (isInWindow ? 1 : 0),
      windowMovesMs: earliestMs === null ? null : earliestMs + windowMsOf(this.limits),
    };
  }

  /** Why a node may not be admitted now; null when it may. */
  blockOf(node: LimitedNode): LimitBlock | null {
    const { observed, zone } = node;
    const zoneAdmittedMs = this.#zoneAdmittedMs(zone, observed.node);
    const { allowance, memory } = this;
    return blockOf(this.limits, { counts: this.counts(node), allowance, zoneAdmittedMs, memory }, this.#at);
  }

  /**
   * When none of these limits blocks a node any more, in epoch milliseconds, if every node stays as it is; null if time
   * alone does not end it. Example: a breaker resets after 1 min, and its window of 10 min is still full. Each time the
   * node would trip it again, so the node is blocked until the first admission leaves the window.
   */
  releasedAt(node: LimitedNode, first: LimitBlock): number | null {
    let { memory } = this;
    let block = first;
    for (let followed = 0; followed < BLOCKS_FOLLOWED_MAX && block.untilAt !== null; followed++) {
      const later = this.#later(block.untilAt, memory);
      later.tripByDown();
      if (later.trips(node)) later.trip();
      const next = later.blockOf(node);
      if (next === null) return block.untilAt;
      ({ memory } = later);
      block = next;
    }
    return block.untilAt;
  }

  /** Whether the breaker alone blocks a node, is closed, and trips by this node: the node is one too many. */
  trips(node: LimitedNode): boolean {
    const isBreaker = this.memory.trippedMs === null && this.blockOf(node)?.field === "circuitBreaker";
    return isBreaker && trips(this.limits, this.counts(node));
  }

  /** How many nodes went down within the breaker's duration; null if the breaker does not protect readiness. */
  down(): ReturnType<LimitGroup["downSince"]> | null {
    const { circuitBreaker } = this.limits;
    return circuitBreaker?.holdsReadiness === true ? this.#group.downSince(this.#windowFromMs) : null;
  }

  /** Opens a closed breaker that protects readiness once more nodes have gone down than it allows to be admitted. */
  tripByDown(): void {
    const down = this.down();
    if (down === null || this.memory.trippedMs !== null) return;
    if (tripsByDown(this.limits, { selected: this.#group.selected, down: down.nodes })) this.trip();
  }

  /** Opens the breaker. */
  trip(): void {
    this.memory = trippedAt(this.#at.nowMs);
  }

  /** Records that a node may be admitted. */
  permit({ observed, zone }: LimitedNode): void {
    this.#permitted.set(observed.node, zone);
  }

  /** The same round at a later instant, in epoch milliseconds, with the memory of the instant before. */
  #later(wallMs: number, memory: LimitMemory): LimitRound {
    const [limits, group] = [this.limits, this.#group];
    const at = { wallMs, nowMs: this.#at.nowMs + wallMs - this.#at.wallMs };
    const later = new LimitRound({ limits, group, memory, permitted: [], at });
    for (const [node, zone] of this.#permitted) later.#permitted.set(node, zone);
    later.memory = remembered(memory, { limits, counts: later.counts(), isHalted: false }, at.nowMs);
    return later;
  }

  get #windowFromMs(): number {
    return this.#at.nowMs - windowMsOf(this.limits);
  }

  #zoneAdmittedMs(zone: string, except: string): number | null {
    for (const [node, permittedIn] of this.#permitted) {
      if (permittedIn === zone && node !== except) return this.#at.nowMs;
    }
    const known = this.#lastInZone.get(zone);
    if (known !== undefined) return known;
    const lastMs = this.#group.admissions.lastIn(zone);
    this.#lastInZone.set(zone, lastMs);
    return lastMs;
  }
}
