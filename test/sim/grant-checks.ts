/**
 * The rate of a zone, from above and from below, by grants rather than by the taints that land. No grant follows a
 * known one too soon, and a zone with waiting nodes grants as fast as it may, for a taint or, in direct mode, for a
 * drain.
 */
import type { Message } from "../../protocols/messages.ts";
import { CLOCK_ERROR_MS, viewLagMs } from "./fault-bounds.ts";
import { BrokenInvariant, type CheckedNode, type CheckedPod, isDrainable } from "./invariants.ts";
import type { NodeState, NodeStates } from "./node-states.ts";
import { isUnhindered } from "./promptness.ts";
import type { World } from "./world.ts";
import { countsOf, ratesOf } from "./zone-rates.ts";

/** Rounding, drifting clocks, and the time of a message. */
const ROUNDING_MS = 100;
/** A request older than this did not lead to a present taint. */
const UNDER_WAY_MS = 60_000;
/** From a grant to its taint, and from a node's failure to its place in the queue. */
const WAY_MS = 2_000;
/**
 * How long an owner without knowledge of its zone needs: to receive the other zones, to sync, and to let requests land.
 */
const RECOVERY_MS = 25_000;
/**
 * This long after the faults ended every process is synced, and every grace that began with that is over. A list that
 * was never answered is retried after a minute.
 */
const CALM_MS = 120_000;

interface ZoneGrant {
  readonly node: string;
  readonly askedMs: number;
  readonly landedMs: number;
}

/** A time in which nodes of a zone wait without a break, at one rate. */
interface Backlog {
  readonly sinceMs: number;
  readonly perSecond: number;
  /** Grants that took effect: in taint mode a taint that landed, in direct mode a drain that was requested. */
  granted: number;
}

/** The parts of a run that grants are checked against. */
export interface GrantWorld {
  readonly world: World;
  readonly states: NodeStates;
  /** Whether the only faults are those of the swarm and its plot. */
  readonly isDrawn: boolean;
}

/** Follows the grants of all zones. Instants are on the world's wall clock. */
export class GrantChecks {
  readonly #context: GrantWorld;
  /** When each node's taint was first requested since its last taint. */
  readonly #asked = new Map<string, number>();
  readonly #last = new Map<string, ZoneGrant>();
  readonly #backlogs = new Map<string, Backlog>();
  /** When each node's drain was last granted. */
  readonly #drained = new Map<string, number>();
  /** When all zones were last down. */
  #haltedMs = Number.NEGATIVE_INFINITY;
  /** When a process last died or started, in the calm at least until every process is synced. */
  #disturbedMs: number;
  #isCalm = false;

  constructor(around: GrantWorld) {
    this.#context = around;
    this.#disturbedMs = around.world.clock.wallMs();
  }

  /** A process ended, started or was suspended. One that resumes when the faults end makes no other process synced. */
  disturbed(): void {
    this.#disturbedMs = Math.max(this.#disturbedMs, this.#context.world.clock.wallMs());
  }

  /** The faults have ended. */
  calm(): void {
    this.#isCalm = true;
    this.#disturbedMs = this.#context.world.clock.wallMs() + CALM_MS;
  }

  /** Records the request for a taint. */
  ask({ body, source }: Message<"asked.taint">): void {
    const { world, states } = this.#context;
    const { clock, swarm } = world;
    const nowMs = clock.wallMs();
    const zone = states.now(body.node)?.zone ?? null;
    if (body.why !== "granted" || zone === null) return;
    const askedMs = this.#asked.get(body.node);
    if (askedMs === undefined || nowMs - askedMs > UNDER_WAY_MS) this.#asked.set(body.node, nowMs);
    const last = this.#last.get(zone);
    if (last === undefined || last.node === body.node || nowMs - last.landedMs <= viewLagMs(swarm)) return;
    const { nodeEvictionsPerSecond, secondaryNodeEvictionsPerSecond } = swarm.profile;
    const pauseMs = 1000 / Math.max(nodeEvictionsPerSecond, secondaryNodeEvictionsPerSecond);
    // A process that did not receive the grant knows it by the stamp of its taint.
    const sinceMs = nowMs - last.askedMs + CLOCK_ERROR_MS + ROUNDING_MS;
    if (sinceMs >= pauseMs) return;
    throw new BrokenInvariant(
      `${source} granted ${body.node} ${nowMs - last.askedMs} ms after ${last.node}, which had landed`,
    );
  }

  /** One of our taints landed on a node that had none. */
  land({ metadata }: CheckedNode): void {
    const nowMs = this.#context.world.clock.wallMs();
    const { name } = metadata;
    const zone = this.#context.states.now(name)?.zone ?? "";
    this.#last.set(zone, { node: name, askedMs: this.#asked.get(name) ?? nowMs, landedMs: nowMs });
    this.#asked.delete(name);
    const backlog = this.#backlogs.get(zone);
    if (backlog !== undefined) backlog.granted += 1;
  }

