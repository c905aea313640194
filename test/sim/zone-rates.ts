/**
 * The zone rules and their token bucket, implemented a second time: which zones may have nodes tainted, and how fast.
 */
import type { Profile } from "../../protocols/profile.ts";
import { staleMaxMs } from "./fault-bounds.ts";
import { BrokenInvariant, type CheckedNode, conditionOf, type WriteContext, zoneOf } from "./invariants.ts";
import { isUnhindered } from "./promptness.ts";
import type { FaultClass, Swarm } from "./swarm.ts";

/**
 * Whether a zone's nodes may be tainted: at some rate, not now (R6.5), or not at all because every zone is down
 * (R6.10).
 */
export type RateState = "running" | "stopped" | "halted";

/**
 * A grant may still be under way when its zone has just been stopped: a reader accepts the last pulse for up to 38 s,
 * that pulse came up to 8 s late, and requests time out.
 */
const UNDER_WAY_MS = 55_000;
/** For this long the API may not answer, and then carry out together what was granted apart. */
const STALL_MS = 45_000;
/** Faults by which the API, or the path to it, may not answer for that long. */
const STALLING: readonly FaultClass[] = [
  "apiTimeouts",
  "apiOutages",
  "apiCuts",
  "standstills",
  "slowApi",
  "flakyApi",
  "longOutages",
  "powerCuts",
  "restores",
];
/** A taint's `timeAdded` is a whole second, and clocks of processes differ: a new owner may be this early. */
const RECOVERY_MS = 12_000;
/** The same with one clock: the second that a stamp cuts off, and the time of a write. */
const STAMP_MS = 1_500;

/**
 * Two owners may each grant once before they receive the other's grant, and separate grants are carried out together
 * after the API has not answered for a while. One undisturbed owner may not exceed the rate.
 */
function slackOf(swarm: Swarm): { readonly burst: number; readonly recoveryMs: number } {
  const { processes, faults } = swarm;
  if (processes.length === 1 && isUnhindered(swarm)) return { burst: 1, recoveryMs: STAMP_MS };
  const mayStall = STALLING.some((name) => faults.has(name));
  return { burst: 2, recoveryMs: mayStall ? STALL_MS : RECOVERY_MS };
}

/**
 * The rate state of each zone, by zone key: full without a ready node, partial from three down nodes and the threshold
 * on.
 */
export function rateStatesOf(nodes: Iterable<CheckedNode>, swarm: Swarm): Map<string, RateState> {
  const counts = countsOf([...nodes].map(placeOf));
  const rates = ratesOf(counts, swarm);
  if (rates === null) return new Map([...counts.keys()].map((zone) => [zone, "halted"]));
  return new Map([...rates].map(([zone, perSecond]) => [zone, perSecond > 0 ? "running" : "stopped"]));
}

/**
 * The grants per second of each zone, by zone key; null when every zone is down, because then there are none (R6.10).
 */
export function ratesOf(counts: ReadonlyMap<string, ZoneCount>, { profile }: Swarm): Map<string, number> | null {
  if ([...counts.values()].every(({ size, notReady }) => size === notReady)) return null;
  return new Map([...counts].map(([zone, count]) => [zone, rateOf(count, profile)]));
}

/** How many nodes a zone has, and how many of them are not ready. */
export interface ZoneCount {
  readonly size: number;
  readonly notReady: number;
}

/** A node's fields that its zone counts. */
interface Place {
  readonly zone: string;
  readonly ready: string | null;
}

/** The zone of a node, and whether it counts as ready. */
export function placeOf(node: CheckedNode): Place {
  return { zone: zoneOf(node.metadata.labels), ready: conditionOf(node, "Ready")?.status ?? null };
}

/** The count of each zone, by zone key. */
export function countsOf(places: Iterable<Place>): Map<string, ZoneCount> {
  const counts = new Map<string, ZoneCount>();
  for (const { zone, ready } of places) {
    const { size, notReady } = counts.get(zone) ?? { size: 0, notReady: 0 };
    counts.set(zone, { size: size + 1, notReady: notReady + (ready === "True" ? 0 : 1) });
  }
  return counts;
}

/** The grants per second of a zone with such a count, unless every zone is down (R6.1 to R6.5), in float32. */
export function rateOf({ size, notReady }: ZoneCount, profile: Profile): number {
  const isDisrupted = notReady > 2 && notReady < size && shareAgainst({ size, notReady }, profile) >= 0;
  if (!isDisrupted) return Math.fround(profile.nodeEvictionsPerSecond);
  return size > profile.largeClusterSizeThreshold ? Math.fround(profile.secondaryNodeEvictionsPerSecond) : 0;
}

/** How far the share of the nodes that are not ready is above the threshold, both as float32; 0 for a tie. */
export function shareAgainst({ size, notReady }: ZoneCount, profile: Profile): number {
  return Math.fround(notReady / size) - Math.fround(profile.unhealthyZoneThreshold);
}

