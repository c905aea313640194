/**
 * What the owners of zones announce must be what the API shows, or what they can know with a view of the allowed age.
 */
import type { BodyOf, Message } from "../../protocols/messages.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { heartbeatLagMs, judgementLagMs, unseenShardsMax, viewLagMs } from "./fault-bounds.ts";
import { BrokenInvariant } from "./invariants.ts";
import type { NodeState, NodeStates } from "./node-states.ts";
import type { WatchViews } from "./watch-views.ts";
import type { World } from "./world.ts";

/** The possible counts of a zone within some time. */
interface Range {
  readonly least: number;
  readonly most: number;
}

/** Checks the announcements of zones. */
export class ZoneClaims {
  readonly #world: World;
  readonly #states: NodeStates;
  readonly #watchViews: WatchViews;

  constructor(world: World, states: NodeStates, watchViews: WatchViews) {
    this.#world = world;
    this.#states = states;
    this.#watchViews = watchViews;
  }

  /** Records an announcement that its owner sends. */
  check({ body, source }: Message<"judged.zone">): void {
    const { clock, swarm } = this.#world;
    const fromMs = clock.wallMs() - this.#watchViews.viewAgeMs(judgementLagMs(swarm));
    const problem = this.#sizeProblem(body, fromMs) ?? this.#haltProblem(body, fromMs);
    if (problem === null) return;
    const said = `${body.notReady} of ${body.size} not ready${body.halted ? ", halted" : ""}`;
    throw new BrokenInvariant(`${source} says of zone ${JSON.stringify(body.zone)}: ${said}; ${problem}`);
  }

  #sizeProblem({ zone, size, notReady }: BodyOf<"judged.zone">, fromMs: number): string | null {
    const present = this.#count(fromMs, (states) => states.map((state) => state.zone === zone));
    const down = this.#count(fromMs, (states, name) =>
      states.map((state) => state.zone === zone && this.#isDown(state, name, fromMs)),
    );
    const surelyDown = this.#count(fromMs, (states) =>
      states.map((state) => state.zone === zone && state.ready !== "True"),
    );
    const unseen = this.#unseenMax(zone, fromMs);
    const [leastSize, leastDown] = [present.least - unseen, surelyDown.least - unseen];
    if (size < leastSize || size > present.most) return `it has had from ${leastSize} to ${present.most} nodes`;
    if (notReady >= leastDown && notReady <= down.most) return null;
    return `from ${leastDown} to ${down.most} have not been ready`;
  }

  /** How many of a zone's nodes are in the largest shards that the owner may not have received. */
  #unseenMax(zone: string, fromMs: number): number {
    const held = new Map<number, number>();
    for (const name of this.#states.names()) {
      if (!this.#states.since(name, fromMs).some((state) => state.zone === zone)) continue;
      held.set(shardOf(name), (held.get(shardOf(name)) ?? 0) + 1);
    }
    const fullest = [...held.values()]
      .toSorted((left, right) => right - left)
      .slice(0, unseenShardsMax(this.#world.swarm));
    return fullest.reduce((sum, nodes) => sum + nodes, 0);
  }

  /** In a halt every node must have been down at some time; otherwise some node was up. */
  #haltProblem({ halted }: BodyOf<"judged.zone">, fromMs: number): string | null {
    if (!halted) return null;
    for (const name of this.#states.names()) {
      const states = this.#states.since(name, fromMs);
      const isUp = states.every((state) => state.zone !== null && !this.#isDown(state, name, fromMs));
      if (isUp && !this.#states.wasUnborn(name, fromMs)) return `${name} has been up all the time`;
    }
    return null;
  }

  /** How many nodes were in a state all the time since the oldest view, and how many at some time. */
  #count(fromMs: number, isSo: (states: readonly NodeState[], name: string) => readonly boolean[]): Range {
    let [least, most] = [0, 0];
    for (const name of this.#states.names()) {
      const answers = isSo(this.#states.since(name, fromMs), name);
      if (answers.every(Boolean) && !this.#states.wasUnborn(name, fromMs)) least += 1;
      if (answers.some(Boolean)) most += 1;
    }
    return { least, most };
  }

  /** Whether a node is not ready, or may be found silent before the API shows it. */
  #isDown(state: NodeState, name: string, fromMs: number): boolean {
    const { nodeMonitorGraceMs } = this.#world.swarm.profile;
    const { signs, clock, swarm } = this.#world;
    const heardMs = fromMs - heartbeatLagMs(swarm) + viewLagMs(swarm);
    return state.ready !== "True" || clock.wallMs() - signs.lastBy(name, heardMs) >= nodeMonitorGraceMs * 0.999 - 1000;
  }
}