  /** Records the request for a drain: the grant of direct mode. A drain without a pod to delete has no effect. */
  drain({ body }: Message<"asked.drain">): void {
    const nowMs = this.#context.world.clock.wallMs();
    const backlog = this.#backlogs.get(body.zone);
    if (backlog !== undefined && this.#hasPodsToDrain(body.node, nowMs)) backlog.granted += 1;
    this.#drained.set(body.node, nowMs);
  }

  /** A node came, went or changed its readiness. Where that changed the rate of a zone, its backlog begins again. */
  counted(): void {
    const { world, states } = this.#context;
    const rates = ratesOf(countsOf(states.present()), world.swarm);
    for (const [zone, { perSecond }] of this.#backlogs) {
      if ((rates?.get(zone) ?? 0) !== perSecond) this.#backlogs.delete(zone);
    }
  }

  /** Checks whether zones with waiting nodes are as fast as they may be. */
  look(): void {
    const { world, states, isDrawn } = this.#context;
    const { swarm, clock } = world;
    if (!this.#isCalm && !(isDrawn && isUnhindered(swarm))) return;
    const nowMs = clock.wallMs();
    const waiting = this.#waitingZones(nowMs);
    const all = ratesOf(countsOf(states.present()), swarm);
    // A halt cancels drains, and the time until they are due begins again (R6.10).
    if (all === null) this.#haltedMs = nowMs;
    const rates = all ?? new Map<string, number>();
    for (const zone of this.#backlogs.keys()) if (!waiting.has(zone)) this.#backlogs.delete(zone);
    for (const zone of waiting) {
      const backlog = this.#backlogs.get(zone);
      const perSecond = rates.get(zone) ?? 0;
      if (backlog?.perSecond === perSecond) this.#checkBacklog(zone, backlog, nowMs);
      else this.#backlogs.set(zone, { sinceMs: nowMs, perSecond, granted: 0 });
    }
  }

  #checkBacklog(zone: string, backlog: Backlog, nowMs: number): void {
    const { pulseTimeoutMs } = this.#context.world.swarm.profile;
    // An owner learns from the pulses of the others that their zones are no longer down.
    const settledMs = Math.max(this.#disturbedMs + RECOVERY_MS, this.#haltedMs + pulseTimeoutMs) + this.#dueMs;
    if (settledMs > backlog.sinceMs) {
      this.#backlogs.set(zone, { ...backlog, sinceMs: nowMs, granted: 0 });
      return;
    }
    const least = Math.floor(((nowMs - backlog.sinceMs - WAY_MS) / 1000) * backlog.perSecond) - 1;
    if (backlog.granted >= least) return;
    throw new BrokenInvariant(
      `zone ${JSON.stringify(zone)} had ${backlog.granted} grants in ${nowMs - backlog.sinceMs} ms, not ${least}, while nodes waited`,
    );
  }

  /** How long a node has to be down before its grant is due: in direct mode, until its pods must go. */
  get #dueMs(): number {
    const { evictionMode, podEvictionTimeoutMs } = this.#context.world.swarm.profile;
    return evictionMode === "direct" ? podEvictionTimeoutMs : 0;
  }

  /** Since when a node has to be down for its grant to be due at an instant: silence counts from the last heartbeat. */
  #waitsFromMs(name: string, atMs: number): number {
    const { world, states } = this.#context;
    const isSilent = states.since(name, atMs).every(({ ready }) => ready === "Unknown");
    return isSilent && world.signs.lastBy(name, world.clock.wallMs()) <= atMs - this.#dueMs ? atMs : atMs - this.#dueMs;
  }

  /** Whether a node's drain was granted since it was last ready. */
  #isDrained(name: string): boolean {
    const drainedMs = this.#drained.get(name);
    const { states } = this.#context;
    // A grant may come before the API shows that its node is silent.
    return drainedMs !== undefined && states.since(name, drainedMs + WAY_MS).every(isIll);
  }

  /** Whether a drain would delete a pod of a node that existed at an instant already. */
  #hasPodsToDrain(name: string, sinceMs: number): boolean {
    const pods = this.#context.world.api.store.collection("pods").onNode(name);
    return pods.some(({ json }) => {
      const pod = JSON.parse(json) as CheckedPod;
      const ways = this.#context.world.apart.ways(pod);
      return isDrainable(pod) && ways.every((way) => Date.parse(way.metadata.creationTimestamp) <= sinceMs);
    });
  }

  /** The zones in which a node has waited long enough for every owner to know it. */
  #waitingZones(nowMs: number): Set<string> {
    const { states, world } = this.#context;
    const isDirect = world.swarm.profile.evictionMode === "direct";
    const zones = new Set<string>();
    for (const name of states.names()) {
      const fromMs = this.#waitsFromMs(name, nowMs - viewLagMs(world.swarm) - WAY_MS);
      if (states.wasUnborn(name, fromMs) || this.#isDrained(name)) continue;
      if (isDirect && !this.#hasPodsToDrain(name, fromMs)) continue;
      const all = states.since(name, fromMs);
      const [first] = all;
      if (isDirect && isHeardAgain(all)) continue;
      const isWaiting = all.every((state) => isIll(state) && state.zone === first?.zone && !state.isTainted);
      if (isWaiting && first !== undefined && first.zone !== null) zones.add(first.zone);
    }
    return zones;
  }
}

/** Whether the kubelet of a silent node posted that it is not ready: a drain counts from there on (R5.3). */
function isHeardAgain(states: readonly NodeState[]): boolean {
  return states.at(-1)?.ready === "False" && states.some(({ ready }) => ready === "Unknown");
}

/** Whether a node exists and is not ready, by its Ready condition. */
function isIll({ zone, ready }: NodeState): boolean {
  return zone !== null && (ready === "False" || ready === "Unknown");
}
