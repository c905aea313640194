/**
 * Which heartbeats the API server accepted, by its own clock, and the times in which it accepted none. No node could be
 * heard then. A countdown by a node-health taint is frozen in these times, and none ends before its node had a full
 * grace after the last of them. Example: a pod tolerates 300 s; no kubelet reaches the API server from second 100 to
 * second 700; the pod may go at 900. This file judges nothing.
 */
import type { HeartbeatKind } from "./heartbeat-history.ts";
import type { CountdownEnds } from "./invariants.ts";
import { GRACE_MAX_MS } from "./policies/pools.ts";
import type { Swarm } from "./swarm.ts";

/** From when to when, on the wall clock of the API server; infinite while it lasts. */
export type Span = readonly [fromAt: number, toAt: number];

/** Times in which countdowns are frozen: at the least, and at the most. They may overlap. */
export interface Pauses {
  readonly least: readonly Span[];
  readonly most: readonly Span[];
}

/** A time without heartbeats is an outage if it is longer than two renewals, and than this part of a grace. */
const TWO_RENEWALS_MS = 20_000;
const PART_OF_GRACE = 2 / 5;
/** Stamps are cut to seconds, and several processes read them: such a time near the limit may count or not. */
const UNSURE_MS = 5_000;
/** The instants that Vigil reads at a start are cut to seconds, and a stamp that is a second off is accepted. */
const STAMP_MS = 2_000;
/** A process that begins has read the leases by then. Meanwhile a heartbeat may replace the one that it would find. */
const READ_MS = 5_000;
const LEASES_KEPT = 4;

/** Where nothing remembers outages, each countdown counts again from the end of the last one. */
const sinceEver = ([, toAt]: Span): Span => [0, toAt];

/** A lease renewal that was accepted. */
interface Renewal {
  readonly acceptedAt: number;
  /** Its renewTime, by the kubelet's clock. */
  readonly stampedAt: number;
}

/** A time in which no process of Vigil listened. */
interface Deafness {
  readonly fromAt: number;
  /** What the API server showed when a process listened again; null before. */
  readonly evidence: Evidence | null;
}

/** What shows that nodes could be heard while no process listened. */
interface Evidence {
  /** Until when a process of Vigil has heard nodes, as its own Lease says; 0 without one. */
  readonly recordAt: number;
  /** From when on it surely has read the last heartbeats of all nodes. */
  readonly readAt: number;
  /** The beginnings of the holes that it may find. */
  readonly holes: number[];
}

/** The last heartbeat of one kind. */
interface Mark {
  readonly by: string;
  readonly at: number;
}

/** The accepted heartbeats of one run. */
export class Heard {
  readonly #swarm: Pick<Swarm, "profile" | "policies" | "remembersOutages">;
  readonly #limitMs: number;
  #lastAt: number | null = null;
  /** Times without heartbeats that may be outages. */
  #gaps: Span[] = [];
  /** A time without heartbeats that is over, until two nodes were surely seen to be heard after it. */
  #ending: { readonly fromAt: number; readonly by: string; readonly readAt: number } | null = null;
  /** Times of which Vigil cannot know that kubelets were heard. */
  readonly #unheard: Span[] = [];
  readonly #renewals = new Map<string, readonly Renewal[]>();
  /** The last heartbeat of each kind that the API server shows, by node and kind. */
  readonly #marks = new Map<string, Mark>();
  #deafness: Deafness | null = null;
  /** The state of the store that an observer slept through: the heartbeats before it were lost meanwhile. */
  #sleptThroughAt: number | null = null;

  constructor(swarm: Pick<Swarm, "profile" | "policies" | "remembersOutages">) {
    this.#swarm = swarm;
    this.#limitMs = Math.max(TWO_RENEWALS_MS, graceMaxMs(swarm) * PART_OF_GRACE);
  }

  /** Records a heartbeat of a kubelet that the API server accepted. */
  accepted(node: string, kind: HeartbeatKind, acceptedAt: number, stampedAt: number): void {
    if (this.#lastAt !== null) this.#gap(node, this.#lastAt, acceptedAt);
    this.#lastAt = acceptedAt;
    this.#noteHoles(acceptedAt);
    this.#marks.set(`${node} ${kind}`, { by: node, at: acceptedAt });
    if (kind === "lease") {
      const kept = this.#renewals.get(node)?.slice(1 - LEASES_KEPT) ?? [];
      this.#renewals.set(node, [...kept, { acceptedAt, stampedAt }]);
    }
  }

  /**
   * The API server went back to an earlier state: it knows of no heartbeat since then. An observer whose machine is
   * suspended meanwhile, and its clock with it, cannot know that any time passed (decision 2).
   */
  restored(toAt: number, isSleptThrough: boolean): void {
    const isKept = (at: number): boolean => at <= toAt;
    this.#sleptThroughAt = isSleptThrough ? toAt : null;
    this.#lastAt = Math.min(this.#lastAt ?? toAt, toAt);
    this.#gaps = this.#gaps.filter(([fromAt]) => isKept(fromAt));
    for (const [key, { by, at }] of this.#marks) if (!isKept(at)) this.#marks.set(key, { by, at: toAt });
    for (const [node, renewals] of this.#renewals) {
      this.#renewals.set(
        node,
        renewals.filter(({ acceptedAt }) => isKept(acceptedAt)),
      );
    }
  }

  /** The last process that listens has ended. */
  deaf(nowAt: number): void {
    this.#deafness ??= { fromAt: nowAt, evidence: null };
  }

  /**
   * A process begins to listen, and finds this in Vigil's own Lease. It may take over from another one that has ended,
   * without knowing the heartbeats that the other one received, even while a third process runs.
   */
  listening(recordAt: number, nowAt: number): void {
    this.#deafness = {
      fromAt: this.#deafness?.fromAt ?? nowAt,
      evidence: { recordAt, readAt: nowAt + READ_MS, holes: [] },
    };
  }

