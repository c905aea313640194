/**
 * What must hold when a process finds a node silent, whatever the writer does with it. For its full grace the node sent
 * no heartbeat that could have been observed and published, and the process has observed for as long.
 */
import type { BodyOf, Message } from "../../protocols/messages.ts";
import { CLOCK_ERROR_MS, heartbeatLagMs, viewLagMs } from "./fault-bounds.ts";
import { type GracesOf, leastMs } from "./graces.ts";
import { FAST, HeardHalts } from "./heard-halts.ts";
import { BrokenInvariant } from "./invariants.ts";
import type { NodeStates } from "./node-states.ts";
import type { PolicyView } from "./policies/policy-view.ts";
import type { WatchViews } from "./watch-views.ts";
import type { World } from "./world.ts";

/** Rounding of instants that travel as milliseconds since 1970. */
const ROUNDING_MS = 0.01;

/** The parts of a run that verdicts are checked against. */
export interface VerdictWorld {
  readonly world: World;
  readonly states: NodeStates;
  readonly watchViews: WatchViews;
  readonly graces: GracesOf;
  /** What the API has shown of policies; absent in a run without them. */
  readonly policies?: Pick<PolicyView, "domainSince">;
}

/** Checks verdicts when their writes are requested. */
export class Verdicts {
  readonly #context: VerdictWorld;
  /** The verdict on a node that a member reached as a halt ended, as text, by member and UID. */
  readonly #reached = new Map<string, string>();
  readonly #halts: HeardHalts;

  constructor(around: VerdictWorld) {
    this.#context = around;
    this.#halts = new HeardHalts(around.world, around.watchViews);
  }

  /** Records a zone's announcement that a member receives. */
  hear(message: Message<"judged.zone">, member: string): void {
    this.#halts.onZone(message, member);
  }

  /** Checks a verdict of a member on a node of a shard; a request without conditions withdraws an earlier one. */
  check({ body }: Message<"asked.condition">, member: string, shard: string): void {
    const { world, states, watchViews, graces } = this.#context;
    const state = states.now(body.node);
    if (body.conditions.length === 0 || state?.uid !== body.uid || state.zone === null) return;
    const sawReady = !body.conditions.some(({ type, heartbeatAt }) => type === "Ready" && heartbeatAt !== null);
    const graceMs = leastMs(graces(body.node), sawReady ? "monitorMs" : "startupMs");
    const shortestMs = world.swarm.faults.has("clockDrift") ? graceMs / FAST : graceMs;
    const nowMs = world.clock.wallMs();
    // Unpublished heartbeats of an observer are lost when it is killed. A view is complete until a pulse is missing
    // (decision 1), so a verdict may come before the next observer has published. The same applies to messages that a
    // split of the bus kept from the member.
    const keptMs = Math.max(watchViews.withheldMs(member, shard), watchViews.strandedMs());
    const unseenMs = heartbeatLagMs(world.swarm) + Math.max(watchViews.unobservedMs(shard), keptMs);
    const silentMs = nowMs - this.#heardAt(body.node, shard, nowMs - unseenMs);
    // At exactly the last heartbeat plus the grace a node still counts as alive.
    if (silentMs <= shortestMs + ROUNDING_MS) {
      throw new BrokenInvariant(`${member} wanted ${body.node} Unknown after ${silentMs} ms, of a grace of ${graceMs}`);
    }
    const sightMs = world.clock.monotonicMs() - watchViews.viewSinceMs(member, shard, graceMs);
    if (sightMs < shortestMs - CLOCK_ERROR_MS) {
      throw new BrokenInvariant(`${member} wanted ${body.node} Unknown and had seen for ${sightMs} ms`);
    }
    this.#checkHalt(body, member, shortestMs);
  }

  /** When a node gave its last heartbeat before an instant that cannot have been left out, in epoch milliseconds. */
  #heardAt(node: string, shard: string, byAt: number): number {
    const { world, watchViews } = this.#context;
    const lastAt = world.signs.lastBy(node, byAt);
    const leftOut = watchViews.leftOut(shard);
    const isLeftOut = leftOut !== null && lastAt > leftOut.fromAt && lastAt <= leftOut.untilAt;
    return isLeftOut ? world.signs.lastBy(node, leftOut.fromAt) : lastAt;
  }

  /**
   * After a halt every node has its full grace again (R6.11), unless the member has restarted since and knows of no
   * halt. Example: the halt ends at second 600 and the grace is 40 s; no node is found silent before 640. If a member
   * reached a verdict before it could know of the end, the verdict remains valid, and may be requested again after a
   * write has failed.
   */
  #checkHalt(body: BodyOf<"asked.condition">, member: string, graceMs: number): void {
    const { world } = this.#context;
    const nowMs = world.clock.wallMs();
    const domain = this.#domainSince(body.node, nowMs);
    const endedMs = domain === null ? null : this.#halts.endedMs(member, domain);
    if (endedMs === null) return;
    const sinceMs = nowMs - endedMs;
    const verdict = JSON.stringify([endedMs, body.basis]);
    const key = `${member} ${body.uid}`;
    if (sinceMs < viewLagMs(world.swarm)) this.#reached.set(key, verdict);
    if (sinceMs >= graceMs || this.#reached.get(key) === verdict) return;
    if (this.#domainSince(body.node, endedMs - viewLagMs(world.swarm)) !== domain) return;
    throw new BrokenInvariant(`${member} wanted ${body.node} Unknown ${sinceMs} ms after a halt of its zone`);
  }

  /** The disruption domain that a node has belonged to since an instant; null where it has had several. */
  #domainSince(node: string, fromMs: number): string | null {
    const { states, policies } = this.#context;
    const [zone = null, ...others] = new Set(states.since(node, fromMs).map((state) => state.zone));
    if (others.length > 0) return null;
    return policies === undefined ? zone : policies.domainSince(node, fromMs);
  }
}
