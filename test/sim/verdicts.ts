/**
 * What must hold when a process finds a node silent, whatever the writer does with it. The node gave no heartbeat for
 * its whole grace that could have been observed and published, and the process has observed for as long.
 */
import type { BodyOf, Message } from "../../protocols/messages.ts";
import { CLOCK_ERROR_MS, heartbeatLagMs, viewLagMs } from "./fault-bounds.ts";
import { BrokenInvariant } from "./invariants.ts";
import type { NodeStates } from "./node-states.ts";
import { GRACES_MS } from "./policies/pools.ts";
import type { WatchViews } from "./watch-views.ts";
import type { World } from "./world.ts";

/** Rounding of instants that travel as milliseconds since 1970. */
const ROUNDING_MS = 0.01;
/** How much faster than the world's a drifting clock may run. */
const FAST = 1.001;

/** The parts of a run that verdicts are checked against. */
export interface VerdictWorld {
  readonly world: World;
  readonly states: NodeStates;
  readonly watchViews: WatchViews;
}

/** Checks verdicts when their writes are requested. */
export class Verdicts {
  readonly #context: VerdictWorld;
  /** When a member received that a zone is no longer halted, on the wall clock, by both. */
  readonly #haltEnds = new Map<string, number>();
  /** The verdict on a node that a member reached as a halt ended, as text, by both. */
  readonly #reached = new Map<string, string>();
  /** The owners that announce a zone as halted, and since when a member has heard it, on the monotonic clock. */
  readonly #halts = new Map<string, Map<string, number>>();

  constructor(around: VerdictWorld) {
    this.#context = around;
  }

  /** Takes a zone's announcement that a member receives. */
  hear({ body, source }: Message<"judged.zone">, member: string): void {
    const key = `${member} ${body.zone}`;
    const { world, watchViews } = this.#context;
    const diedMs = watchViews.diedMs(member);
    // A process that has started again knows nothing of what it heard before.
    const owners = new Map([...(this.#halts.get(key) ?? [])].filter(([, sinceMs]) => sinceMs > diedMs));
    this.#halts.set(key, owners);
    if (body.halted) owners.set(source, owners.get(source) ?? world.clock.monotonicMs());
    else if (owners.delete(source) && owners.size === 0) this.#haltEnds.set(key, world.clock.wallMs());
  }

  /** Takes a verdict of a member on a node of a shard; a request without conditions withdraws an earlier one. */
  check({ body }: Message<"asked.condition">, member: string, shard: string): void {
    const { world, states, watchViews } = this.#context;
    const state = states.now(body.node);
    if (body.conditions.length === 0 || state?.uid !== body.uid || state.zone === null) return;
    const { nodeStartupGraceMs, nodeMonitorGraceMs } = world.swarm.profile;
    const sawReady = !body.conditions.some(({ type, heartbeatAt }) => type === "Ready" && heartbeatAt !== null);
    const ownMs = sawReady ? nodeMonitorGraceMs : nodeStartupGraceMs;
    const graceMs = world.swarm.policies === undefined ? ownMs : Math.min(ownMs, GRACES_MS.least);
    const leastMs = world.swarm.faults.has("clockDrift") ? graceMs / FAST : graceMs;
    const nowMs = world.clock.wallMs();
    // An observer that is killed takes unpublished heartbeats with it. A view is whole until a pulse is missing
    // (decision 1), so a verdict may come before the next observer has published. The same goes for what a split of the
    // bus kept from the member.
    const keptMs = Math.max(watchViews.withheldMs(member, shard), watchViews.strandedMs());
    const unseenMs = heartbeatLagMs(world.swarm) + Math.max(watchViews.unobservedMs(shard), keptMs);
    const silentMs = nowMs - world.signs.lastBy(body.node, nowMs - unseenMs);
    // At exactly the last heartbeat plus the grace a node still counts as alive.
    if (silentMs <= leastMs + ROUNDING_MS) {
      throw new BrokenInvariant(`${member} wanted ${body.node} Unknown after ${silentMs} ms, of a grace of ${graceMs}`);
    }
    const sightMs = world.clock.monotonicMs() - watchViews.viewSinceMs(member, shard, graceMs);
    if (sightMs < leastMs - CLOCK_ERROR_MS) {
      throw new BrokenInvariant(`${member} wanted ${body.node} Unknown and had seen for ${sightMs} ms`);
    }
    this.#checkHalt(body, state.zone, member, leastMs);
  }

  /**
   * After a halt every node has its whole grace again (R6.11), unless the member has died since and knows of no halt. A
   * verdict that its member reached before it can know of the end stands, and may be asked for again: when shadow mode
   * ends, or a write has failed.
   */
  #checkHalt(body: BodyOf<"asked.condition">, zone: string, member: string, graceMs: number): void {
    const { world, states, watchViews } = this.#context;
    const endedMs = this.#haltEnds.get(`${member} ${zone}`);
    if (endedMs === undefined) return;
    const sinceMs = world.clock.wallMs() - endedMs;
    if (sinceMs > world.clock.monotonicMs() - watchViews.diedMs(member)) return;
    const verdict = JSON.stringify([endedMs, body.basis]);
    const key = `${member} ${body.uid}`;
    if (sinceMs < viewLagMs(world.swarm)) this.#reached.set(key, verdict);
    if (sinceMs >= graceMs || this.#reached.get(key) === verdict) return;
    const hasStayed = states.since(body.node, endedMs - viewLagMs(world.swarm)).every((state) => state.zone === zone);
    if (!hasStayed) return;
    throw new BrokenInvariant(`${member} wanted ${body.node} Unknown ${sinceMs} ms after a halt of its zone`);
  }
}