  /**
   * Whether a node's lease showed at the end of a time that it was renewed within it, at an instant that its own
   * renewTime agrees with. A process that begins cannot know of a renewal that a later one by another clock hides.
   */
  isRenewedWithin(node: string, [fromAt, toAt]: Span): boolean {
    const shown = this.#renewals.get(node)?.findLast(({ acceptedAt }) => acceptedAt <= toAt);
    return shown !== undefined && shown.acceptedAt > fromAt && Math.abs(shown.stampedAt - shown.acceptedAt) < UNSURE_MS;
  }

  /** The times in which countdowns are frozen: those that are outages in any case, and those that may be. */
  pauses(nowAt: number): Pauses {
    const present = this.#present(nowAt);
    // Vigil looks with each pulse how long nothing was heard.
    const sureMs = this.#limitMs + Math.max(UNSURE_MS, this.#swarm.profile.pulsePeriodMs);
    const isSure = ([fromAt, toAt]: Span): boolean => Math.min(toAt, nowAt) - fromAt > sureMs;
    const open = [this.#deafness, this.#ending].filter((each) => each !== null);
    const lasting = open.map(({ fromAt }): Span => [fromAt, Number.POSITIVE_INFINITY]);
    const possible = [...present, ...this.#unheard, ...lasting];
    return { least: present.filter(isSure), most: this.#isRemembered ? possible : possible.map(sinceEver) };
  }

  /** The same ends, but none before the node had its full grace after the last time that may be an outage. */
  withGrace(ends: CountdownEnds, { most }: Pauses, graceMs: number): CountdownEnds {
    const graceEndsAt = Math.max(...most.map(([, toAt]) => toAt + graceMs));
    const mostEndAt: CountdownEnds["most"] = (startAt, ms) => {
      const endAt = ends.most(startAt, ms);
      return graceEndsAt > startAt ? Math.max(endAt, graceEndsAt) : endAt;
    };
    return { least: ends.least, most: mostEndAt };
  }

  get #isRemembered(): boolean {
    return this.#swarm.policies !== undefined || this.#swarm.remembersOutages === true;
  }

  #present(nowAt: number): Span[] {
    const isOpen = this.#lastAt !== null && nowAt - this.#lastAt > this.#limitMs - UNSURE_MS;
    const isKnown = isOpen && this.#lastAt !== this.#sleptThroughAt;
    return isKnown ? [...this.#gaps, [this.#lastAt ?? nowAt, Number.POSITIVE_INFINITY]] : this.#gaps;
  }

  /** Records the time between two heartbeats, of which this node sent the second. */
  #gap(node: string, fromAt: number, toAt: number): void {
    const ending = this.#ending;
    if (toAt - fromAt > this.#limitMs - UNSURE_MS) {
      (fromAt === this.#sleptThroughAt ? this.#unheard : this.#gaps).push([fromAt, toAt]);
      this.#ending ??= { fromAt, by: node, readAt: toAt + READ_MS };
    } else if (ending !== null && toAt >= ending.readAt + (node === ending.by ? READ_MS : 0)) {
      this.#unheard.push([ending.fromAt, toAt + STAMP_MS]);
      this.#ending = null;
    }
  }

  /**
   * Holes in the evidence that a process may read before the next heartbeat. They may be outages, from the last mark of
   * a second node to the first one, or to the first heartbeat that surely arrives after the reading.
   */
  #noteHoles(nowAt: number): void {
    const evidence = this.#deafness?.evidence ?? null;
    if (evidence === null) return;
    const { recordAt, holes } = evidence;
    const marks = [...this.#marks.values()]
      .filter(({ at }) => at > recordAt)
      .toSorted((one, other) => one.at - other.at);
    const instants = [recordAt, ...marks.map(({ at }) => at), nowAt];
    for (const [index, toAt] of instants.entries()) {
      const before = marks.slice(0, Math.max(0, index - 1)).toReversed();
      const fromAt = secondOf(before)?.at ?? instants[index - 1] ?? toAt;
      if (toAt - fromAt > this.#limitMs - UNSURE_MS) holes.push(fromAt - STAMP_MS);
    }
    if (nowAt < evidence.readAt) return;
    this.#deafness = null;
    if (holes.length > 0) this.#unheard.push([Math.min(...holes), nowAt + STAMP_MS]);
  }
}

/** The longest grace that a node may have, in milliseconds. */
function graceMaxMs({ profile, policies }: Pick<Swarm, "profile" | "policies">): number {
  const ownMs = Math.max(profile.nodeMonitorGraceMs, profile.nodeStartupGraceMs);
  return policies === undefined ? ownMs : Math.max(ownMs, GRACE_MAX_MS);
}

/** The first mark of another node than the first one's. */
function secondOf(marks: readonly Mark[]): Mark | undefined {
  return marks.find(({ by }) => by !== marks[0]?.by);
}