/** Follows the zones from change to change of the API and checks each taint against their rates. */
export class ZoneRates {
  readonly #swarm: Swarm;
  /** Counts a situation that the run is meant to reach. */
  readonly #count: (situation: string) => void;
  readonly #nodes = new Map<string, CheckedNode>();
  readonly #states = new Map<string, { state: RateState; sinceMs: number }>();
  /** When nodes came into their present zones: before that they had another rate. */
  readonly #cameAtMs = new Map<string, number>();
  /** When zones last had a rate by the silence of their nodes, as far as grants show it. */
  readonly #ranAtMs = new Map<string, number>();
  /** When nodes of a zone were tainted. */
  readonly #grantsMs = new Map<string, number[]>();

  constructor(swarm: Swarm, count: (situation: string) => void) {
    this.#swarm = swarm;
    this.#count = count;
  }

  get #isHalted(): boolean {
    return this.#nodes.size > 0 && [...this.#states.values()].every(({ state }) => state === "halted");
  }

  /** Records a node's new state. */
  note(node: CheckedNode, isGone: boolean, wallMs: number): void {
    const { name } = node.metadata;
    const before = this.#nodes.get(name);
    const wasHalted = this.#isHalted;
    if (isGone) this.#nodes.delete(name);
    else this.#nodes.set(name, node);
    const zoneBefore = before === undefined ? null : zoneOf(before.metadata.labels);
    if (zoneBefore !== zoneOf(node.metadata.labels)) this.#cameAtMs.set(name, wallMs);
    const facts = (of: CheckedNode | undefined): string =>
      of === undefined ? "" : `${zoneOf(of.metadata.labels)} ${conditionOf(of, "Ready")?.status}`;
    if (!isGone && facts(before) === facts(node)) return;
    for (const [zone, state] of rateStatesOf(this.#nodes.values(), this.#swarm)) {
      if (this.#states.get(zone)?.state === state) continue;
      this.#states.set(zone, { state, sinceMs: wallMs });
      if (state === "stopped") this.#count("zone stopped");
    }
    if (wasHalted !== this.#isHalted) this.#count(wasHalted ? "full disruption left" : "full disruption entered");
  }

  /** Checks that a node could be tainted now, and counts it. */
  checkGrant(node: CheckedNode, around: WriteContext): void {
    const { wallMs } = around;
    const zone = zoneOf(node.metadata.labels);
    const { state, sinceMs } = this.#states.get(zone) ?? { state: "running", sinceMs: wallMs };
    const states = [() => true, (other: string) => other === zone].map((isTaken) =>
      this.#stateBySilence(zone, around, isTaken),
    );
    if (states.includes("running")) this.#ranAtMs.set(zone, wallMs);
    const since = [this.#cameAtMs.get(node.metadata.name), this.#ranAtMs.get(zone)];
    const stoppedMs = wallMs - Math.max(sinceMs, ...since.map((atMs) => atMs ?? sinceMs));
    // A zone's count is as old as the watch of nodes, and after a start as the list (seed 975672293).
    const unknownMs = UNDER_WAY_MS + staleMaxMs(this.#swarm);
    if (state !== "running" && stoppedMs > unknownMs) {
      throw new BrokenInvariant(`${node.metadata.name} was tainted in a zone ${state} for ${stoppedMs} ms`);
    }
    const grants = [...(this.#grantsMs.get(zone) ?? []), wallMs];
    this.#grantsMs.set(zone, grants);
    const { nodeEvictionsPerSecond, secondaryNodeEvictionsPerSecond } = this.#swarm.profile;
    const perSecond = Math.max(nodeEvictionsPerSecond, secondaryNodeEvictionsPerSecond);
    const { burst, recoveryMs } = slackOf(this.#swarm);
    for (const [index, fromMs] of grants.entries()) {
      const count = grants.length - index;
      const windowMs = wallMs - fromMs + recoveryMs;
      if (count <= burst + (windowMs / 1000) * perSecond) continue;
      throw new BrokenInvariant(
        `${count} nodes of zone ${JSON.stringify(zone)} were tainted within ${wallMs - fromMs} ms (P5)`,
      );
    }
  }

  /**
   * The rate state of a zone if nodes that have been silent for their grace count as not ready, although no write has
   * shown it yet: upstream too leaves out a node whose update fails (seed 302954637). A process that has just started
   * knows some silent nodes and not others, so its state may be that of the nodes of the zone alone.
   */
  #stateBySilence(
    zone: string,
    { wallMs, heartbeatAt }: WriteContext,
    isTaken: (zone: string) => boolean,
  ): RateState | undefined {
    const { nodeMonitorGraceMs } = this.#swarm.profile;
    const nodes = [...this.#nodes.values()].map((node): CheckedNode => {
      if (!isTaken(zoneOf(node.metadata.labels))) return node;
      const isSilent = wallMs - heartbeatAt(node.metadata.name, wallMs) >= nodeMonitorGraceMs;
      return isSilent ? { ...node, status: { conditions: [{ type: "Ready", status: "Unknown" }] } } : node;
    });
    return rateStatesOf(nodes, this.#swarm).get(zone);
  }
}
